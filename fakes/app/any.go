package app

import (
	"encoding/binary"
	"net/http"

	"github.com/browser-sidecar/conformance/fixtures/pages"
)

// serveAny is a target for pages.Reach that answers each way with what it asks for, so that "ok" is possible for every
// way whose answer the page can judge. Only a font gets no font.
func serveAny(w http.ResponseWriter, r *http.Request) {
	contentType, body := "text/plain; charset=utf-8", []byte("any\n")
	switch pages.Way(r.URL.Query().Get("way")) {
	case pages.WebSocket:
		serveWebSocket(w, r)
		return
	case pages.EventSource:
		serveEvents(w, r)
		return
	case pages.Img, pages.CSSImage:
		contentType = "image/svg+xml"
		body = []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><rect width="1" height="1"/></svg>`)
	case pages.Script, pages.Import, pages.Worker:
		contentType, body = "text/javascript", []byte("void 0;\n")
	case pages.Stylesheet, pages.CSSImport:
		contentType, body = "text/css", []byte(".any {}\n")
	case pages.Media:
		contentType, body = "audio/wav", silence()
	case pages.Iframe, pages.Form, pages.Object, pages.Embed:
		contentType, body = "text/html; charset=utf-8", []byte("<!doctype html><title>any</title><p>any")
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(body)
}

// silence is a tenth of a second of it, as a WAV file: 8 bits, mono, 8,000 samples a second.
func silence() []byte {
	const rate, samples = 8000, 800
	wav := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, 36+samples)...)
	wav = append(wav, "WAVEfmt "...)
	wav = binary.LittleEndian.AppendUint32(wav, 16)   // size of the format
	wav = binary.LittleEndian.AppendUint16(wav, 1)    // PCM
	wav = binary.LittleEndian.AppendUint16(wav, 1)    // channels
	wav = binary.LittleEndian.AppendUint32(wav, rate) // samples a second
	wav = binary.LittleEndian.AppendUint32(wav, rate) // bytes a second
	wav = binary.LittleEndian.AppendUint16(wav, 1)    // bytes a sample
	wav = binary.LittleEndian.AppendUint16(wav, 8)    // bits a sample
	wav = append(wav, "data"...)
	wav = binary.LittleEndian.AppendUint32(wav, samples)
	for range samples {
		wav = append(wav, 0x80)
	}
	return wav
}
