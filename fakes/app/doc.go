// Package app serves web sites on chosen addresses, ports and schemes: an app under test and the sites that attack it. It
// writes down every connection and every request.
//
//	sites, err := app.Start(ctx, []app.Listen{{Addr: loopback8080}, {Addr: public8443, TLS: true}},
//		app.Options{TLS: labTLS, Pages: pages.FS()})
//	if err != nil {
//		return err // names the address that can't be listened on
//	}
//	defer sites.Close()
//
//	attack := pages.Reach{Targets: []pages.Target{{Tag: "metadata", URL: "http://169.254.169.254:8080/"}}}
//	err = sites.Handle("pub.test", "/attack", app.Page(attack))
//
//	for _, r := range sites.RequestsTo("pub.test", "/attack") {
//		fmt.Println(r.Time, r.Remote, r.Method, r.Target)
//	}
//
// A request is answered by the first of: a route of its host and port, a route of its host, a route of any host, the
// pages, and the scripted routes:
//
//	/                                            index.html, if there is one
//	/pages/<name>                                a page by its file name; html is a template, without data
//	/any?way=                                    what a pages.Way asks for: an image, a script, a style sheet, a stream, …
//	/redirect?to=&code=302                       301, 302, 303, 307, 308
//	/redirect-chain?n=10&to=&code=302            n redirects in all, the last one to "to"
//	/refresh?to=&delay=0                         a Refresh header, delay in seconds
//	/meta-refresh?to=&delay=0                    the same as a meta element
//	/script-redirect?to=                         location = to
//	/slow?ms=1000                                answers after that time
//	/stream?chunks=5&interval=100                a flushed line for each chunk, interval in ms
//	/bytes?n=1024&seed=0                         n bytes whose SHA-256 is BytesSHA256(n, seed)
//	/echo                                        the request as JSON (Echo)
//	/ws                                          a WebSocket that sends back what it gets, for any origin
//	/sse?events=3&interval=100                   server-sent events, then an open stream
//	/cors                                        a text
//	/status?code=200                             that status
//
// All scripted routes, and no pages, may be read by any origin, with credentials, and answer preflights.
package app
