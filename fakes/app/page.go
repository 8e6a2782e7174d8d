package app

import (
	"bytes"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
)

// Renderer is a page with its data, such as pages.Reach or pages.Rebind.
type Renderer interface {
	Render(w io.Writer) error
}

// Page serves what the renderer writes, as HTML. A fault of the renderer is a 500 with its text.
func Page(page Renderer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var text bytes.Buffer
		if err := page.Render(&text); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeHTML(w, text.Bytes())
	})
}

// page serves a file of the pages. A template is executed without data.
func (s *Sites) page(w http.ResponseWriter, r *http.Request, name string) {
	if s.pages == nil {
		http.NotFound(w, r)
		return
	}
	if info, err := fs.Stat(s.pages, name); err != nil || info.IsDir() {
		http.NotFound(w, r)
		return
	}
	if path.Ext(name) != ".html" {
		http.ServeFileFS(w, r, s.pages, name)
		return
	}
	page, err := template.ParseFS(s.pages, name)
	if err != nil {
		http.Error(w, "parsing "+name+": "+err.Error(), http.StatusInternalServerError)
		return
	}
	var text bytes.Buffer
	if err := page.Execute(&text, nil); err != nil {
		http.Error(w, "rendering "+name+": "+err.Error(), http.StatusInternalServerError)
		return
	}
	writeHTML(w, text.Bytes())
}

func writeHTML(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // a client that has gone needs no page
}
