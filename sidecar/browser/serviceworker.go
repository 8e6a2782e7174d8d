package browser

import (
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

// No service worker runs (contract: isolation.service-workers): it would answer for pages behind the sidecar's back.

// refuseRegistration lets a page's registration fail at once, as in a browser that has them switched off. What gets by
// it meets endServiceWorker.
const refuseRegistration = `if (globalThis.ServiceWorkerContainer) ServiceWorkerContainer.prototype.register =
  function register() { return Promise.reject(new DOMException("Service workers are off in this browser", "SecurityError")); };`

func refuseServiceWorkers(s *Session) {
	Post(s, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: refuseRegistration})
}

// endServiceWorker closes a worker that waits, attached to, before its first line. It is never told to go on, so it
// doesn't run even where Chromium takes its time to close it.
func (b *Browser) endServiceWorker(e target.EventAttachedToTarget) {
	b.log.Warn("ended a service worker before it ran", "origin", Origin(e.TargetInfo.URL))
	Post(b.root, target.CloseTarget, target.CloseTargetParams{TargetID: e.TargetInfo.TargetID})
}
