package wire

import (
	"bytes"
	"slices"
	"testing"
)

// What the tests of Session have in common: an Events that records, sessions
// fed with raw frames, and pairs of sessions joined in memory.

type message struct {
	st          *Stream
	payload     []byte
	compression uint8
	cost        Cost
	owned       bool
}

type ended struct {
	st *Stream
	Ending
}

type stopped struct {
	st   *Stream
	code Code
}

// recorder is an Events that keeps what it is told and accepts every call.
type recorder struct {
	accept   func(in *Incoming) (*Stream, *Refusal) // in place of accepting all
	hold     bool                                   // handlers do not start
	accepted []*Stream
	seen     []Incoming
	messages []message
	closed   []*Stream
	stopped  []stopped
	early    []Metadata
	ended    []ended
	sent     []*Stream
	preface  *Preface
	away     []string
	reasons  []uint32
}

func (r *recorder) Accept(in *Incoming) (*Stream, *Refusal) {
	kept := *in
	kept.Payload = bytes.Clone(in.Payload)
	if r.accept != nil {
		st, refusal := r.accept(&kept)
		if refusal != nil {
			return nil, refusal
		}
		r.accepted, r.seen = append(r.accepted, st), append(r.seen, kept)
		return st, nil
	}
	st := &Stream{}
	if r.hold {
		st.Hold()
	}
	r.accepted, r.seen = append(r.accepted, st), append(r.seen, kept)
	return st, nil
}

func (r *recorder) Message(st *Stream, payload []byte, compression uint8, cost Cost, owned bool) {
	r.messages = append(r.messages, message{st, bytes.Clone(payload), compression, cost, owned})
}
func (r *recorder) HalfClosed(st *Stream)         { r.closed = append(r.closed, st) }
func (r *recorder) Stopped(st *Stream, code Code) { r.stopped = append(r.stopped, stopped{st, code}) }

func (r *recorder) EarlyMetadata(_ *Stream, m Metadata) { r.early = append(r.early, m) }

func (r *recorder) Ended(st *Stream, e *Ending) {
	kept := *e
	kept.Payload = bytes.Clone(e.Payload)
	r.ended = append(r.ended, ended{st, kept})
}
func (r *recorder) Sent(st *Stream)                              { r.sent = append(r.sent, st) }
func (r *recorder) PeerReady(p *Preface)                         { r.preface = p }
func (r *recorder) Unserved(*Stream, string, bool, Code, string) {}

func (r *recorder) PeerGoesAway(reason uint32, text string) string {
	r.away, r.reasons = append(r.away, text), append(r.reasons, reason)
	return text
}

// last returns the last element, which must exist.
func last[T any](t testing.TB, list []T, what string) T {
	t.Helper()
	if len(list) == 0 {
		t.Fatalf("no %s", what)
	}
	return list[len(list)-1]
}

func count[T any](t testing.TB, list []T, want int, what string) {
	t.Helper()
	if len(list) != want {
		t.Fatalf("%d %s, want %d: %v", len(list), what, want, list)
	}
}

// side is a session with its recorder.
type side struct {
	t testing.TB
	*recorder
	*Session
	now     int64
	pending []byte // input that was not consumed
}

const second = int64(1e9)

// moving gives memory for outgoing bytes that is other each time, and spoils what it was.
func moving(out []byte, n int) []byte {
	grown := append(make([]byte, 0, len(out)+n), out...)
	for i := range out {
		out[i] = 0xaa
	}
	return grown
}

func newSide(t testing.TB, o Options) *side {
	if o.Local.Window == 0 {
		o.Local = DefaultSettings()
	}
	o.Room = moving
	r := &recorder{}
	return &side{t: t, recorder: r, Session: NewSession(r, o, second), now: second}
}

// rawSide is a session whose peer is the test, with prefaces exchanged.
func rawSide(t testing.TB, acceptor bool, change ...func(local, remote *Settings)) *side {
	local, remote := DefaultSettings(), DefaultSettings()
	for _, f := range change {
		f(&local, &remote)
	}
	s := newSide(t, Options{Acceptor: acceptor, Local: local})
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: remote}))
	s.Take()
	return s
}

// feed gives the session input as a transport does and returns its error.
func (s *side) feed(b ...[]byte) *Error {
	for _, b := range b {
		s.pending = append(s.pending, b...)
		n, err := s.Receive(s.pending, s.now)
		if err != nil {
			return err
		}
		if n > 0 {
			s.pending = slices.Clone(s.pending[n:])
		}
	}
	return nil
}

// must feeds input that is not at fault.
func (s *side) must(b ...[]byte) {
	s.t.Helper()
	if err := s.feed(b...); err != nil {
		s.t.Fatalf("unexpected %v", err)
	}
}

