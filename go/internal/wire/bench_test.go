package wire

import "testing"

// echo is an Events that answers every call with its request at once, on the
// same stream object each time.
type echo struct {
	recorder
	session *Session
	stream  Stream
	payload []byte
	done    int
}

func (e *echo) Accept(in *Incoming) (*Stream, *Refusal) {
	e.payload = append(e.payload[:0], in.Payload...)
	return &e.stream, nil
}

func (e *echo) Ended(_ *Stream, end *Ending) {
	if end.Code == OK && end.HasMessage {
		e.done++
	}
}

// unaryPair is a client and a server joined in memory, whose buffers are used
// again.
type unaryPair struct {
	client, server *echo
	call           Stream
	out            Outgoing
	answer         Ending
}

func newUnaryPair(size int) *unaryPair {
	side := func(acceptor bool) *echo {
		e := &echo{}
		buffer := make([]byte, 0, 8<<10)
		e.session = NewSession(e, Options{
			Acceptor: acceptor, Local: DefaultSettings(), Room: func(out []byte, n int) []byte {
				if out == nil && n <= cap(buffer) {
					return buffer[:0]
				}
				return append(make([]byte, 0, 2*(len(out)+n)), out...)
			},
		}, second)
		return e
	}
	p := &unaryPair{client: side(false), server: side(true)}
	p.out = Outgoing{Method: unary, Codec: 1, Payload: filler(size), HasMessage: true, End: true}
	return p
}

func (p *unaryPair) run() {
	now := 2 * second
	p.client.session.Open(&p.call, &p.out)
	if _, err := p.server.session.Receive(p.client.session.Take(), now); err != nil {
		panic(err)
	}
	p.answer = Ending{Payload: p.server.payload, HasMessage: true}
	p.server.session.Finish(&p.server.stream, &p.answer)
	if _, err := p.client.session.Receive(p.server.session.Take(), now); err != nil {
		panic(err)
	}
}

func TestUnaryCallsAllocateNothing(t *testing.T) {
	p := newUnaryPair(100)
	p.run()
	if n := testing.AllocsPerRun(100, p.run); n != 0 {
		t.Errorf("%v allocations in a unary call", n)
	}
	if p.client.done != 102 {
		t.Errorf("%d calls done", p.client.done)
	}
}

func BenchmarkUnary(b *testing.B) {
	p := newUnaryPair(100)
	p.run()
	b.ReportAllocs()
	for b.Loop() {
		p.run()
	}
}
