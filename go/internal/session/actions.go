package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// What the user does at random.

// pattern is what messages are cut from.
var pattern = func() []byte {
	b := make([]byte, 2<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(b)
	return b
}()

// Sizes at which something changes: frames, pieces, the least window.
var edges = []int{
	0, 1, 15, 16, 17, 16384, 65503, 65504, 65519, 65520, 65521, 65535, 65536, 65537, 65552, 65553, 131056, 131072,
	262127, 262128, 262129, 262144, 327680,
}

func (s *side) act(phase byte) {
	switch phase {
	case acting:
		if s.active == nil || s.active[s.turn] {
			for range s.random.IntN(5) {
				s.once()
			}
		}
		return
	case finishing:
		for _, c := range s.calls {
			s.finish(c)
		}
	case draining:
		if !s.over {
			s.session.GoAway(wire.GoAwayDraining, "draining")
		}
	}
	s.consumeAll()
}

// finish ends what the user has to end of a call.
func (s *side) finish(c *call) {
	switch {
	case c.Own && !c.Ended && c.Stream.Open():
		s.halfClose(c)
	case !c.Own && c.Started && !c.Returned:
		s.answer(c)
	}
}

func (s *side) once() {
	total := 0
	for _, w := range s.Weights {
		total += w.Weight
	}
	if total == 0 {
		return
	}
	n := s.random.IntN(total)
	for _, w := range s.Weights {
		if n -= w.Weight; n < 0 {
			s.do(w.Action)
			return
		}
	}
}

func (s *side) do(action string) {
	switch action {
	case "open":
		s.open()
	case "drain":
		if !s.over {
			s.note("drain")
			s.session.GoAway(wire.GoAwayDraining, "draining")
		}
	case "consume":
		if c := s.pick(func(c *call) bool { return len(c.inbox) > 0 && (c.Own || c.Started) }); c != nil {
			n := 1 + s.random.IntN(len(c.inbox))
			s.note("consume %s, %d messages", key(c.Word), n)
			for range n {
				s.consume(c)
			}
		}
	case "cancel":
		if c := s.pick(func(c *call) bool { return c.Own && c.Ends == 0 }); c != nil {
			s.note("cancel %s", key(c.Word))
			s.giveUp(c, wire.CancelGivenUp, wire.Canceled)
		}
	case "send", "half_close":
		s.speak(action)
	case "header":
		able := func(c *call) bool { return c.running() && !c.OneWay && c.Early == "" && len(c.Sent) == 0 }
		if c := s.pick(able); c != nil {
			m, _ := s.metadata(false)
			if len(m) > 0 && wire.CheckMetadata(m, nil, s.session.Remote()) == nil {
				s.note("header %s", key(c.Word))
				c.Early = described(m, nil)
				s.session.SendMetadata(&c.Stream, m)
			}
		}
	case "answer":
		if c := s.pick((*call).running); c != nil {
			s.answer(c)
		}
	}
}

// running reports whether the handler of a call runs and its call is open.
func (c *call) running() bool { return !c.Own && c.Started && !c.Returned }

func (s *side) pick(able func(*call) bool) *call {
	var list []*call
	for _, c := range s.calls {
		if able(c) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[s.random.IntN(len(list))]
}

func (s *side) speak(action string) {
	c := s.pick(func(c *call) bool {
		if c.Own {
			return !c.Ended && c.Stream.Open() && !c.OneWay && (action != "send" || len(c.Sent) == 0 || !takesOne(c.Kind))
		}
		return action == "send" && c.running() && !c.OneWay && !c.Stopped && !answersOne(c.Kind) && len(c.queue) < 4
	})
	switch {
	case c == nil:
	case action == "half_close":
		s.halfClose(c)
	default:
		payload, compression, fits := s.message()
		if fits {
			end := c.Own && s.random.IntN(4) == 0
			s.note("send %s, %d bytes, end %t", key(c.Word), len(payload), end)
			c.Sent = append(c.Sent, noted(payload, compression))
			c.Ended = c.Ended || end
			c.queue = append(c.queue, outgoing{payload, compression, end})
			s.flush(c)
		}
	}
}

func (s *side) halfClose(c *call) {
	s.note("half-close %s", key(c.Word))
	c.Ended = true
	if n := len(c.queue); n > 0 {
		c.queue[n-1].end = true
	} else {
		s.session.CloseSend(&c.Stream)
	}
}

// answer returns from a handler.
func (s *side) answer(c *call) {
	c.Returned = true
	s.running--
	e := &wire.Ending{Delivery: wire.Executed, ServerTime: uint32((s.now - c.arrived) / 1000)}
	if m, own := s.metadata(true); wire.CheckMetadata(m, own, s.session.Remote()) == nil {
		e.Metadata, e.Own = m, own
	}
	if s.random.IntN(5) == 0 {
		e.Code = wire.Code(1 + s.random.IntN(16))
		e.Message, e.Details = s.errorText()
	} else if answersOne(c.Kind) != (s.random.IntN(25) == 0) || s.random.IntN(3) == 0 {
		payload, compression, fits := s.message()
		if fits && !c.OneWay {
			e.HasMessage, e.Payload, e.Compression = true, payload, compression
			c.Sent = append(c.Sent, noted(payload, compression))
		}
	}
	c.Ending = &ending{Status: e.Code, Text: e.Message, Details: details(e.Details), Trailers: described(e.Metadata, e.Own)}
	s.note("answer %s: %v, message %t of %d bytes", key(c.Word), e.Code, e.HasMessage, len(e.Payload))
	if !c.Stopped {
		c.result = e
		s.flush(c)
	}
}

func (s *side) errorText() (string, []wire.Detail) {
	text := "§" + strings.Repeat("é", s.random.IntN(20))
	var list []wire.Detail
	for range s.random.IntN(3) {
		size := s.random.IntN(60)
		if s.random.IntN(20) == 0 {
			size = 66000
		}
		list = append(list, wire.Detail{TypeURL: "t/ü", Value: pattern[:size]})
	}
	if s.random.IntN(40) == 0 {
		text += strings.Repeat("aé€", 12000)
	}
	return text, list
}

// message makes a message that the peer takes.
func (s *side) message() (payload []byte, compression uint8, fits bool) {
	n := s.random.IntN(1200)
	switch k := s.random.IntN(100); {
	case k < 10:
		n = s.random.IntN(18)
	case k < 12 || s.Heavy && k < 40:
		n = edges[s.random.IntN(len(edges))]
	case s.Heavy && k < 45:
		n = s.random.IntN(700_000)
	}
	remote := s.session.Remote()
	at := s.random.IntN(len(pattern) - n)
	if number := uint8(1 + s.random.IntN(8)); n > 0 && remote.Compressions&(1<<number) != 0 {
		compression = number
	}
	return pattern[at : at+n], compression, n <= int(remote.Message)
}

var keys = []string{
	"traceparent", "tracestate", "baggage", "authorization", "user-agent", "x-request-id", "x-forwarded-for", "b3",
	"accept-language", "cookie", "a", "x-binary-bin", "-bin", "some.key_with-all", strings.Repeat("k", 255),
}

// metadata makes entries of every sort, perhaps none.
func (s *side) metadata(withOwn bool) (m wire.Metadata, own *wire.Own) {
	if s.random.IntN(3) > 0 {
		return nil, nil
	}
	count := s.random.IntN(5)
	if s.random.IntN(30) == 0 {
		count = 126 + s.random.IntN(4)
	}
	for range count {
		key := keys[s.random.IntN(len(keys))]
		value := []byte(strings.Repeat("~ v", s.random.IntN(12)))
		if s.random.IntN(200) == 0 {
			value = slices.Repeat([]byte{'x'}, 16000+s.random.IntN(500))
		}
		if strings.HasSuffix(key, "-bin") {
			value = pattern[:len(value)]
		}
		m = append(m, wire.Pair{Key: key, Value: string(value)})
	}
	if withOwn && s.random.IntN(3) == 0 {
		own = &wire.Own{Attempt: 1 + s.random.Uint32N(300)}
	}
	return m, own
}
