package wire

import (
	"errors"
	"fmt"
)

// A model of flow control that is as simple as protocol.md 9 says it, and knows
// nothing of Session but the frames that it writes. credit_play_test.go holds
// random sessions against it.

// modelWay is one direction of one stream: what its sender may spend, and what
// its receiver owes.
type modelWay struct {
	modelWindow
	pool *modelWindow // that all streams of the direction share

	assembling bool   // a cut message is in progress
	pieces     Cost   // of its pieces, not returned yet
	unconsumed []Cost // what each whole message returns when it is consumed

	sentAssembling bool // the same of the sender's side, ahead of what arrived
}

// modelWindow is that of a stream, or a pool.
type modelWindow struct {
	initial, most int64 // that it is at first and at any time

	// As the sender's frames and the credit that reached it tell.
	left int64

	// As the receiver's frames and what reached it tell.
	room     int64 // of the window, as the receiver sees it
	spent    int64 // by frames that arrived
	returned int64 // cost that the receiver owes or has given back
	granted  int64 // credit given
}

func newModelWindow(initial, most uint32) modelWindow {
	return modelWindow{initial: int64(initial), most: int64(most), left: int64(initial), room: int64(initial)}
}

// sends takes a frame with a message, or a piece of one, that was written.
func (w *modelWay) sends(cost Cost, more bool) error {
	w.sentAssembling = more
	w.left -= int64(cost.Window)
	w.pool.left -= int64(cost.Pool)
	if w.left < 0 || w.pool.left < 0 {
		return fmt.Errorf("overspent: window %d, pool %d", w.left, w.pool.left)
	}
	return nil
}

// arrives takes the same frame when it has been read.
func (w *modelWay) arrives(cost Cost, more bool) {
	w.spends(cost.Window)
	w.pool.spends(cost.Pool)
	w.assembling = more
	switch {
	case more && len(w.unconsumed) == 0:
		w.returns(cost)
	case more:
		w.pieces.add(cost)
	default:
		cost.add(w.pieces)
		w.unconsumed = append(w.unconsumed, cost)
		w.pieces = Cost{}
	}
}

func (w *modelWindow) spends(n uint32) {
	w.room -= int64(n)
	w.spent += int64(n)
}

func (w *modelWay) returns(cost Cost) {
	w.returned += int64(cost.Window)
	w.pool.returned += int64(cost.Pool)
}

// consumes takes that the application has the oldest message, and returns what
// that gives back.
func (w *modelWay) consumes() Cost {
	cost := w.unconsumed[0]
	w.unconsumed = w.unconsumed[1:]
	w.returns(cost)
	if len(w.unconsumed) == 0 {
		w.returns(w.pieces)
		w.pieces = Cost{}
	}
	return cost
}

// grants takes a CREDIT that the receiver has written.
func (w *modelWindow) grants(credit int64) error {
	w.granted += credit
	w.room += credit
	switch {
	case w.room > w.most:
		return fmt.Errorf("CREDIT makes it %d, at most %d are kept", w.room, w.most)
	case credit < 1:
		return fmt.Errorf("CREDIT of %d", credit)
	}
	return nil
}

// credited takes that CREDIT when it has reached the sender.
func (w *modelWindow) credited(credit int64) { w.left += credit }

// balanced checks the sums when nothing is under way: what is left at both ends, and
// what is owed, of which less than the given part is withheld.
func (w *modelWindow) balanced(sends, receives, owed, kept, part int64) error {
	grown := kept - w.initial
	switch {
	case w.left != w.room:
		return fmt.Errorf("the model's own ends differ: %d and %d", w.left, w.room)
	case sends != w.left:
		return fmt.Errorf("the sender has %d left, want %d", sends, w.left)
	case receives != w.room:
		return fmt.Errorf("the receiver sees %d left, want %d", receives, w.room)
	case w.granted+owed != w.returned+grown:
		return fmt.Errorf("granted %d and owes %d, of %d consumed and %d of growth", w.granted, owed, w.returned, grown)
	case owed > 0 && part*owed >= kept && w.spent > 0:
		return fmt.Errorf("%d of credit withheld, of %d that are kept", owed, kept)
	case kept > w.most || grown < 0:
		return fmt.Errorf("%d are kept, of at first %d and at most %d", kept, w.initial, w.most)
	}
	return nil
}

