package dashboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

const (
	// keptFrames is how many of the last frames keep their text: a picture is some 100 KiB, and pages animate.
	keptFrames = 32
	// maxTranscript bounds the text of everything else, against a target that talks without end.
	maxTranscript = 64 << 20
)

// Direction is who sent a message.
type Direction string

// The directions.
const (
	Sent     Direction = "sent"
	Received Direction = "received"
)

// Message is one WebSocket message of a viewer's connection.
type Message struct {
	// Seq counts from 1, in both directions together.
	Seq       int
	At        time.Time
	Direction Direction
	// Binary is true for a binary message; the contract knows text only.
	Binary bool
	// Type is the JSON member "type"; empty for what is no JSON object with one.
	Type string
	// Text is the message as it was; nil for a frame that newer ones have displaced.
	Text []byte
}

// Decode reads the message's JSON into a struct or a map.
func (m Message) Decode(into any) error {
	if err := json.Unmarshal(m.Text, into); err != nil {
		return fmt.Errorf("decoding message %d (%s): %w", m.Seq, m.Type, err)
	}
	return nil
}

// IsType matches received messages of a type, for [Viewer.WaitFor].
func IsType(name string) func(Message) bool {
	return func(m Message) bool { return m.Direction == Received && m.Type == name }
}

// transcript holds a connection's messages within bounds. Its user locks.
type transcript struct {
	messages []Message
	frames   []int // indexes of frames that still have their text
	size     int   // of the text of all others
}

// add appends a message and completes it; it fails when the transcript is full.
func (t *transcript) add(m Message) error {
	m.Seq = len(t.messages) + 1
	var head struct {
		Type string `json:"type"`
	}
	if !m.Binary && json.Unmarshal(m.Text, &head) == nil {
		m.Type = head.Type
	}
	t.messages = append(t.messages, m)
	if m.Direction == Received && m.Type == "frame" {
		t.frames = append(t.frames, len(t.messages)-1)
		if len(t.frames) > keptFrames {
			t.messages[t.frames[0]].Text = nil
			t.frames = slices.Delete(t.frames, 0, 1)
		}
		return nil
	}
	t.size += len(m.Text)
	if t.size > maxTranscript {
		return fmt.Errorf("the transcript is over %d bytes", maxTranscript)
	}
	return nil
}
