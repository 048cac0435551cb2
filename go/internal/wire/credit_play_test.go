package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// playSide is one end of a random session.
type playSide struct {
	events
	*Session
	link *modelLink // what this side has written
}

// events keeps what a side is handed up.
type events struct {
	recorder
	received func(st *Stream, payload []byte, cost Cost)
}

func (e *events) Accept(in *Incoming) (*Stream, *Refusal) {
	st, refusal := e.recorder.Accept(in)
	if in.HasMessage {
		e.received(st, in.Payload, in.Cost)
	}
	return st, refusal
}

func (e *events) Message(st *Stream, payload []byte, _ uint8, cost Cost, _ bool) {
	e.received(st, payload, cost)
}

// playWay is one direction of a stream as its user sees it, beside the model.
type playWay struct {
	*modelWay
	from, to *playSide
	sender   func() *Stream
	receiver func() *Stream
	sent     []uint32 // sizes, not received yet
	inbox    []Cost   // not consumed yet
	number   byte     // of the next message sent
	expects  byte
}

// play is a random session, held against the model.
type play struct {
	draw    *rand.Rand
	now     int64
	initial uint32
	sides   [2]*playSide // initiator, acceptor
	ways    []*playWay   // two for each stream: the caller's, the callee's
	fault   error
}

func newPlay(seed uint64) *play {
	p := &play{draw: rand.New(rand.NewPCG(seed, 9)), now: second, initial: DefaultWindow}
	settings := DefaultSettings()
	if p.draw.IntN(2) == 0 {
		settings.Window = DefaultWindow + uint32(p.draw.IntN(300_000))
		p.initial = settings.Window
	}
	settings.Pool = []uint32{0, 10_000, 200_000, 1 << 20}[p.draw.IntN(4)]
	most := max(settings.Pool, []uint32{0, 1 << 20, 8 << 20}[p.draw.IntN(3)])
	links := [2]*modelLink{{pool: newModelWindow(settings.Pool, most)}, {pool: newModelWindow(settings.Pool, most)}}
	for i := range p.sides {
		links[i].granted = &links[1-i].pool
		side := &playSide{link: links[i]}
		side.received = func(st *Stream, payload []byte, cost Cost) { p.receive(side, st, payload, cost) }
		side.Session = NewSession(&side.events, Options{Acceptor: i == 1, Local: settings, MaxPool: most, Room: moving}, p.now)
		p.sides[i] = side
	}
	p.settle()
	for range 1 + p.draw.IntN(4) {
		p.open()
	}
	return p
}

// open opens a stream, perhaps with a first message, by either side.
func (p *play) open() {
	first := p.draw.IntN(2)
	caller, callee := p.sides[first], p.sides[1-first]
	at := len(callee.accepted)
	own := &Stream{}
	other := func() *Stream {
		if at < len(callee.accepted) {
			return callee.accepted[at]
		}
		return &Stream{} // it is still to come
	}
	p.ways = append(p.ways,
		&playWay{modelWay: p.newWay(caller), from: caller, to: callee, sender: func() *Stream { return own }, receiver: other},
		&playWay{modelWay: p.newWay(callee), from: callee, to: caller, sender: other, receiver: func() *Stream { return own }},
	)
	o := Outgoing{Method: unary, HasMessage: p.draw.IntN(2) == 0}
	if o.HasMessage {
		o.Payload = p.message(p.ways[len(p.ways)-2])
	}
	caller.Open(own, &o)
	p.settle()
}

func (p *play) newWay(from *playSide) *modelWay {
	return &modelWay{modelWindow: newModelWindow(p.initial, p.initial), pool: &from.link.pool}
}

// message makes the next message of a direction.
func (p *play) message(w *playWay) []byte {
	var size int
	switch p.draw.IntN(9) {
	case 0:
		size = 0
	case 8: // what the window just holds, or does not
		if left := int(w.sender().sendWindow) - frameCost; left > 0 && left <= MinPiece {
			size = left + p.draw.IntN(3) - 1
		}
	case 1, 2, 3:
		size = p.draw.IntN(2_000)
	case 4, 5:
		size = p.draw.IntN(MinPiece)
	case 6:
		size = MinPiece - 20 + p.draw.IntN(40)
	default:
		size = p.draw.IntN(700_000)
	}
	payload := bytes.Repeat([]byte{w.number}, size)
	w.number++
	w.sent = append(w.sent, uint32(size))
	return payload
}

// receive checks a message against the one that was sent, and its cost against
// the model once that has seen its frames.
func (p *play) receive(side *playSide, st *Stream, payload []byte, cost Cost) {
	for _, w := range p.ways {
		if w.to != side || w.receiver() != st {
			continue
		}
		if len(w.sent) == 0 || int(w.sent[0]) != len(payload) || len(payload) > 0 &&
			(payload[0] != w.expects || payload[len(payload)-1] != w.expects) {
			p.fail(fmt.Errorf("message %d of %d bytes came in place of %v", w.expects, len(payload), w.sent))
			return
		}
		w.sent = w.sent[1:]
		w.expects++
		w.inbox = append(w.inbox, cost)
		return
	}
	p.fail(errors.New("a message of no stream"))
}

