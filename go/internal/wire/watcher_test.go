package wire

import "testing"

// watcher checks what a session appends against the rules of its peer, frame
// by frame, knowing what the session has received. It is written from the
// specification, apart from Session.
type watcher struct {
	t       testing.TB
	s       *Session
	own     map[uint32]*watched // by slot: calls that the session opened
	served  map[uint32]*watched
	window  int64  // that the peer gives each stream
	pool    int64  // what the peer's has left
	charged bool   // a frame with POOL was taken in
	seen    uint64 // outgoing bytes looked at
	defined map[uint16]bool
	drained bool // GOAWAY with ACK was appended
	refused int  // refusals without a slot that are due
	acks    int  // PING ACKs that are due
}

type watched struct {
	id        StreamID
	open      bool
	ended     bool // END was appended
	spoke     bool // DATA was appended
	oneWay    bool
	cancelled bool
	window    int64
	message   bool // one is in progress
	total     uint32
	got       uint64
	codec     uint8
	packed    uint8
}

func watch(t testing.TB, s *Session) *watcher {
	return &watcher{
		t: t, s: s, own: map[uint32]*watched{}, served: map[uint32]*watched{}, window: DefaultWindow, defined: map[uint16]bool{},
	}
}

// received is told of every frame that the session took in.
func (w *watcher) received(h *Header) {
	ours := h.Stream.ByAcceptor() == w.s.options.Acceptor
	slot := h.Stream.Slot()
	switch h.Type {
	case Ping:
		if h.Flags&FlagAck == 0 {
			w.acks++
		}
	case Call:
		if slot > w.s.options.Local.Calls {
			w.refused++
			return
		}
		if old := w.served[slot]; old != nil && old.open {
			w.t.Fatalf("CALL on slot %d was taken in twice", slot)
		}
		w.served[slot] = &watched{id: h.Stream, open: true, window: w.window, oneWay: h.Flags&FlagOneWay != 0}
	case Result:
		st := w.own[slot]
		if st == nil || !st.open || st.id != h.Stream {
			w.t.Fatalf("RESULT of no call was taken in: %+v", h)
		}
		st.open = false
	case Data:
		w.charged = w.charged || h.Flags&FlagPool != 0
	case Credit:
		if h.Stream == 0 {
			w.pool += int64(h.Word)
			return
		}
		st := w.served[slot]
		if ours {
			st = w.own[slot]
		}
		if st != nil && st.open && st.id == h.Stream {
			st.window += int64(h.Word)
		}
	}
}

// greeted is told of the peer's preface.
func (w *watcher) greeted(p *Preface) {
	for _, st := range w.own {
		st.window += int64(p.Settings.Window) - w.window
	}
	w.window = int64(p.Settings.Window)
	w.pool = int64(p.Settings.Pool)
}

// look judges what was appended since it last looked; b ends with it.
func (w *watcher) look(b []byte) {
	w.t.Helper()
	b = b[len(b)-int(w.s.appended-w.seen):]
	if w.seen == 0 && len(b) > 0 {
		_, n, err := ParsePreface(b)
		if n == 0 {
			w.t.Fatalf("the session begins with %.20x: %v", b, err)
		}
		b = b[n:]
	}
	w.seen = w.s.appended
	for len(b) > 0 {
		h := ParseHeader(b)
		if err := h.Check(&w.s.remote, w.s.options.Acceptor); err != nil {
			w.t.Fatalf("%+v: %v", h, err)
		}
		body := b[HeaderSize : HeaderSize+int(h.Length)]
		b = b[HeaderSize+int(h.Length):]
		w.frame(&h, body)
	}
}

