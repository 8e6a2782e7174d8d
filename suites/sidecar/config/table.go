package config

import "slices"

// The table of invalid configurations is the contract's, "Refusals" in config.md, row by row and cell by cell. Each fault
// is put alone into a configuration that is valid with every key that has one (base).

func textFaults() []fault {
	return texts(
		"", " \n\t",
		"not JSON", "token=${64}", "{", "}", "{'token': '${64}'}", `{"token": "${64}", "app_url"`, `{"token": ${64}}`, `{"port": 0,}`,
		"[]", "[${config}]", `"${config-as-text}"`, `"text"`, "17", "true", "null",
		"${config}{}", "${config} ${config}", "${config}\nnull", "${config},", "${config}]", "${config}}", "${config} x",
	)
}

func tokenFaults() []fault {
	return slices.Concat(
		at("token", absent, `null`, `17`, `true`, `""`, `"${1}"`, `"${31}"`, `["${64}"]`, `{"value": "${64}"}`),
		// 31 characters, though more bytes.
		at("token", `"${20}ééééééééééé"`),
		at("token", `"${32} ${32}"`, `" ${32}"`, `"${32} "`, `"${32}\t${32}"`, `"${32}\n"`, `"${32}\r\n${32}"`),
	)
}

func appFaults() []fault {
	return at("app_url",
		absent, `null`, `17`, `""`, `["http://127.0.0.1:3000"]`,
		`"/"`, `"/path"`, `"//127.0.0.1:3000"`, `"127.0.0.1:3000"`, `"localhost:3000"`, `"http://"`, `"https://"`,
		`"ftp://127.0.0.1:3000"`, `"file:///etc/hostname"`, `"javascript:alert(1)"`, `"ws://127.0.0.1:3000"`,
		`"http://user@127.0.0.1:3000"`, `"http://user:password@127.0.0.1:3000"`, `"https://user:@127.0.0.1:3000/path"`,
	)
}

func topFaults() []fault {
	return slices.Concat(
		at("mode", `"hidden"`, `""`, `"Headless"`, `"HEADED"`, `true`, `["headless"]`),
		at("capabilities", `"pdf"`, `["devtools"]`, `["pdf", "PDF"]`, `["pdf", ""]`, `[17]`, `["pdf", 17]`, `{"pdf": true}`),
		at("host", `""`, `17`, `true`, `["127.0.0.1"]`),
		at("port", `-1`, `65536`, `1.5`, `"3000"`, `""`, `true`, `[0]`),
		// What wraps around to a port that is right.
		at("port", `4294967296`, `4294975727`, `18446744073709551616`, `1e400`),
		at("allowed_hosts", `"browser"`, `[""]`, `["browser", ""]`, `[17]`, `["browser", 17]`, `{"browser": true}`),
		at("workdir", `""`, `17`, `true`, `"${missing}"`, `"${file}"`),
		at("stop_at", `"soon"`, `""`, `true`, `false`, `{}`, `{"at": 1}`),
		at("chromium_sandbox", `"true"`, `"false"`, `""`, `0`, `1`),
	)
}

func recordingFaults() []fault {
	return slices.Concat(
		at("recording", `"http://127.0.0.1:1/"`, `17`, `true`, `[]`),
		at("recording.url", absent, `null`, `17`, `""`, `"/events"`, `"127.0.0.1:1"`, `"ftp://127.0.0.1/"`, `"http://"`,
			`"http://user@127.0.0.1:1/"`, `"http://user:password@127.0.0.1:1/"`),
		at("recording.token", absent, `null`, `17`, `""`, `"${31}"`, `"${32} ${32}"`, `"${32}\n"`),
		at("recording.batch_events", `0`, `-1`, `1.5`, `"10"`, `true`),
		at("recording.batch_bytes", `0`, `-1`, `1.5`, `"10"`, `true`),
	)
}