func (p *play) fail(err error) { p.fault = errors.Join(p.fault, err) }

// way finds the model of a frame's direction. The initiator bit and the side tell
// whose call it is; slots are given in order, and no stream ends during play.
func (p *play) way(from *playSide) func(id StreamID, credit bool) *modelWay {
	return func(id StreamID, credit bool) *modelWay {
		for _, w := range p.ways {
			if sender := w.from == from; sender == credit {
				continue
			}
			here := w.sender
			if credit {
				here = w.receiver
			}
			if here().id == id {
				return w.modelWay
			}
		}
		return &modelWay{}
	}
}

// write has a side write what it has.
func (p *play) write(side *playSide) {
	local := side.Remote()
	if err := side.link.wrote(side.Take(), local, p.way(side)); err != nil {
		p.fail(err)
	}
}

// carry gives a side's peer the next n bytes of what the side has written.
func (p *play) carry(side *playSide, n int) {
	peer := p.sides[0]
	if side == peer {
		peer = p.sides[1]
	}
	before := len(side.link.bytes)
	if before == 0 {
		return
	}
	used, err := peer.Receive(side.link.next(n), p.now)
	if err != nil {
		p.fail(err)
	}
	side.link.used(used)
}

// consume takes the oldest message of a direction.
func (p *play) consume(w *playWay) {
	if len(w.inbox) == 0 {
		return
	}
	cost := w.inbox[0]
	w.inbox = w.inbox[1:]
	if want := w.consumes(); cost != want {
		p.fail(fmt.Errorf("a message returns %d, want %d", cost, want))
	}
	w.to.Consumed(w.receiver(), cost)
}

// step does one thing at random.
func (p *play) step() {
	side := p.sides[p.draw.IntN(2)]
	w := p.ways[p.draw.IntN(len(p.ways))]
	switch p.draw.IntN(8) {
	case 0, 1:
		if f := w.sender().flow; f == nil || !f.hasPending {
			w.from.Send(w.sender(), p.message(w), 0, false)
		}
	case 2, 3:
		p.consume(w)
	case 4:
		p.write(side)
	case 5:
		p.carry(side, 1+p.draw.IntN(40))
	case 6:
		p.carry(side, 1<<p.draw.IntN(20))
	default:
		p.now += p.draw.Int64N([]int64{1e3, 5e6, 60e6}[p.draw.IntN(3)])
	}
}

// settle carries all that there is, and checks the sums.
func (p *play) settle() {
	for busy := true; busy && p.fault == nil; {
		busy = false
		for _, side := range p.sides {
			p.write(side)
			busy = busy || len(side.link.bytes) > 0
			p.carry(side, 1<<30)
		}
	}
	for i, side := range p.sides {
		own := side.Pool()
		if err := side.link.granted.balanced(p.sides[1-i].poolRoom, own.Receive, own.Owed, own.Kept, 4); err != nil {
			p.fail(fmt.Errorf("pool %d: %w", i, err))
		}
	}
	for i, w := range p.ways {
		if p.fault != nil {
			return
		}
		if err := w.settled(w.sender(), w.receiver(), w.from.poolRoom); err != nil {
			p.fail(fmt.Errorf("direction %d: %w", i, err))
		}
	}
}

// drain consumes all until nothing more comes, and checks that nothing is left.
func (p *play) drain() {
	for busy := true; busy && p.fault == nil; {
		p.settle()
		busy = false
		for _, w := range p.ways {
			for len(w.inbox) > 0 {
				busy = true
				p.consume(w)
			}
		}
	}
	for i, w := range p.ways {
		if f := w.sender().flow; len(w.sent) > 0 || f != nil && f.hasPending {
			p.fail(fmt.Errorf("direction %d: messages of %d bytes never came", i, w.sent))
		}
	}
	for _, side := range p.sides {
		if held := side.HeldBytes(); held != 0 {
			p.fail(fmt.Errorf("%d bytes are still held", held))
		}
	}
}

func playSession(seed uint64, steps int) error {
	p := newPlay(seed)
	for n := range steps {
		if p.step(); n%40 == 39 {
			p.settle()
		}
		if p.fault != nil {
			return fmt.Errorf("step %d: %w", n, p.fault)
		}
	}
	p.drain()
	return p.fault
}

// Random sends, consumption, credit and cut messages: windows are never
// overspent, senders never stuck with credit owed to them, and the sums are
// those of the model. From fixed seeds and from random ones, which are printed.
func TestCreditIsThatOfTheModel(t *testing.T) {
	const sessions = 200
	for _, first := range []uint64{1, uint64(time.Now().UnixNano())} {
		for seed := first; seed < first+sessions; seed++ {
			if err := playSession(seed, 200); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		t.Logf("seeds %d to %d", first, first+sessions-1)
	}
}
