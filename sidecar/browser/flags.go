package browser

import "strings"

// flags returns Chromium's command line without the executable. Every flag is chosen here: neither a library's
// defaults nor a launcher script adds to them. Site isolation stays on, since none of them turns it off.
func flags(o Options, smallShm bool) []string {
	list := []string{
		"--remote-debugging-pipe",
		"--user-data-dir=" + o.Profile,
		"--no-first-run",
		"--no-default-browser-check",
		"--window-size=1280,800",

		// Nothing talks to the network by itself (contract: egress.quiet, egress.udp-none).
		"--disable-background-networking",
		"--disable-component-update",
		"--component-updater=url-source=" + nowhere,
		"--gaia-url=" + nowhere,
		"--google-apis-url=" + nowhere,
		"--disable-component-extensions-with-background-pages",
		"--disable-default-apps",
		"--disable-domain-reliability",
		"--disable-field-trial-config",
		"--disable-sync",
		"--disable-pings",
		"--disable-quic",
		"--dns-prefetch-disable",
		"--metrics-recording-only",
		"--no-pings",
		"--no-service-autorun",
		"--disable-client-side-phishing-detection",
		"--disable-breakpad",
		"--disable-crash-reporter",
		"--disable-extensions",
		"--media-router=0",

		// No packet passes the proxy by (contract: egress.webrtc). The second switch is the first one's older name.
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",

		// A page behaves alike in a tab that is not on screen, and never meets a native window.
		"--disable-back-forward-cache",
		"--disable-background-timer-throttling",
		"--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding",
		"--disable-ipc-flooding-protection",
		"--disable-hang-monitor",
		"--disable-popup-blocking",
		"--disable-prompt-on-repost",
		"--allow-pre-commit-input",
		"--deny-permission-prompts",
		"--disable-print-preview",
		"--password-store=basic",
		"--use-mock-keychain",
		"--disable-search-engine-choice-screen",
		"--force-color-profile=srgb",
		"--export-tagged-pdf",
		"--disable-gpu",

		"--disable-features=" + strings.Join(disabledFeatures(), ","),
	}
	if !o.Headed {
		list = append(list, "--headless=new", "--hide-scrollbars", "--mute-audio")
	}
	if o.Proxy != "" {
		// Chromium exempts loopback from a proxy unless it is told not to.
		list = append(list, "--proxy-server=http://"+o.Proxy, "--proxy-bypass-list=<-loopback>")
	} else {
		list = append(list, "--no-proxy-server")
	}
	if !o.Sandbox {
		list = append(list, "--no-sandbox", "--test-type")
	}
	if smallShm {
		list = append(list, "--disable-dev-shm-usage")
	}
	return append(list, "--no-startup-window")
}

func disabledFeatures() []string {
	return []string{
		// http stays http: an upgrade would look like an attempt at another port.
		"HttpsUpgrades", "HttpsFirstBalancedMode", "HttpsFirstBalancedModeAutoEnable", "HttpsFirstModeV2",
		// A navigation to the address that is being opened is one of its own: it is not taken for a slip of the hand.
		"IgnoreDuplicateNavs",
		// No page is loaded ahead of a navigation (contract: navigation.prerender).
		"Prerender2", "PreloadTopChromeWebUI", "NavigationPredictor", "LoadingPredictorUseOptimizationGuide",
		// Look-ups, reports and downloads of Chromium's own.
		"DnsOverHttps", "AsyncDns", "OptimizationHints", "OptimizationGuideModelDownloading", "MediaRouter",
		"DialMediaRouteProvider", "CertificateTransparencyComponentUpdater", "AutofillServerCommunication",
		"InterestFeedContentSuggestions", "Translate", "NetworkTimeServiceQuerying", "SafeBrowsingOnUIThread",
		// The address bar's pop-up is a page of its own, with a renderer in every browser: 50 MiB and half a second of CPU.
		"WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
		// A person at the window sees no bubbles.
		"GlobalMediaControls", "AcceptCHFrame", "DestroyProfileOnBrowserClose", "PaintHolding",
	}
}

// nowhere stands in for the services that Chromium would ask by itself. Port 1 is one of those that its network stack
// refuses to connect to, so that nothing leaves, not even towards the proxy.
const nowhere = "https://127.0.0.1:1"
