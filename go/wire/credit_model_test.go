package wire

import "fmt"

// A model of flow control that is as simple as protocol.md 9 says it, and knows
// nothing of Session but the frames that it writes. credit_play_test.go holds
// random sessions against it.

// modelWay is one direction of one stream: what its sender may spend, and what
// its receiver owes.
type modelWay struct {
	most int64 // that the window may be at any time

	// As the sender's frames and the credit that reached it tell.
	window int64

	// As the receiver's frames and what reached it tell.
	room       int64   // of the window, as the receiver sees it
	returned   int64   // cost that the receiver owes or has given back
	granted    int64   // credit given
	assembling bool    // a cut message is in progress
	pieces     int64   // cost of its pieces, not returned yet
	unconsumed []int64 // what each whole message returns when it is consumed

	sentAssembling bool // the same of the sender's side, ahead of what arrived
}

func newModelWay(initial, most uint32) *modelWay {
	return &modelWay{most: int64(most), window: int64(initial), room: int64(initial)}
}

// sends takes a frame with a message, or a piece of one, that was written.
func (w *modelWay) sends(cost int64, more bool) error {
	w.sentAssembling = more
	if w.window -= cost; w.window < 0 {
		return fmt.Errorf("the window is overspent by %d", -w.window)
	}
	return nil
}

// arrives takes the same frame when it has been read.
func (w *modelWay) arrives(cost int64, more bool) {
	w.room -= cost
	w.assembling = more
	switch {
	case more && len(w.unconsumed) == 0:
		w.returned += cost
	case more:
		w.pieces += cost
	default:
		w.unconsumed = append(w.unconsumed, cost+w.pieces)
		w.pieces = 0
	}
}

// consumes takes that the application has the oldest message, and returns what
// that gives back.
func (w *modelWay) consumes() int64 {
	cost := w.unconsumed[0]
	w.unconsumed = w.unconsumed[1:]
	w.returned += cost
	if len(w.unconsumed) == 0 {
		w.returned += w.pieces
		w.pieces = 0
	}
	return cost
}

// grants takes a CREDIT that the receiver has written.
func (w *modelWay) grants(credit int64) error {
	w.granted += credit
	w.room += credit
	switch {
	case w.room > w.most:
		return fmt.Errorf("CREDIT makes the window %d, at most %d are kept", w.room, w.most)
	case credit < 1:
		return fmt.Errorf("CREDIT of %d", credit)
	}
	return nil
}

// credited takes that CREDIT when it has reached the sender.
func (w *modelWay) credited(credit int64) { w.window += credit }

// settled checks the sums when nothing is under way: what is left of windows at
// both ends, and what is owed.
func (w *modelWay) settled(sender, receiver *Stream, initial uint32) error {
	var owed, grown int64
	if f := receiver.flow; f != nil {
		owed, grown = int64(f.owed), int64(f.grown)
	}
	keeps := int64(initial) + grown
	switch {
	case w.window != w.room:
		return fmt.Errorf("the model's own ends differ: %d and %d", w.window, w.room)
	case sender.sendWindow != w.window:
		return fmt.Errorf("the sender has a window of %d, want %d", sender.sendWindow, w.window)
	case receiver.recvWindow != w.room:
		return fmt.Errorf("the receiver sees a window of %d, want %d", receiver.recvWindow, w.room)
	case w.granted+owed != w.returned+grown:
		return fmt.Errorf("granted %d and owes %d, of %d consumed and %d of growth", w.granted, owed, w.returned, grown)
	case 2*owed >= keeps:
		return fmt.Errorf("%d of credit withheld, of %d that are kept", owed, keeps)
	case keeps > w.most:
		return fmt.Errorf("a window of %d, at most %d", keeps, w.most)
	}
	if f := sender.flow; f != nil && f.hasPending {
		// What waits must lack credit, and does not if the receiver has let go.
		if sender.sendWindow >= MinPiece+frameCost {
			return fmt.Errorf("a message waits with a window of %d", sender.sendWindow)
		}
		if len(w.unconsumed) == 0 {
			return fmt.Errorf("a message waits, and all before it was consumed: window %d, %d owed", sender.sendWindow, owed)
		}
	}
	return nil
}

// modelFrame is a frame on its way, as far as the model needs it.
type modelFrame struct {
	way    *modelWay
	end    int // of the frame in the bytes under way
	credit int64
	cost   int64
	more   bool
}

// modelLink is the bytes under way from one side to the other.
type modelLink struct {
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
			f.way, f.credit = ways(h.Stream, true), int64(h.Word)
			if err := f.way.grants(f.credit); err != nil {
				return err
			}
		case (h.Type == Call || h.Type == Data) && h.Flags&FlagMsg != 0:
			f.way, f.more = ways(h.Stream, false), h.Flags&FlagMore != 0
			parsed, err := ParseBody(&h, body, f.more && !f.way.sentAssembling, settings)
			if err != nil {
				return err
			}
			f.cost = int64(len(parsed.Payload) + frameCost)
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
		if f := l.frames[0]; f.way != nil && f.credit > 0 {
			f.way.credited(f.credit)
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
