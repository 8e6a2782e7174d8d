// Package ingest is the recording's ingest as a target sees it: it takes posts of recorded events, holds them against the
// contract (section recording), keeps everything with its time of arrival, and fails on command.
//
// A post is an HTTP POST with "Authorization: Bearer <token>" and a gzipped JSON body
// {"sent_at": ms, "recording_events": [{kind, timestamp, data}]}. What breaks that is answered as a real ingest would, and
// noted as a [Violation]; whether one matters is for the spec to say.
package ingest