func (w *watcher) frame(h *Header, body []byte) {
	w.t.Helper()
	slot := h.Stream.Slot()
	ours := h.Stream.ByAcceptor() == w.s.options.Acceptor
	st := w.served[slot]
	if ours {
		st = w.own[slot]
	}
	live := st != nil && st.open && st.id == h.Stream && !st.cancelled
	switch h.Type {
	case Define:
		if _, err := ParseDefine(body); err != nil || w.defined[h.Code] || w.drained {
			w.t.Fatalf("%+v %q: %v", h, body, err)
		}
		w.defined[h.Code] = true
	case Call:
		w.call(h, body, st)
	case Data:
		if !live || st.ended || st.oneWay && !ours || h.Flags&FlagMeta != 0 && st.spoke {
			w.t.Fatalf("%+v on %+v", h, st)
		}
		st.spoke = true
		w.message(h, body, st)
	case Result:
		w.result(h, body, st, live)
	case Credit:
		if h.Stream == 0 && w.charged {
			return
		}
		if !live {
			w.t.Fatalf("%+v on %+v", h, st)
		}
	case Cancel:
		if !live {
			w.t.Fatalf("%+v on %+v", h, st)
		}
		st.cancelled = true
	case Ping:
		if h.Flags&FlagAck != 0 {
			w.acks--
		}
	case GoAway:
		w.drained = w.drained || h.Flags&FlagAck != 0
	}
	if w.acks < 0 || w.refused < 0 {
		w.t.Fatalf("%+v was not asked for", h)
	}
}

func (w *watcher) call(h *Header, body []byte, old *watched) {
	w.t.Helper()
	generation := uint16(1)
	if old != nil {
		generation = old.id.Generation()%maxGeneration + 1
	}
	if old != nil && old.open || h.Stream.Generation() != generation || h.Code != 0 && !w.defined[h.Code] || w.drained {
		w.t.Fatalf("%+v after %+v", h, old)
	}
	st := &watched{id: h.Stream, open: true, window: w.window, codec: h.Codec, oneWay: h.Flags&FlagOneWay != 0}
	w.own[h.Stream.Slot()] = st
	w.message(h, body, st)
}

func (w *watcher) result(h *Header, body []byte, st *watched, live bool) {
	w.t.Helper()
	if h.Stream.Slot() > w.s.options.Local.Calls {
		if w.refused--; h.Flags&FlagRefused == 0 {
			w.t.Fatalf("%+v without a slot", h)
		}
		return
	}
	if !live || h.Flags&FlagRefused != 0 && st.spoke || h.Code == 0 && st.message || st.oneWay && h.Flags&FlagMsg != 0 {
		w.t.Fatalf("%+v on %+v", h, st)
	}
	st.open = false
	w.message(h, body, st)
}

// message judges the body of a frame, and spends the window.
func (w *watcher) message(h *Header, body []byte, st *watched) {
	w.t.Helper()
	more := h.Flags&FlagMore != 0 && h.Type != Result
	b, err := ParseBody(h, body, more && !st.message, &w.s.remote)
	if err == nil && h.Type == Result && h.Code != 0 {
		_, _, err = ParseStatus(b.Payload)
	}
	if err != nil {
		w.t.Fatalf("%+v: %v", h, err)
	}
	end := h.Flags&FlagEnd != 0 && h.Type != Result
	if end && st.message && h.Flags&FlagMsg == 0 {
		w.t.Fatalf("%+v inside a message", h)
	}
	st.ended = st.ended || end
	if h.Flags&FlagMsg == 0 {
		return
	}
	cost := int64(len(b.Payload) + frameCost)
	switch {
	case h.Type != Data || h.Flags&FlagPool == 0:
		st.window -= cost
	case cost <= st.window:
		w.t.Fatalf("%+v is charged to the pool, and the window holds it", h)
	default:
		w.pool -= int64(len(body) + frameCost)
	}
	if st.window < 0 || w.pool < 0 {
		w.t.Fatalf("%+v overspends: window %d, pool %d", h, st.window, w.pool)
	}
	switch {
	case st.message && (st.codec != h.Codec || st.packed != h.Compression):
		w.t.Fatalf("%+v inside a message in %d, %d", h, st.codec, st.packed)
	case !st.message:
		st.total, st.got = b.Total, 0
		if !more {
			st.total = uint32(len(b.Payload))
		}
	}
	st.codec, st.packed = h.Codec, h.Compression
	st.got += uint64(len(b.Payload))
	if st.got > uint64(st.total) || !more && st.got != uint64(st.total) {
		w.t.Fatalf("%+v makes %d bytes of %d", h, st.got, st.total)
	}
	if st.message = more; !more && st.oneWay && !st.ended {
		w.t.Fatalf("%+v ends a one-way message without END", h)
	}
}
