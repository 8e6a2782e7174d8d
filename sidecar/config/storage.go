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
	return c, c.attributes(in, number)
}

// attributes reads what a cookie may have beside its four strings.
func (c *Cookie) attributes(in object, number int) error {
	if v := in.fields["expires"]; v != nil {
		n, ok := v.(json.Number)
		if ok {
			c.Expires, ok = finite(n)
		}
		if !ok {
			return fmt.Errorf("cookie %d's expires must be a number of seconds", number)
		}
	}
	for _, flag := range []struct {
		key  string
		into *bool
	}{{"httpOnly", &c.HTTPOnly}, {"secure", &c.Secure}} {
		if v := in.fields[flag.key]; v != nil {
			on, ok := v.(bool)
			if !ok {
				return fmt.Errorf("cookie %d's %s must be true or false", number, flag.key)
			}
			*flag.into = on
		}
	}
	if v := in.fields["sameSite"]; v != nil {
		if v != "Strict" && v != "Lax" && v != "None" {
			return fmt.Errorf("cookie %d's sameSite must be one of Strict, Lax, None", number)
		}
		c.SameSite, _ = v.(string)
	}
	return nil
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
