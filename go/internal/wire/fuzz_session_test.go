package wire

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// FuzzSession runs a script of bytes: frames from the peer, right or wrong,
// mixed with what the layer above may do. A watcher judges all that the session
// appends.
func FuzzSession(f *testing.F) {
	file := loadVectors(f, "frames")
	for _, v := range slices.Concat(file.readable(), file.Invalid) {
		if data := v.bytes(); len(data) < 200 {
			role := byte(0)
			if v.Receiver == "initiator" {
				role = 1
			}
			f.Add(append([]byte{role, 0, 1, byte(len(data))}, data...))
		}
	}
	for seed := range byte(24) { // scripts without meaning, but with many actions
		script := []byte{seed, seed >> 1}
		for i := range 300 {
			script = append(script, byte(i*int(seed+3)*37>>2)^byte(i))
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 2 || len(script) > 4000 {
			return
		}
		runScript(t, script)
	})
}

// TestSessionScripts runs long scripts that a fuzzer would take long to find.
func TestSessionScripts(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		script := make([]byte, 200+r.IntN(3000))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		script[1] &^= 1
		runScript(t, script)
	}
}

func runScript(t *testing.T, script []byte) {
	w := newWorld(t, script[0], script[1])
	w.script = script[2:]
	for len(w.script) > 0 && !w.over {
		w.act(w.next())
		w.check()
	}
	w.finish()
}

// world is a session under a script.
type world struct {
	t       *testing.T
	s       *Session
	watch   *watcher
	script  []byte
	now     int64
	over    bool
	greeted bool
	input   []byte // not consumed

	own     []*Stream // opened here, in order
	alive   map[*Stream]bool
	served  []*Stream // accepted, in order
	running map[*Stream]bool
	waiting map[*Stream]bool // finished, but RESULT has to wait
	inbox   []message
	peerGen map[uint32]uint16 // the generation last used by the peer
}

func newWorld(t *testing.T, role, shape byte) *world {
	w := &world{t: t, now: second, alive: map[*Stream]bool{}, running: map[*Stream]bool{}, waiting: map[*Stream]bool{}, peerGen: map[uint32]uint16{}}
	local := DefaultSettings()
	local.Compressions = uint16(role>>1&3) << 1
	if role&8 != 0 {
		local.Message = 200_000
	}
	if role&16 != 0 {
		local.Calls = 2
	}
	o := Options{Acceptor: role&1 == 0, Local: local, KeepaliveInterval: 20 * second, KeepaliveTimeout: 20 * second, Room: moving}
	if role&32 != 0 {
		o.Local.Pool, o.MaxPool = 300_000, 1<<20
	}
	w.s = NewSession(w, o, w.now)
	w.watch = watch(t, w.s)
	w.watch.look(w.s.out)
	if shape&1 == 0 {
		w.greet(shape)
	}
	return w
}

func (w *world) greet(shape byte) {
	remote := DefaultSettings()
	remote.Window += uint32(shape>>4) << 13
	remote.Pool = uint32(shape>>5) << 16
	if shape&2 != 0 {
		remote.Calls = uint32(shape >> 2 & 3)
	}
	w.greeted = true
	w.feed(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: remote}))
}

func (w *world) next() byte {
	if len(w.script) == 0 {
		return 0
	}
	b := w.script[0]
	w.script = w.script[1:]
	return b
}

func (w *world) size() int {
	switch b := w.next(); b & 7 {
	case 0:
		return MinPiece - 3 + int(b>>3)&7
	case 1:
		return int(b>>3) << 13
	case 2:
		return int(b>>3) << 6
	default:
		return int(b >> 3)
	}
}

// feed gives the session input and tells the watcher what it took in.
func (w *world) feed(b []byte) {
	w.input = append(w.input, b...)
	wasReady := w.s.ready
	n, err := w.s.Receive(w.input, w.now)
	taken := w.input[:n]
	if !wasReady && n > 0 {
		p, size, _ := ParsePreface(taken)
		w.watch.greeted(&p)
		taken = taken[size:]
	}
	for len(taken) > 0 {
		h := ParseHeader(taken)
		w.watch.received(&h)
		taken = taken[HeaderSize+int(h.Length):]
	}
	if err != nil {
		w.s.Abort(err)
		w.over = true
		return
	}
	if n > 0 {
		w.input = slices.Clone(w.input[n:])
	}
	if len(w.input) > PrefaceSize+MaxSettings+DefaultFrameBody {
		w.t.Fatalf("%d bytes are not consumed", len(w.input))
	}
}

