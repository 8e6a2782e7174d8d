package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds nesting; the deepest key of the contract lies six levels down.
const maxDepth = 64

// decode reads data as one JSON object, with numbers as [json.Number].
func decode(data []byte) (map[string]any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the configuration is not JSON: it is empty")
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the configuration is not JSON: it is not UTF-8")
	}
	if !json.Valid(data) {
		return nil, notJSON(data)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := value(dec, "", 0)
	if err != nil {
		return nil, err
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the configuration must be a JSON object")
	}
	return root, nil
}

// notJSON says where the text stops being JSON. The error's own text is left out: it quotes the text.
func notJSON(data []byte) error {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(any)); errors.As(err, &syntax) {
		return fmt.Errorf("the configuration is not JSON (byte %d)", syntax.Offset)
	}
	return errors.New("the configuration is not JSON")
}

// value reads one value of valid JSON, refusing what other readers could see differently.
func value(dec *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the configuration nests deeper than %d levels", maxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, unreadable(err)
	}
	switch token {
	case json.Delim('{'):
		fields := make(map[string]any)
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, unreadable(err)
			}
			key, _ := name.(string)
			if _, twice := fields[key]; twice {
				return nil, fmt.Errorf("the configuration names %s twice", quoted(join(path, key)))
			}
			if fields[key], err = value(dec, join(path, key), depth+1); err != nil {
				return nil, err
			}
		}
		_, err := dec.Token()
		return fields, unreadable(err)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := value(dec, path+"[]", depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, unreadable(err)
	}
	return token, nil
}

// unreadable covers what [json.Valid] has ruled out.
func unreadable(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return errors.New("the configuration is not JSON")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// quoted makes a key's path safe for one line of a log, and bounds it.
func quoted(path string) string {
	const most = 120
	if len(path) > most {
		path = path[:most] + "…"
	}
	return strconv.QuoteToASCII(path)
}
