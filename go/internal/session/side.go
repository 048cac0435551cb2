package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Phases of a session: the user acts at random; consumes what is there; ends
// all calls; and asks to drain.
const (
	acting byte = iota
	consuming
	finishing
	draining
)

// side is a session, its user, and the layer between them: it knows the kinds
// of methods and counts handlers.
type side struct {
	Config
	session *wire.Session
	now     int64 // ns
	turn    int   // number of the round
	active  map[int]bool
	random  *rand.Rand
	methods map[string]int

	input   []byte
	output  []byte
	opened  bool // a Reader has opened its calls
	over    bool // the session has failed, or its input has ended for good
	failed  string
	text    string
	away    []string
	calls   []*call // of both sides
	waiting []*call // accepted, their handlers not started
	sent    []*call // whose message is on its way
	running int
	events  map[string][]string
	script  []string
}

// round takes in what the peer wrote, lets the user act, and returns what is
// to be written.
func (s *side) round(now int64, phase byte, input []byte) []byte {
	s.now = now
	s.random = rand.New(rand.NewPCG(s.Seed, uint64(s.turn))) //nolint:gosec // it must be repeatable
	s.session.Advance(now)
	s.tick()
	if s.Reader != nil && s.Initiator {
		s.openAll()
	}
	s.receive(input)
	if s.Reader != nil {
		s.read()
	} else {
		s.act(phase)
	}
	s.turn++
	s.dispatch()
	s.flushAll()
	s.take(s.Reader == nil && phase == acting)
	out := s.output
	s.output = nil
	return out
}

func (s *side) tick() {
	if s.over {
		return
	}
	for _, c := range s.calls {
		if c.Own && c.deadline != 0 && c.deadline <= s.now {
			s.giveUp(c, wire.CancelDeadline, wire.DeadlineExceeded)
		}
	}
	if _, err := s.session.Tick(s.now); err != nil {
		s.fail(err)
	}
}

// receive takes in bytes cut at random; a reader gets them as they are.
func (s *side) receive(b []byte) {
	for len(b) > 0 && s.Reader == nil {
		n := s.cut(len(b))
		s.takeIn(b[:n])
		b = b[n:]
		if s.random.IntN(2) == 0 {
			s.dispatch()
			s.take(false)
		}
	}
	s.takeIn(b)
	s.dispatch()
}

// cut says how many of n bytes to take in at once.
func (s *side) cut(n int) int {
	switch s.random.IntN(8) {
	case 0:
		return 1
	case 1:
		return min(n, 1+s.random.IntN(40))
	case 2:
		return 1 + s.random.IntN(n)
	}
	return n
}

func (s *side) takeIn(b []byte) {
	s.input = append(s.input, b...)
	for !s.over && len(s.input) > 0 {
		n, err := s.session.Receive(s.next(), s.now)
		s.input = s.input[n:]
		if err != nil {
			s.fail(err)
			return
		}
		s.know()
		if n == 0 {
			break
		}
	}
	s.input = append([]byte(nil), s.input...)
}

// next is all there is to read, for a reader at most one frame: what a frame
// means to the layer above is then known before the next.
func (s *side) next() []byte {
	if s.Reader == nil || len(s.input) < wire.HeaderSize {
		return s.input
	}
	length := uint64(wire.ParseHeader(s.input).Length)
	if len(s.away) == 0 { // a preface ends its fixed part with the length of the rest
		length = uint64(binary.LittleEndian.Uint32(s.input[wire.PrefaceSize-4:]))
	}
	return s.input[:min(uint64(len(s.input)), wire.HeaderSize+length)]
}

func (s *side) fail(err *wire.Error) {
	s.failed, s.text, s.over = string(err.Class), err.Text, true
	if err.Class == wire.ErrSilence {
		s.failed = "silent"
	}
	s.session.Abort(err)
	passed := uint64(math.MaxUint64)
	if err.Class == wire.ErrPreface || err.Class == wire.ErrVersion {
		passed = s.session.Moved() // what was not taken by now never leaves (section 11.6)
	}
	s.session.Close(passed, err.Text)
}

// end is the end of the stream.
func (s *side) end(now int64) {
	s.now = now
	if s.over {
		return
	}
	s.session.Advance(now)
	s.over = true
	s.session.Close(s.session.Moved(), "end of stream")
}

// take moves what is to be written to the output; with hold perhaps only some
// of it.
func (s *side) take(hold bool) {
	for n := 0; ; n++ {
		if hold && s.random.IntN(4) == 0 {
			return
		}
		b := s.session.Take()
		s.output = append(s.output, b...)
		if len(b) == 0 && !s.flushAll() {
			return
		}
	}
}

// flushAll gives the session the messages that waited for the one before.
func (s *side) flushAll() bool {
	ready := s.sent
	s.sent = nil
	for _, c := range ready {
		s.flush(c)
	}
	return len(ready) > 0
}

func (s *side) flush(c *call) {
	for len(c.queue) > 0 && c.Stream.Open() && !c.waits {
		m := c.queue[0]
		c.queue = c.queue[1:]
		c.waits = !s.session.Send(&c.Stream, m.payload, m.compression, m.end)
	}
	if len(c.queue) == 0 && c.result != nil && !c.waits {
		result := c.result
		c.result = nil
		c.waits = s.session.Finish(&c.Stream, result)
	}
}

// tell notes what happens to a call, for a reader.
func (s *side) tell(c *call, format string, args ...any) {
	if s.Reader == nil {
		return
	}
	event := fmt.Sprintf(format, args...)
	if !c.Own && !c.Started {
		c.told = append(c.told, event)
		return
	}
	s.event(key(c.Word), event)
}

func (s *side) event(key, event string) {
	if s.Reader == nil {
		return
	}
	s.events[key] = append(s.events[key], event)
}

func key(id wire.StreamID) string { return fmt.Sprintf("%08x", uint32(id)) }

// note adds a line to the script of what the user did.
func (s *side) note(format string, args ...any) {
	s.script = append(s.script, fmt.Sprintf("%d: ", s.turn)+fmt.Sprintf(format, args...))
}