func liveFaults() []fault {
	var uploads []fault
	for _, key := range []string{"live.upload_max_file_bytes", "live.upload_max_files", "live.upload_max_session_bytes"} {
		uploads = append(uploads, at(key, `"10"`, `1.5`, `-1`, `true`)...)
	}
	return slices.Concat(
		at("live", `"session"`, `17`, `true`, `[]`),
		at("live.session_id", absent, `null`, `""`, `17`),
		at("live.origins", absent, `null`, `[]`, `"http://localhost:3000"`, `[17]`, `[null]`, `["null"]`, `["*"]`, `["localhost:3000"]`,
			`["http://localhost:3000/path"]`, `["http://localhost:3000?query"]`, `["http://localhost:3000#fragment"]`,
			`["ws://localhost:3000"]`, `["ftp://localhost"]`, `["file:///"]`, `["http://localhost:3000", "chrome-extension://a"]`,
			`["http://user@localhost:3000"]`, `["http://user:password@localhost:3000"]`, `["http://localhost:3000", "null"]`, `["http://localhost:3000", ""]`),
		at("live.agent_wait_ms", `-1`, `45001`, `1.5`, `"20000"`, `true`, `4294967296`),
		at("live.release_grace_ms", `0`, `-1`, `1.5`, `"10"`, `true`),
		uploads,
		at("live.upload_max_file_bytes", `0`),
		at("live.upload_max_session_bytes", `0`),
	)
}

func storageFaults() []fault {
	const (
		cookie = `"name": "n", "value": "${40}", "domain": "127.0.0.1", "path": "/"`
		origin = `"origin": "http://127.0.0.1:3000"`
	)
	cookies := []string{"cookies", "cookie", "storage_state"}
	entries := func(list string) string { return `[{` + origin + `, "localStorage": ` + list + `}]` }
	return slices.Concat(
		at("storage_state", `[]`, `"state"`, `17`, `true`),
		at("storage_state.cookies", `{}`, `"n=${40}"`, `17`),
		at("storage_state.origins", `{}`, `"http://127.0.0.1:3000"`, `17`),
		about("storage_state.cookies", cookies, `["n=${40}"]`, `[17]`, `[null]`, `[[]]`, `[{`+cookie+`}, "n=${40}"]`),
		about("storage_state.cookies", []string{"name"}, `[{"value": "${40}", "domain": "127.0.0.1", "path": "/"}]`,
			`[{"name": 17, "value": "${40}", "domain": "127.0.0.1", "path": "/"}]`),
		about("storage_state.cookies", []string{"value"}, `[{"name": "n", "domain": "127.0.0.1", "path": "/"}]`,
			`[{"name": "n", "value": ${#15}, "domain": "127.0.0.1", "path": "/"}]`,
			`[{"name": "n", "value": ["${40}"], "domain": "127.0.0.1", "path": "/"}]`,
			`[{`+cookie+`}, {"name": "n", "value": null, "domain": "127.0.0.1", "path": "/"}]`),
		about("storage_state.cookies", []string{"domain"}, `[{"name": "n", "value": "${40}", "path": "/"}]`,
			`[{"name": "n", "value": "${40}", "domain": 17, "path": "/"}]`),
		about("storage_state.cookies", []string{"path"}, `[{"name": "n", "value": "${40}", "domain": "127.0.0.1"}]`),
		about("storage_state.origins", []string{"origin", "origins"}, `[{"localStorage": []}]`,
			`[{"origin": 17, "localStorage": [{"name": "n", "value": "${40}"}]}]`),
		about("storage_state.origins", []string{"localStorage"}, entries(`{}`), entries(`{"n": "${40}"}`), entries(`"${40}"`)),
		about("storage_state.origins", []string{"localStorage", "value"}, entries(`[{"name": "n"}]`), entries(`[{"name": "n", "value": ${#15}}]`),
			entries(`[{"name": "n", "value": "${40}"}, {"name": "m", "value": null}]`), entries(`[{"name": "n", "value": {"v": "${40}"}}]`)),
	)
}