func (w *world) act(op byte) {
	if !w.greeted && op%16 > 10 {
		w.greet(op)
		return
	}
	switch op % 32 {
	case 0:
		if kind := w.next(); kind < 4 {
			n := min(int(w.next()), len(w.script))
			b := w.script[:n]
			w.script = w.script[n:]
			w.feed(b)
		} else if kind < 16 {
			w.feed(w.wild(Type(kind&7 + 1)))
		}
	case 1, 2, 3:
		w.feed(w.peerCall())
	case 4, 5, 6, 7:
		w.feed(w.peerData())
	case 8, 9:
		w.feed(w.peerResult())
	case 10, 11, 12, 13:
		w.feed(w.peerControl())
	case 14, 15, 16:
		w.open()
	case 17, 18:
		w.send(w.pick(w.own), w.next()&1 != 0)
	case 19, 20:
		w.send(w.pick(w.served), false)
	case 21:
		if st := w.pick(w.served); st != nil {
			w.s.SendMetadata(st, Metadata{{"k", "v"}})
		}
	case 22:
		if st := w.pick(w.own); st != nil {
			w.s.CloseSend(st)
		}
	case 23:
		if st := w.pick(w.own); st != nil && w.alive[st] {
			w.s.Cancel(st, uint32(w.next()&3))
			delete(w.alive, st)
		}
	case 24, 25, 26:
		w.answer()
	case 27:
		if len(w.inbox) > 0 {
			m := w.inbox[0]
			w.inbox = w.inbox[1:]
			w.s.Consumed(m.st, m.cost)
		}
	case 28, 29:
		w.take()
	case 30:
		w.now += int64(w.next()) << 26
		if _, err := w.s.Tick(w.now); err != nil {
			w.s.Abort(err)
			w.over = true
		}
	default:
		w.rare(w.next())
	}
}

func (w *world) rare(op byte) {
	switch st := w.pick(w.served); {
	case op < 8:
		w.s.GoAway(uint32(op&7), "text")
	case op < 128 && st != nil:
		if !w.s.Start(st, w.s.Now()) {
			delete(w.running, st)
		}
	case st != nil && st.has(streamHeld):
		w.s.Refuse(st, &Refusal{Code: ResourceExhausted, Message: "no room"})
		delete(w.running, st)
	}
}

func (w *world) pick(list []*Stream) *Stream {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1-int(w.next())%min(len(list), 8)]
}

func (w *world) open() {
	if !w.s.AcceptsCalls() || !w.s.HasSlots(1) {
		return
	}
	b := w.next()
	o := Outgoing{Method: Method{"/m/" + utoa(uint32(b&3)), int(b&3) - 1}, Codec: b & 3, Remaining: uint32(b), End: b&4 != 0}
	if b&8 != 0 {
		o.HasMessage, o.Payload = true, filler(w.size())
	}
	if b&16 != 0 {
		o.Metadata = Metadata{{"key", "value"}, {"x-bin", "\x00"}}
	}
	if b&32 != 0 {
		o.Own = &Own{Attempt: 2}
	}
	o.OneWay = b&64 != 0 && o.HasMessage && o.End
	st := &Stream{}
	w.own, w.alive[st] = append(w.own, st), true
	w.s.Open(st, &o)
}

func (w *world) send(st *Stream, end bool) {
	if st != nil {
		w.s.Send(st, filler(w.size()), w.next()&1, end)
	}
}

func (w *world) answer() {
	st := w.pick(w.served)
	if st == nil {
		return
	}
	b := w.next()
	e := &Ending{Code: Code(b & 3), Delivery: Delivery(b >> 2 & 3), Message: "message", RetryAfter: uint32(b)}
	if b&16 != 0 {
		e.HasMessage, e.Payload = true, filler(w.size())
	}
	if b&32 != 0 {
		e.Metadata = Metadata{{"key", "value"}}
	}
	if b&64 != 0 {
		e.Details = []Detail{{"type", filler(w.size())}}
	}
	if !w.s.Finish(st, e) && st.Open() && !st.has(streamReturned) {
		w.t.Fatal("a finished call is open")
	}
	if w.waiting[st] = st.Open(); st.Open() {
		w.s.Send(st, []byte("after the end"), 0, false)
	}
	delete(w.running, st)
}

func (w *world) take() {
	w.watch.look(w.s.out)
	b := w.s.Take()
	w.watch.look(b)
	if len(b) > 64<<20 {
		w.t.Fatalf("%d bytes were unsent", len(b))
	}
}

