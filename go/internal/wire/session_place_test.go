package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// placing feeds a session as a transport does that gathers bodies where they belong.
type placing struct {
	*side
	header []byte
	body   []byte // of the frame that is being gathered, nil if there is none
	n      int
	placed int // frames that were gathered so
}

func (p *placing) feed(b []byte) *Error {
	if p.body != nil {
		p.Heard(p.now)
		k := copy(p.body[p.n:], b)
		if p.n, b = p.n+k, b[k:]; p.n < len(p.body) {
			return nil
		}
		body := p.body
		p.body = nil
		if err := p.ReceivePlaced(p.header, body, p.now); err != nil {
			return err
		}
		p.placed++
	}
	if err := p.side.feed(b); err != nil {
		return err
	}
	if body := p.Place(p.pending); body != nil {
		p.header = bytes.Clone(p.pending[:HeaderSize])
		p.body, p.n = body, copy(body, p.pending[HeaderSize:])
		p.pending = nil
	}
	return nil
}

// Two messages of several pieces each, with a call and another stream's message between them.
func cutMessages() []byte {
	random := rand.New(rand.NewPCG(1, 2))
	piece := func(slot uint32, flags Flags, total, n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		var head []byte
		if total > 0 {
			head = AppendVarint(nil, uint32(total))
		}
		return framed(Header{Type: Data, Stream: stream(slot, 1), Flags: FlagMsg | flags}, head, b[:n-len(head)])
	}
	const total = 2*MinPiece + 100 - 3
	return bytes.Join([][]byte{
		rawCall(1, 1, 0), rawCall(2, 1, 0),
		piece(1, FlagMore, total, MinPiece), piece(1, FlagMore, 0, MinPiece), rawData(2, 1, FlagMsg, 'x'), piece(1, 0, 0, 100),
		piece(2, FlagMore, total, MinPiece), rawCall(3, 1, FlagMsg|FlagEnd, 'y'), piece(2, FlagMore, 0, MinPiece), piece(2, FlagEnd, 0, 100),
	}, nil)
}

func TestPlacedPiecesMakeTheSameMessages(t *testing.T) {
	input := cutMessages()
	plain := rawSide(t, true)
	plain.must(input)
	want := plain.Take()
	count(t, plain.messages, 3, "messages")
	random := rand.New(rand.NewPCG(3, 4))
	placed := 0
	for range 200 {
		p := &placing{side: rawSide(t, true)}
		for rest := input; len(rest) > 0; {
			n := min(1+random.IntN(1<<uint(random.IntN(18))), len(rest))
			if err := p.feed(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		placed += p.placed
		count(t, p.messages, 3, "messages")
		for i, m := range p.messages {
			if !bytes.Equal(m.payload, plain.messages[i].payload) || m.cost != plain.messages[i].cost {
				t.Fatalf("message %d differs", i)
			}
		}
		if got := p.Take(); !bytes.Equal(got, want) {
			t.Fatalf("wrote %x, want %x", got, want)
		}
	}
	if placed < 200 {
		t.Fatalf("only %d frames were placed", placed)
	}
}

// A call that ends while the body of one of its frames is gathered: what arrives goes nowhere.
func TestAPlacedPieceOfACallThatEndedIsIgnored(t *testing.T) {
	p := &placing{side: rawSide(t, true)}
	p.must(rawCall(1, 1, 0), rawPiece(1, 1, 3*MinPiece))
	half := rawPiece(1, 1, 0)
	if err := p.feed(half[:1000]); err != nil || p.body == nil {
		t.Fatal(err, p.body)
	}
	p.Finish(p.accepted[0], &Ending{})
	p.Take()
	if err := p.feed(half[1000:]); err != nil || p.placed != 1 {
		t.Fatal(err, p.placed)
	}
	p.silent()
	count(t, p.messages, 0, "messages")
}

// What is wrong with a frame is found when it is whole, as ever.
func TestAPlacedPieceIsChecked(t *testing.T) {
	p := &placing{side: rawSide(t, true)}
	p.must(rawCall(1, 1, 0), rawPiece(1, 1, 2*MinPiece))
	short := framed(Header{Type: Data, Stream: stream(1, 1), Flags: FlagMsg}, filler(100))
	if err := p.feed(short[:50]); err != nil || p.body == nil {
		t.Fatal(err, p.body)
	}
	if err := p.feed(short[50:]); err == nil || err.Class != ErrPiece {
		t.Fatal(err)
	}
	tooMuch := rawPiece(1, 1, 0)
	p = &placing{side: rawSide(t, true)}
	p.must(rawCall(1, 1, 0), rawPiece(1, 1, MinPiece+10))
	if err := p.feed(tooMuch[:1000]); err != nil || p.body != nil {
		t.Fatal("placed although it is longer than its message", err)
	}
	if err := p.feed(tooMuch[1000:]); err == nil || err.Class != ErrPiece {
		t.Fatal(err)
	}
}
