package config

import (
	"encoding/json"
	"errors"
	"fmt"
)

// StorageState is what a browser keeps for its sites, in Playwright's form. It holds everything that was given; what is
// the app's is decided where it is applied.
type StorageState struct {
	Cookies []Cookie
	Origins []Origin
}

// Cookie is one cookie. Expires is in seconds since 1970, -1 for a session cookie; SameSite is Strict, Lax or None.
type Cookie struct {
	Name, Value, Domain, Path string
	Expires                   float64
	HTTPOnly, Secure          bool
	SameSite                  string
}

// Origin is one origin's localStorage.
type Origin struct {
	Origin       string
	LocalStorage []Item
}

// Item is one entry of a localStorage.
type Item struct{ Name, Value string }

func (r *reader) storageState(in object) *StorageState {
	if in.fields["storage_state"] == nil {
		return nil
	}
	sub, ok := r.object(in, "storage_state")
	if !ok {
		return nil
	}
	r.unknown(sub, "cookies", "origins")
	cookies, okCookies := list(sub, "cookies")
	origins, okOrigins := list(sub, "origins")
	if !okCookies || !okOrigins {
		r.failf("storage_state needs cookies and origins lists")
		return nil
	}
	state := &StorageState{}
	for i, v := range cookies {
		c, err := r.cookie(v, i+1)
		if err != nil {
			r.failf("storage_state: %w", err)
			return nil
		}
		state.Cookies = append(state.Cookies, c)
	}
	for i, v := range origins {
		o, err := r.origin(v, i+1)
		if err != nil {
			r.failf("storage_state: %w", err)
			return nil
		}
		state.Origins = append(state.Origins, o)
	}
	return state
}

func list(in object, key string) ([]any, bool) {
	v := in.fields[key]
	if v == nil {
		return nil, true
	}
	items, ok := v.([]any)
	return items, ok
}

func (r *reader) cookie(v any, number int) (Cookie, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return Cookie{}, fmt.Errorf("cookie %d must be an object", number)
	}
	in := object{path: "storage_state.cookies[]", fields: fields}
	r.unknown(in, "name", "value", "domain", "path", "expires", "httpOnly", "secure", "sameSite")
	c := Cookie{Expires: -1, SameSite: "Lax"}
	for _, field := range []struct {
		key  string
		into *string
	}{{"name", &c.Name}, {"value", &c.Value}, {"domain", &c.Domain}, {"path", &c.Path}} {
		s, ok := text(in, field.key)
		if !ok {
			return Cookie{}, fmt.Errorf("cookie %d needs a string %s", number, field.key)
		}
		*field.into = s
	}
	if c.Path == "" {
		c.Path = "/"
	}
	if n, ok := fields["expires"].(json.Number); ok {
		if f, ok := finite(n); ok {
			c.Expires = f
		}
	}
	c.HTTPOnly = fields["httpOnly"] == true
	c.Secure = fields["secure"] == true
	if s, _ := text(in, "sameSite"); s == "Strict" || s == "None" {
		c.SameSite = s
	}
	return c, nil
}

func (r *reader) origin(v any, number int) (Origin, error) {
	fields, ok := v.(map[string]any)
	if !ok {
		return Origin{}, fmt.Errorf("origin %d must be an object", number)
	}
	in := object{path: "storage_state.origins[]", fields: fields}
	r.unknown(in, "origin", "localStorage")
	o := Origin{}
	if o.Origin, ok = text(in, "origin"); !ok || o.Origin == "" {
		return Origin{}, fmt.Errorf("origin %d needs an origin", number)
	}
	entries, ok := list(in, "localStorage")
	for _, e := range entries {
		item, err := r.item(e)
		if ok = ok && err == nil; !ok {
			break
		}
		o.LocalStorage = append(o.LocalStorage, item)
	}
	if !ok {
		return Origin{}, fmt.Errorf("origin %d's localStorage must be a list of { name, value } strings", number)
	}
	return o, nil
}

func (r *reader) item(v any) (Item, error) {
	fields, _ := v.(map[string]any)
	in := object{path: "storage_state.origins[].localStorage[]", fields: fields}
	r.unknown(in, "name", "value")
	name, okName := text(in, "name")
	content, okValue := text(in, "value")
	if !okName || !okValue {
		return Item{}, errors.New("not a name and a value")
	}
	return Item{Name: name, Value: content}, nil
}
