package wire

import (
	"bytes"
	"fmt"
)

// What stands above a session in the replay of scripts: it knows the kinds of
// methods and counts handlers, as the layers above do, and keeps what happens.

type happened struct {
	wantedEvent
	payload  []byte
	metadata Metadata
	details  []Detail
	retry    uint32
	text     string
}

// played is one call of a script, at either end.
type played struct {
	Stream
	label   string
	kind    string
	method  string
	oneWay  bool
	meta    Metadata
	pending []happened // callee: what the handler is told once it has started
	first   []byte     // callee: the one message of a method that takes one
	costs   []Cost     // of messages not consumed

	started, returned, stopped, ended bool
	halfClosed                        bool
	answers                           int
	deadline                          int64 // caller's
	arrived                           int64
	queued                            []queuedMessage
	result                            *Ending // follows what is queued
}

type queuedMessage struct {
	payload     []byte
	compression uint8
	end         bool
}

func (c *played) takesOne() bool {
	return c.kind == "unary" || c.kind == "server_streaming" || c.kind == "oneway"
}

func (c *played) expectsOne() bool { return c.kind == "unary" || c.kind == "client_streaming" }

func (p *player) tell(h happened) { p.events = append(p.events, h) }

func (p *player) of(st *Stream) *played { return st.Owner.(*played) }

func (p *player) Accept(in *Incoming) (*Stream, *Refusal) {
	kind, known := p.script.Methods[in.Method.Name]
	if !known {
		return nil, &Refusal{Code: Unimplemented, Message: "no such method"}
	}
	if _, named := p.options.Local.Codecs[in.Codec]; in.Codec > 4 && !named {
		return nil, &Refusal{Code: Unimplemented, Message: "no such codec"}
	}
	if in.Refused {
		return nil, nil
	}
	c := &played{kind: kind, method: in.Method.Name, meta: in.Metadata, oneWay: in.OneWay, halfClosed: in.End, arrived: p.now}
	c.Owner = c
	c.deadline = in.Deadline
	c.Hold()
	if c.takesOne() {
		c.ExpectOne()
	}
	p.accepted = append(p.accepted, c)
	if in.HasMessage {
		p.request(c, bytes.Clone(in.Payload), in.Compression, in.Cost)
	}
	if in.End {
		p.requestsEnded(c)
	}
	return &c.Stream, nil
}

// request is a message for a handler.
func (p *player) request(c *played, payload []byte, compression uint8, cost Cost) {
	if c.takesOne() {
		c.first = payload
		return
	}
	c.costs = append(c.costs, cost)
	p.tellHandler(c, happened{wantedEvent: wantedEvent{Event: "message", Compression: compression}, payload: payload})
}

func (p *player) requestsEnded(c *played) {
	c.halfClosed = true
	if !c.takesOne() {
		p.tellHandler(c, happened{wantedEvent: wantedEvent{Event: "half_closed"}})
	}
}

func (p *player) tellHandler(c *played, h happened) {
	if !c.started {
		c.pending = append(c.pending, h)
		return
	}
	h.Call = c.label
	p.tell(h)
}

func (p *player) Message(st *Stream, payload []byte, compression uint8, cost Cost, _ bool) {
	c := p.of(st)
	payload = bytes.Clone(payload)
	if !st.has(streamCaller) {
		p.request(c, payload, compression, cost)
		return
	}
	c.costs = append(c.costs, cost)
	p.answer(c, payload, compression)
}

func (p *player) answer(c *played, payload []byte, compression uint8) {
	if c.answers++; c.answers > 1 && c.expectsOne() {
		return // in RESULT: Ended sees to it
	}
	p.tell(happened{wantedEvent: wantedEvent{Event: "message", Call: c.label, Compression: compression}, payload: payload})
}

func (p *player) HalfClosed(st *Stream) { p.requestsEnded(p.of(st)) }

func (p *player) Stopped(st *Stream, _ Code) {
	c := p.of(st)
	c.stopped = true
	if c.started && !c.returned {
		p.tell(happened{wantedEvent: wantedEvent{Event: "stopped", Call: c.label}})
	}
}

func (p *player) EarlyMetadata(st *Stream, m Metadata) {
	p.tell(happened{wantedEvent: wantedEvent{Event: "header", Call: p.of(st).label}, metadata: m})
}

func (p *player) Ended(st *Stream, e *Ending) {
	c := p.of(st)
	if c.ended {
		p.t.Errorf("%s ends twice", c.label)
	}
	c.ended = true
	code := e.Code
	if e.HasMessage {
		p.answer(c, bytes.Clone(e.Payload), e.Compression)
	}
	if code == OK && c.expectsOne() && c.answers != 1 {
		code = Unimplemented
	}
	p.tell(happened{
		wantedEvent: wantedEvent{Event: "end", Call: c.label, Status: code, Delivery: e.Delivery.String(), Stripped: e.Stripped},
		text:        e.Message, details: e.Details, metadata: e.Metadata, retry: e.RetryAfter,
	})
}

func (p *player) Sent(st *Stream) { p.sentOn = append(p.sentOn, p.of(st)) }

func (p *player) PeerReady(*Preface) {}

func (*player) Unserved(*Stream, string, bool, Code, string) {}

func (p *player) PeerGoesAway(reason uint32, text string) string {
	p.tell(happened{wantedEvent: wantedEvent{Event: "goes_away", Reason: reason}, text: text})
	return text
}

// dispatch starts handlers, as the layers above do once the input was read.
func (p *player) dispatch() {
	waiting := p.accepted
	p.accepted = nil
	for _, c := range waiting {
		c.label = labelOf(c.id)
		p.calls[c.label] = c
		switch {
		case !c.Open():
		case c.takesOne() && !c.halfClosed:
			p.accepted = append(p.accepted, c)
		case p.running >= p.script.bound():
			p.session.Refuse(&c.Stream, &Refusal{Code: ResourceExhausted, Message: "running handlers", RetryAfter: 10})
		case p.session.Start(&c.Stream, p.now):
			p.begin(c)
		}
	}
}

func (p *player) begin(c *played) {
	c.started = true
	p.running++
	start := happened{wantedEvent: wantedEvent{Event: "start", Call: c.label, Method: c.method}, metadata: c.meta}
	if c.takesOne() {
		start.payload = c.first
		if start.payload == nil {
			start.payload = []byte{}
		}
	}
	p.tell(start)
	for _, h := range c.pending {
		p.tellHandler(c, h)
	}
	if c.oneWay {
		p.session.Finish(&c.Stream, &Ending{Code: OK})
	}
}

func labelOf(id StreamID) string {
	side := "i"
	if id.ByAcceptor() {
		side = "a"
	}
	return fmt.Sprintf("%s%d.%d", side, id.Slot(), id.Generation())
}