// settled checks a direction when nothing is under way.
func (w *modelWay) settled(sender, receiver *Stream, room int64) error {
	var owed int64
	if f := receiver.flow; f != nil {
		owed = int64(f.owed)
	}
	if err := w.balanced(sender.sendWindow, receiver.recvWindow, owed, w.initial, 2); err != nil {
		return err
	}
	if f := sender.flow; f != nil && f.hasPending {
		// What waits must lack credit, and does not if the receiver has let go.
		if sender.sendWindow >= wholePiece || room >= wholePiece {
			return fmt.Errorf("a message waits with a window of %d and a pool of %d", sender.sendWindow, room)
		}
		if len(w.unconsumed) == 0 {
			return fmt.Errorf("a message waits, and all before it was consumed: window %d, %d owed", sender.sendWindow, owed)
		}
	}
	return nil
}

// modelFrame is a frame on its way, as far as the model needs it.
type modelFrame struct {
	way    *modelWay    // of a message
	window *modelWindow // of CREDIT
	end    int          // of the frame in the bytes under way
	credit int64
	cost   Cost
	more   bool
}

// modelLink is the bytes under way from one side to the other.
type modelLink struct {
	pool    modelWindow  // of the messages on it
	granted *modelWindow // of those that go the other way: its CREDIT is here
	bytes   []byte
	frames  []modelFrame
	fed     int // of bytes, given to the receiver and not used up
	greeted bool
}

// wrote parses what a side has written and puts it on its way. ways finds the
// direction of a stream that a frame belongs to: that of its sender, or for
// CREDIT of its receiver.
func (l *modelLink) wrote(b []byte, settings *Settings, ways func(id StreamID, credit bool) *modelWay) error {
	from := len(l.bytes)
	l.bytes = append(l.bytes, b...)
	if len(b) > 0 && !l.greeted {
		l.greeted = true
		_, n, err := ParsePreface(b)
		if err != nil {
			return err
		}
		from += n
	}
	for from < len(l.bytes) {
		h := ParseHeader(l.bytes[from:])
		body := l.bytes[from+HeaderSize : from+HeaderSize+int(h.Length)]
		from += HeaderSize + int(h.Length)
		f := modelFrame{end: from}
		switch {
		case h.Type == Credit:
			f.window, f.credit = l.granted, int64(h.Word)
			if h.Stream != 0 {
				f.window = &ways(h.Stream, true).modelWindow
			} else if l.granted.spent == 0 {
				return errors.New("CREDIT of a pool that nothing was charged to")
			}
			if err := f.window.grants(f.credit); err != nil {
				return err
			}
		case (h.Type == Call || h.Type == Data) && h.Flags&FlagMsg != 0:
			f.way, f.more = ways(h.Stream, false), h.Flags&FlagMore != 0
			parsed, err := ParseBody(&h, body, f.more && !f.way.sentAssembling, settings)
			if err != nil {
				return err
			}
			f.cost.Window = uint32(len(parsed.Payload) + frameCost)
			if h.Type == Data && h.Flags&FlagPool != 0 {
				f.cost = Cost{Pool: uint32(len(body) + frameCost)}
			}
			if err := f.way.sends(f.cost, f.more); err != nil {
				return err
			}
		}
		l.frames = append(l.frames, f)
	}
	return nil
}

// next is the next n bytes, with what the receiver has not used up before them.
func (l *modelLink) next(n int) []byte {
	l.fed = min(l.fed+n, len(l.bytes))
	return l.bytes[:l.fed:l.fed]
}

// used takes that the receiver used up n bytes: their frames have arrived.
func (l *modelLink) used(n int) {
	for len(l.frames) > 0 && l.frames[0].end <= n {
		if f := l.frames[0]; f.window != nil {
			f.window.credited(f.credit)
		} else if f.way != nil {
			f.way.arrives(f.cost, f.more)
		}
		l.frames = l.frames[1:]
	}
	for i := range l.frames {
		l.frames[i].end -= n
	}
	l.bytes, l.fed = l.bytes[n:], l.fed-n
}