// check looks at what must hold at any time.
func (w *world) check() {
	w.t.Helper()
	s := w.s
	if s.appended-s.moved != uint64(len(s.out)) {
		w.t.Fatalf("%d bytes appended, %d moved, %d there", s.appended, s.moved, len(s.out))
	}
	w.watch.look(s.out)
	open, promised, held, charged, anew := 0, uint64(0), uint64(0), int64(0), int64(0)
	count := func(st *Stream) {
		open++
		if f := st.flow; f != nil {
			held += f.held
			charged += int64(f.charged - f.anew)
			anew += int64(f.anew)
		}
		if !st.Open() || st.recvWindow > int64(s.options.Local.Window) || st.sendWindow < 0 || st.sendWindow > MaxWindow {
			w.t.Fatalf("%+v %+v", st, st.flow)
		}
		if f := st.flow; f != nil && f.assembling {
			promised += uint64(f.total)
			if uint32(len(f.message)) > f.got || cap(f.message) > 3*int(f.got)+3*MinPiece {
				w.t.Fatalf("%d bytes held for %d of %d", cap(f.message), f.got, f.total)
			}
		}
	}
	for i := range s.served {
		if st := s.served[i].stream; st != nil {
			count(st)
		}
	}
	if open != s.openServed {
		w.t.Fatalf("%d calls are served, not %d", open, s.openServed)
	}
	open = 0
	for i := range s.calls {
		if st := s.calls[i].stream; st == abandoned {
			open++
		} else if st != nil {
			count(st)
		}
	}
	if open != s.openCalls || promised != s.promised || held != s.held || s.owed > maxOwed+1 {
		w.t.Fatalf("%d calls, not %d; bytes promised %d, not %d; held %d, not %d; %d owed",
			open, s.openCalls, promised, s.promised, held, s.held, s.owed)
	}
	p := s.pool
	if p.left+p.owed+p.charged != p.kept && p.left >= 0 || charged != p.charged || anew != p.anew || anew > maxAnew ||
		p.kept > int64(max(s.options.MaxPool, s.options.Local.Pool)) || p.aim < int64(s.options.Local.Pool) || s.poolRoom < 0 || s.poolRoom > MaxWindow {
		w.t.Fatalf("%+v, %d charged, %d anew, %d of the peer's", p, charged, anew, s.poolRoom)
	}
	for _, st := range s.queue {
		if !st.Open() || !st.has(streamInQueue) {
			w.t.Fatalf("in the queue %+v", st)
		}
	}
	for st := range w.running {
		if !st.Open() {
			w.t.Fatalf("%+v ended and nobody was told", st)
		}
	}
}

// finish loses the connection: everybody is told, once.
func (w *world) finish() {
	w.watch.look(w.s.out)
	w.s.Close(w.s.moved, "lost")
	if len(w.alive) != 0 || len(w.running) != 0 || w.s.openCalls != 0 || w.s.openServed != 0 ||
		w.s.promised != 0 || w.s.held != 0 || w.s.pool.charged != 0 || w.s.pool.anew != 0 || len(w.s.queue) != 0 {
		w.t.Fatalf("after the end: %d own and %d served calls untold, %d and %d open, %d bytes promised, %d held, %d in the queue, %+v",
			len(w.alive), len(w.running), w.s.openCalls, w.s.openServed, w.s.promised, w.s.held, len(w.s.queue), w.s.pool)
	}
}

func (w *world) Accept(in *Incoming) (*Stream, *Refusal) {
	b := w.next()
	if b&3 == 3 {
		return nil, &Refusal{Code: Unavailable, Message: "no", RetryAfter: uint32(b)}
	}
	if in.Refused {
		return nil, nil
	}
	st := &Stream{}
	if b&4 != 0 {
		st.Hold()
	}
	if b&8 != 0 {
		st.ExpectOne()
	}
	w.served, w.running[st] = append(w.served, st), true
	if in.HasMessage {
		w.inbox = append(w.inbox, message{st: st, cost: in.Cost})
	}
	return st, nil
}

func (w *world) Message(st *Stream, payload []byte, _ uint8, cost Cost, _ bool) {
	if !st.Open() || !w.running[st] && !w.alive[st] {
		w.t.Fatal("a message of a call that is over")
	}
	w.inbox = append(w.inbox, message{st: st, cost: cost})
}

func (w *world) HalfClosed(st *Stream) {
	if !w.running[st] {
		w.t.Fatal("the end of a call that is over")
	}
}

func (w *world) Stopped(st *Stream, _ Code) {
	if !w.running[st] && !w.waiting[st] || st.Open() {
		w.t.Fatalf("stopped %+v", st)
	}
	delete(w.running, st)
	delete(w.waiting, st)
}

func (w *world) EarlyMetadata(st *Stream, _ Metadata) {
	if !w.alive[st] {
		w.t.Fatal("metadata of a call that is over")
	}
}

func (w *world) Ended(st *Stream, e *Ending) {
	if !w.alive[st] || st.Open() {
		w.t.Fatalf("ended %+v as %+v", st, e)
	}
	delete(w.alive, st)
}

func (w *world) Sent(st *Stream) {
	if st.has(streamCaller) && !w.alive[st] || !st.has(streamCaller) && !w.running[st] && !w.waiting[st] {
		w.t.Fatal("sent by a call that is over")
	}
}

func (w *world) PeerReady(*Preface)                           {}
func (w *world) Unserved(*Stream, string, bool, Code, string) {}
func (w *world) PeerGoesAway(uint32, string) string           { return "" }