// fails feeds input that ends the connection.
func (s *side) fails(class Class, b ...[]byte) {
	s.t.Helper()
	if err := s.feed(b...); err == nil || err.Class != class {
		s.t.Fatalf("%v, want %s", err, class)
	}
}

// frames takes what the session has to write apart; prefaces are skipped.
func (s *side) frames() (headers []Header, bodies [][]byte) {
	s.t.Helper()
	b := s.Take()
	if bytes.HasPrefix(b, Magic[:]) {
		_, n, err := ParsePreface(b)
		if n == 0 {
			s.t.Fatalf("wrote a bad preface: %v", err)
		}
		b = b[n:]
	}
	for len(b) > 0 {
		h := ParseHeader(b)
		if err := h.Check(&s.remote, s.options.Acceptor); err != nil {
			s.t.Fatalf("wrote a bad frame: %v", err)
		}
		headers = append(headers, h)
		bodies = append(bodies, b[HeaderSize:HeaderSize+int(h.Length)])
		b = b[HeaderSize+int(h.Length):]
	}
	return headers, bodies
}

// only returns the one frame that the session has to write.
func (s *side) only(kind Type) (Header, []byte) {
	s.t.Helper()
	headers, bodies := s.frames()
	if len(headers) != 1 || headers[0].Type != kind {
		s.t.Fatalf("wrote %+v, want one %v", headers, kind)
	}
	return headers[0], bodies[0]
}

func (s *side) silent() {
	s.t.Helper()
	if headers, _ := s.frames(); len(headers) != 0 {
		s.t.Fatalf("wrote %+v, want nothing", headers)
	}
}

// framed makes a frame of h and a body.
func framed(h Header, body ...[]byte) []byte {
	b := slices.Concat(body...)
	h.Length = uint32(len(b))
	return append(AppendHeader(nil, h), b...)
}

func stream(slot uint32, generation uint16) StreamID { return MakeStreamID(slot, generation, false) }

func filler(n int) []byte { return bytes.Repeat([]byte{'f'}, n) }

var unary = Method{Name: "/a.B/C", Index: 0}

// rawCall is a CALL with an inline name.
func rawCall(slot uint32, generation uint16, flags Flags, payload ...byte) []byte {
	return framed(Header{Type: Call, Stream: stream(slot, generation), Flags: flags}, []byte("\x06/a.B/C"), payload)
}

func rawData(slot uint32, generation uint16, flags Flags, payload ...byte) []byte {
	return framed(Header{Type: Data, Stream: stream(slot, generation), Flags: flags}, payload)
}

// rawPiece is a piece with MORE of the least length; total is 0 for all but
// the first.
func rawPiece(slot uint32, generation uint16, total uint32) []byte {
	var head []byte
	if total > 0 {
		head = AppendVarint(nil, total)
	}
	return framed(Header{Type: Data, Stream: stream(slot, generation), Flags: FlagMsg | FlagMore}, head, filler(MinPiece-len(head)))
}

func rawResult(slot uint32, generation uint16, code Code, flags Flags, body ...byte) []byte {
	return framed(Header{Type: Result, Stream: stream(slot, generation), Code: uint16(code), Flags: flags}, body)
}

func rawControl(kind Type, id StreamID, word uint32) []byte {
	return framed(Header{Type: kind, Stream: id, Word: word})
}

// open opens a call.
func (s *side) open(o Outgoing) *Stream {
	s.t.Helper()
	if o.Method.Name == "" {
		o.Method = unary
	}
	if !s.AcceptsCalls() || !s.HasSlots(1) {
		s.t.Fatal("no call can be opened")
	}
	st := &Stream{}
	s.Session.Open(st, &o)
	return st
}

// joined is a pair of sessions; pump carries bytes between them.
type joined struct {
	t        testing.TB
	client   *side
	server   *side
	chunk    int // how many bytes are carried at a time, 0: all
	maxBytes int // the largest Take seen
}

func join(t testing.TB, client, server Settings) *joined {
	j := &joined{t: t, client: newSide(t, Options{Local: client}), server: newSide(t, Options{Acceptor: true, Local: server})}
	j.pump()
	return j
}

// pump carries bytes until both sides are silent.
func (j *joined) pump() {
	j.t.Helper()
	for j.step() {
	}
}

func (j *joined) step() bool {
	j.t.Helper()
	forth := j.carry(j.client, j.server)
	back := j.carry(j.server, j.client)
	return forth || back
}

func (j *joined) carry(from, to *side) bool {
	j.t.Helper()
	b := from.Take()
	j.maxBytes = max(j.maxBytes, len(b))
	if len(b) == 0 {
		return false
	}
	for len(b) > 0 {
		n := len(b)
		if j.chunk > 0 {
			n = min(n, j.chunk)
		}
		to.must(b[:n])
		b = b[n:]
	}
	return true
}
