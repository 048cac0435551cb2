package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The layer above a session, as wire.Events has it, and what it does once the
// input was read.

func owner(st *wire.Stream) *call { return st.Owner.(*call) } //nolint:forcetypeassert // this program sets nothing else

// Accept implements wire.Events.
func (s *side) Accept(in *wire.Incoming) (*wire.Stream, *wire.Refusal) {
	kind, known := s.Served[in.Method.Name]
	if !known {
		return nil, &wire.Refusal{Code: wire.Unimplemented, Message: "no such method"}
	}
	if !s.serves(in.Codec) {
		return nil, &wire.Refusal{Code: wire.Unimplemented, Message: "no such codec"}
	}
	if in.Refused {
		return nil, nil
	}
	c := &call{arrived: s.now}
	c.record = record{
		Sent: []message{}, Got: []message{},
		Method: in.Method.Name, Kind: kind, Codec: s.codecName(in.Codec), OneWay: in.OneWay,
		Metadata: described(in.Metadata, in.Own),
	}
	c.Owner = c
	c.Hold()
	if c.takesOne() {
		c.ExpectOne()
	}
	s.waiting = append(s.waiting, c)
	if in.HasMessage {
		s.request(c, arrival{noted(in.Payload, in.Compression), in.Cost, !in.End})
	}
	if in.End {
		s.requestsEnded(c)
	}
	return &c.Stream, nil
}

// request is a message for a handler.
func (s *side) request(c *call, m arrival) {
	if c.takesOne() {
		c.first = &m
		return
	}
	c.inbox = append(c.inbox, m)
	s.tell(c, "message %d %d %d", m.Size, m.Sum, m.Compression)
}

func (s *side) requestsEnded(c *call) {
	c.Ended = true
	if !c.takesOne() {
		s.tell(c, "half_closed")
	}
}

// Message implements wire.Events.
func (s *side) Message(st *wire.Stream, payload []byte, compression uint8, cost wire.Cost, _ bool) {
	c := owner(st)
	m := arrival{noted(payload, compression), cost, true}
	if !c.Own {
		s.request(c, m)
		return
	}
	c.inbox = append(c.inbox, m)
	s.answered(c, m)
}

func (s *side) answered(c *call, m arrival) {
	if c.answers++; c.answers > 1 && answersOne(c.Kind) {
		return // in RESULT: Ended sees to it
	}
	s.tell(c, "message %d %d %d", m.Size, m.Sum, m.Compression)
}

// HalfClosed implements wire.Events.
func (s *side) HalfClosed(st *wire.Stream) { s.requestsEnded(owner(st)) }

// Stopped implements wire.Events.
func (s *side) Stopped(st *wire.Stream, _ wire.Code) {
	c := owner(st)
	c.Stopped = true
	c.inbox, c.queue, c.result, c.waits = nil, nil, nil, false
	if c.Started && !c.Returned {
		s.tell(c, "stopped")
	}
}

// EarlyMetadata implements wire.Events.
func (s *side) EarlyMetadata(st *wire.Stream, m wire.Metadata) {
	c := owner(st)
	c.Early = described(m, nil)
	s.tell(c, "header %s", c.Early)
}

// Ended implements wire.Events.
func (s *side) Ended(st *wire.Stream, e *wire.Ending) {
	c := owner(st)
	code := e.Code
	if e.HasMessage {
		m := arrival{message: noted(e.Payload, e.Compression)}
		c.inbox = append(c.inbox, m)
		s.answered(c, m)
	}
	if code == wire.OK && answersOne(c.Kind) && c.answers != 1 {
		code = wire.Unimplemented
	}
	s.ended(c, &ending{
		Status: code, Delivery: e.Delivery.String(), Retry: e.RetryAfter, Text: e.Message, Details: details(e.Details),
		Trailers: described(e.Metadata, e.Own), Stripped: e.Stripped,
	})
}

func (s *side) ended(c *call, e *ending) {
	c.Ends++
	c.Ending = e
	c.queue, c.waits = nil, false
	s.tell(c, "end %d %s %d [%s] %s %s %t", e.Status, e.Delivery, e.Retry, e.Text, strings.Join(e.Details, ","), e.Trailers, e.Stripped)
}

