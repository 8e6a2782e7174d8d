package app

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
)

const maxRedirects = 100

func serveRedirect(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	to, code := q.destination(), q.redirectCode()
	if q.refused(w) {
		return
	}
	w.Header().Set("Location", to)
	w.WriteHeader(code)
}

func serveRedirectChain(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	to, code, n := q.destination(), q.redirectCode(), q.number("n", 10, 1, maxRedirects)
	if q.refused(w) {
		return
	}
	if n > 1 {
		rest := url.Values{"to": {to}, "code": {strconv.Itoa(code)}, "n": {strconv.Itoa(n - 1)}}
		to = r.URL.Path + "?" + rest.Encode()
	}
	w.Header().Set("Location", to)
	w.WriteHeader(code)
}

func serveRefresh(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	to, delay := q.destination(), q.number("delay", 0, 0, 60)
	if q.refused(w) {
		return
	}
	w.Header().Set("Refresh", fmt.Sprintf("%d; url=%s", delay, to))
	writeHTML(w, []byte("<!doctype html><title>refresh</title><p>This page refreshes itself."))
}

func serveMetaRefresh(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	to, delay := q.destination(), q.number("delay", 0, 0, 60)
	if q.refused(w) {
		return
	}
	// Written by hand: html/template would judge the address, and a hostile one must arrive as it is.
	content := html.EscapeString(fmt.Sprintf("%d; url=%s", delay, to))
	writeHTML(w, []byte(`<!doctype html><title>meta refresh</title><meta http-equiv="refresh" content="`+content+`">`))
}

func serveScriptRedirect(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	to := q.destination()
	if q.refused(w) {
		return
	}
	quoted, err := json.Marshal(to) // which also escapes what would end the script
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeHTML(w, []byte("<!doctype html><title>script redirect</title><script>location = "+string(quoted)+";</script>"))
}
