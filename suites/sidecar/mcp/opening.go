package mcp

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// newest is the MCP version that opens with server/discover, and has no initialize.
const newest = "2026-07-28"

func opening(l *lab.Lab) {
	// "initialize is answered with a Mcp-Session-Id header and a result of protocolVersion, serverInfo (name, version) and
	// capabilities with tools."
	It("opens a session and says who it is", engine.Clause("mcp.initialize"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		text := And(BeAssignableToTypeOf(""), Not(BeEmpty()))
		for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26"} {
			session, message := initialize(ctx, s, `0`, quoted(version))
			var result map[string]any
			Expect(json.Unmarshal(message.Result, &result)).To(Succeed(), "reading the result %s", message.Result)
			Expect(result).To(HaveKeyWithValue("protocolVersion", text), "initialize with the version %s", version)
			Expect(result).To(HaveKeyWithValue("serverInfo", And(HaveKeyWithValue("name", text), HaveKeyWithValue("version", text))),
				"initialize with the version %s", version)
			Expect(result).To(HaveKeyWithValue("capabilities", HaveKeyWithValue("tools", BeAssignableToTypeOf(map[string]any{}))),
				"initialize with the version %s", version)
			works(ctx, s, session, "in the session that was opened")
		}
	})

	// "Each initialize opens a session of its own with another id."
	It("opens a session of its own each time", engine.Clause("mcp.initialize"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		seen := make(map[string]bool)
		first, _ := initialize(ctx, s, `1`, `"2025-06-18"`)
		seen[first] = true
		for i, r := range []lab.Request{
			s.Message("", hello(`1`, `"2025-06-18"`)), s.Message("", hello(`1`, `"2025-06-18"`)), s.Message("", hello(`2`, `"2025-06-18"`)),
			s.Message(first, hello(`1`, `"2025-06-18"`)), // inside a session
		} {
			did := fmt.Sprintf("initialize for another session, try %d", i)
			answer := do(ctx, s, did, r)
			session := opened(did, s, answer)
			Expect(seen).NotTo(HaveKey(session), "%s: its id among those of earlier sessions", did)
			seen[session] = true
		}
		for session := range seen {
			works(ctx, s, session, "in one of five sessions")
		}
		do(ctx, s, "ending the first session", ending(s, first))
		for session := range seen {
			if session != first {
				works(ctx, s, session, "after another session ended")
			}
		}
	})

	// "initialize with a protocol version that the sidecar does not know is answered with a version that it supports."
	It("answers an unknown version with one that it supports", engine.Clause("mcp.version-negotiation"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, version := range []string{`"1999-12-31"`, `"2025-06-19"`, `"2999-01-01"`, `"latest"`, `"1.0"`, `""`, `"2025-06-18 "`, `"\u0000"`} {
			session, message := initialize(ctx, s, `"v"`, version)
			answered := agreed(message)
			Expect(quoted(answered)).NotTo(Equal(version), "the version in the answer to initialize with the unknown %s", version)
			// What it supports it agrees to, and keeps in the session.
			_, again := initialize(ctx, s, `"v"`, quoted(answered))
			Expect(agreed(again)).To(Equal(answered), "the version in the answer to initialize with the offered one")
			answer := do(ctx, s, "tools/list with the offered version", s.Message(session, list("1")).Add("MCP-Protocol-Version", answered))
			result("tools/list with the offered version in its header", answer, "1")
		}
		// What is no version may be refused as well.
		for _, version := range []string{`null`, `20250618`, `["2025-06-18"]`, `{}`} {
			did := "initialize with the version " + version
			answer := do(ctx, s, did, s.Message("", hello(`"v"`, version)))
			if message := rpc(did, answer); message.Error == nil {
				opened(did, s, answer)
			}
		}
		attack.Alive(ctx, s)
	})

	discover(l)
}

// agreed is the version in an answer to initialize.
func agreed(message *lab.RPC) string {
	GinkgoHelper()
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	Expect(json.Unmarshal(message.Result, &result)).To(Succeed(), "reading the version in %s", message.Result)
	return result.ProtocolVersion
}

func discover(l *lab.Lab) {
	// "A client that opens with server/discover is answered within 5 seconds, either in full or with an error from which it
	// can fall back to initialize."
	It("answers server/discover so that a client can go on", engine.Clause("mcp.discover"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		params := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + newest + `",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"conformance","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
		bare := s.Message("", request(`"d"`, "server/discover", params))
		for did, r := range map[string]lab.Request{
			"server/discover with the headers of its version": bare.Add("MCP-Protocol-Version", newest).Add("Mcp-Method", "server/discover"),
			"server/discover with a version header alone":     bare.Add("MCP-Protocol-Version", newest),
			"server/discover without headers":                 bare,
			"server/discover without params":                  s.Message("", `{"jsonrpc":"2.0","id":"d","method":"server/discover"}`),
		} {
			answer := do(ctx, s, did, r)
			message := rpc(did, answer)
			full := answer.Status == 200 && message.Result != nil
			if !full && message.Code != -32601 && (message.Error == nil || answer.Status/100 != 4) {
				engine.Fail(did, []string{"a result", "JSON-RPC error -32601", "a JSON-RPC error with a status from 400 to 499"}, answer.String())
			}
			session, _ := initialize(ctx, s, `0`, `"2025-06-18"`)
			works(ctx, s, session, "after falling back to initialize")
		}
	})

	// "initialize never agrees to a version whose rules the sidecar doesn't keep."
	It("agrees to no version that has no initialize", engine.Clause("mcp.discover"), func(ctx SpecContext) {
		s := attack.Sidecar(ctx, l)
		for _, version := range []string{newest, "2026-07-29", "DRAFT-2026-v1"} {
			session, message := initialize(ctx, s, `0`, quoted(version))
			Expect(agreed(message)).NotTo(Equal(version), "the version in the answer to initialize with %s", version)
			works(ctx, s, session, "after initialize with "+version)
		}
	})
}