// Sent implements wire.Events.
func (s *side) Sent(st *wire.Stream) {
	c := owner(st)
	c.waits = false
	s.sent = append(s.sent, c)
}

// PeerReady implements wire.Events.
func (s *side) PeerReady(*wire.Preface) {
	s.away = append(s.away, "ready")
	s.event("", "ready")
}

func (s *side) Unserved(*wire.Stream, string, bool, wire.Code, string) {}

// PeerGoesAway implements wire.Events.
func (s *side) PeerGoesAway(reason uint32, text string) string {
	s.away = append(s.away, fmt.Sprint(reason))
	s.event("", fmt.Sprintf("goes away %d %s", reason, text))
	return text
}

// know lists the calls that were accepted, under the names that they have now.
func (s *side) know() {
	for _, c := range s.waiting {
		if c.Word == 0 {
			c.Word = c.Stream.ID()
			s.calls = append(s.calls, c)
		}
	}
}

// dispatch starts the handlers of what was read.
func (s *side) dispatch() {
	s.know()
	waiting := s.waiting
	s.waiting = nil
	for _, c := range waiting {
		switch {
		case !c.Stream.Open():
		case c.takesOne() && !c.Ended:
			s.waiting = append(s.waiting, c)
		case s.running >= s.Running:
			s.session.Refuse(&c.Stream, &wire.Refusal{Code: wire.ResourceExhausted, Message: "running handlers", RetryAfter: 10})
		case s.Reader == nil && s.refuses():
			s.session.Refuse(&c.Stream, &wire.Refusal{Code: wire.FailedPrecondition, Message: "§ refused", RetryAfter: 7})
		case s.session.Start(&c.Stream, s.now):
			s.start(c)
		}
	}
}

func (s *side) start(c *call) {
	c.Started = true
	s.running++
	told := c.told
	c.told = nil
	s.tell(c, "start %s %t %s", c.Method, c.OneWay, c.Metadata)
	if c.takesOne() {
		s.tell(c, "message %d %d %d", c.first.Size, c.first.Sum, c.first.Compression)
		c.inbox = append(c.inbox, *c.first)
		s.consume(c)
	}
	for _, event := range told {
		s.tell(c, "%s", event)
	}
	if c.OneWay {
		s.session.Finish(&c.Stream, &wire.Ending{Code: wire.OK})
	}
}

// consume takes the oldest message of a call; what comes after the handler
// returned is nobody's.
func (s *side) consume(c *call) {
	m := c.inbox[0]
	c.inbox = c.inbox[1:]
	if !c.Returned {
		c.Got = append(c.Got, m.message)
	}
	if m.credit {
		s.session.Consumed(&c.Stream, m.cost)
	}
}

func (s *side) consumeAll() {
	for _, c := range s.calls {
		for len(c.inbox) > 0 && (c.Own || c.Started) {
			s.consume(c)
		}
	}
}

// giveUp ends a call of this side by its user's wish.
func (s *side) giveUp(c *call, reason uint32, code wire.Code) {
	if c.Ends > 0 || !c.Stream.Open() {
		return
	}
	s.session.Cancel(&c.Stream, reason)
	c.inbox = nil
	s.ended(c, &ending{Status: code, Delivery: "unknown", Details: []string{}})
}

func (s *side) codecName(number uint8) string {
	if name, ok := s.Codecs[number]; ok {
		return name
	}
	return strconv.Itoa(int(number))
}

func details(list []wire.Detail) []string {
	out := []string{}
	for _, d := range list {
		out = append(out, d.TypeURL+"="+hex.EncodeToString(d.Value))
	}
	return out
}

// described is metadata as text, entries of the protocol behind those of users.
func described(m wire.Metadata, own *wire.Own) string {
	var parts []string
	for _, p := range m {
		parts = append(parts, p.Key+"="+hex.EncodeToString([]byte(p.Value)))
	}
	if own != nil {
		parts = append(parts, fmt.Sprintf("!attempt=%d", own.Attempt))
	}
	return strings.Join(parts, ",")
}
