package main

import (
	"slices"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// How calls are opened: at random, or as a Reader is told.

// kindOf is what the user takes a method for: almost always what it is.
func (s *side) kindOf(method string) string {
	kinds := []string{"unary", "client_streaming", "server_streaming", "bidi"}
	kind, known := s.Served[method]
	if !known || s.random.IntN(30) == 0 {
		return kinds[s.random.IntN(len(kinds))]
	}
	return kind
}

func (s *side) open() {
	names := make([]string, 0, len(s.Served)+1)
	for name := range s.Served {
		names = append(names, name)
	}
	slices.Sort(names)
	if s.random.IntN(30) == 0 {
		names = []string{"/nobody.Serves/This"}
	}
	method := names[s.random.IntN(len(names))]
	kind := s.kindOf(method)
	payload, compression, fits := s.message()
	o := wire.Outgoing{Codec: s.codec(), Compression: compression, OneWay: kind == "oneway", Payload: payload}
	o.HasMessage = takesOne(kind) || s.random.IntN(3) == 0
	o.End = takesOne(kind) || s.random.IntN(5) == 0
	if kind == "server_streaming" && s.random.IntN(4) == 0 {
		o.HasMessage, o.End = false, false // the message comes later
	}
	if !o.HasMessage {
		o.Payload, o.Compression = nil, 0
	}
	o.Metadata, o.Own = s.metadata(true)
	remaining := int64(0)
	if s.random.IntN(4) == 0 {
		remaining = s.random.Int64N(2_000_000) * 1000
	}
	if wire.CheckMetadata(o.Metadata, o.Own, s.session.Remote()) != nil || o.HasMessage && !fits {
		return
	}
	s.begin(&o, method, kind, remaining, s.random.IntN(6) == 0)
}

func (s *side) codec() uint8 {
	numbers := []uint8{0, 1, 1, 1, 2, 3, 4}
	for number := range uint8(16) {
		if _, ok := s.Codecs[number]; ok {
			numbers = append(numbers, number)
		}
	}
	return numbers[s.random.IntN(len(numbers))]
}

func (s *side) begin(o *wire.Outgoing, method, kind string, remaining int64, inline bool) {
	if s.over || !s.session.AcceptsCalls() || !s.session.HasSlots(1) {
		return
	}
	c := &call{record: record{
		Sent: []message{}, Got: []message{},
		Own: true, Method: method, Kind: kind, Codec: s.codecName(o.Codec), OneWay: o.OneWay,
		Metadata: described(o.Metadata, o.Own), Ended: o.End,
	}}
	c.Owner = c
	if answersOne(kind) {
		c.ExpectOne()
	}
	if o.HasMessage {
		c.Sent = append(c.Sent, noted(o.Payload, o.Compression))
	}
	if remaining > 0 {
		o.Remaining = wire.Remaining(remaining)
		c.deadline = s.now + remaining
	}
	o.Method = wire.Method{Name: method, Index: -1}
	if !inline {
		o.Method.Index = s.index(method)
	}
	c.waits = s.session.Open(&c.Stream, o)
	c.Word = c.Stream.ID()
	s.calls = append(s.calls, c)
	s.note("open %s: %s as %s, message %t of %d bytes, end %t, deadline %d µs, inline %t, codec %d, compression %d",
		key(c.Word), method, kind, o.HasMessage, len(o.Payload), o.End, remaining/1000, inline, o.Codec, o.Compression)
}

func (s *side) index(method string) int {
	if _, known := s.methods[method]; !known {
		s.methods[method] = len(s.methods)
	}
	return s.methods[method]
}

// refuses decides whether a handler refuses its call.
func (s *side) refuses() bool { return s.random.IntN(40) == 0 }

// openAll opens the calls of a Reader: an initiator's before it has read
// anything, an acceptor's when it has the peer's preface.
func (s *side) openAll() {
	if !s.opened && (s.Initiator || len(s.away) > 0) {
		s.opened = true
		for _, o := range s.Reader.Opens {
			s.begin(&wire.Outgoing{
				Codec: 1, HasMessage: takesOne(o.Kind), End: takesOne(o.Kind), OneWay: o.Kind == "oneway",
				Payload: pattern[:o.Size],
			}, o.Method, o.Kind, o.Deadline*1000, o.Inline)
		}
	}
}

// read is what a Reader does in a round once the input was taken in.
func (s *side) read() {
	s.openAll()
	if s.Reader.Consumes {
		s.consumeAll()
	}
}
