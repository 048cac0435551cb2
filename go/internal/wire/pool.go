package wire

// The pool (section 9.8): a second window in each direction, which all streams of the connection
// share. poolRoom is what this side may still send from the peer's pool. pool is what the peer may
// send here, and what is owed to it.

const (
	// leastMeasured is how much must be charged to the pool after one measuring PING before the
	// next is sent.
	leastMeasured = 64 << 10
	// measuresWithin: an ACK that is later than that measures nothing.
	measuresWithin = 10e9
	// leastTime is the shortest time over which a rate is measured. Within less, bytes that the
	// socket had gathered come as fast as memory is read.
	leastTime = 1e6
	// The pool is made growth times as large as what the path was seen to hold.
	growth = 8
	// forgets is how long what was learned of the path holds.
	forgets = 600e9
	// idleShrinks is how long nothing is charged before the pool is halved.
	idleShrinks = 60e9
	// lainFor is how long bytes lie in a stream that consumes nothing before they are
	// granted anew.
	lainFor = 1e9
	// maxAnew bounds the bytes that were granted anew and lie in streams.
	maxAnew = 64 << 20
	// wholePiece is what the longest piece costs: with that much a sender never waits.
	wholePiece = MinPiece + frameCost
)

// Cost is what the frames of a message cost, for Session.Consumed.
type Cost struct {
	Window uint32 // of the window of its stream
	Pool   uint32 // of the pool
}

func (c *Cost) add(more Cost) {
	c.Window += more.Window
	c.Pool += more.Pool
}

// pool is what a receiver knows of its pool: left, owed and charged make kept.
type pool struct {
	left    int64 // what the peer may spend
	owed    int64 // due and not granted
	charged int64 // what lies in streams
	kept    int64
	aim     int64 // what kept is to be: less, when that has fallen, until enough was withheld
	anew    int64 // bytes that lie in streams and were granted all the same
	credit  unsentCredit
	known   bool  // a frame was charged, so that the peer knows what CREDIT of it is
	idleAt  int64 // since when nothing is charged, later by the minutes that it was halved for
	lookAt  int64 // when to look for what lies; 0: nothing is charged

	// What aim comes from: of the path, and of the longest message.
	measured, announced int64

	// The measure: what is charged between a PING and its ACK.
	since    int64  // charged since the last PING was sent
	pinged   bool   // the last PING was not answered yet
	word     uint32 // it carried
	pingedAt int64  // when it was sent
	shortest int64  // that an ACK has taken
	forgetAt int64  // when measured and shortest are to be learned anew
}

func newPool(n uint32) pool { return pool{left: int64(n), kept: int64(n), aim: int64(n)} }

// unsentCredit is where the last CREDIT of its kind stands while it is unsent.
type unsentCredit struct {
	end uint64 // how many outgoing bytes there were with it
	at  int    // where in Session.out it ends
}

// charge takes what a frame costs from the pool, whatever becomes of the frame.
func (s *Session) charge(cost uint32) *Error {
	p := &s.pool
	if p.left -= int64(cost); p.left < 0 {
		return violation(ErrCredit, "DATA overspends the pool by %d bytes", -p.left)
	}
	if p.charged == 0 && p.lookAt == 0 {
		p.lookAt = s.now + lainFor
		s.wakeBy(p.lookAt)
	}
	s.shrinkPool()
	p.idleAt = s.now
	p.charged += int64(cost)
	p.since += int64(cost)
	if !p.known {
		p.known = true
		s.owePool(0)
	}
	return nil
}

// shrinkPool halves what is to be kept for each minute that has passed without a
// charge.
func (s *Session) shrinkPool() {
	p := &s.pool
	for ; s.now-p.idleAt >= idleShrinks && p.aim > int64(s.options.Local.Pool); p.idleAt += idleShrinks {
		p.measured /= 2
		p.announced /= 2
		s.resizePool()
	}
}

// makeWay enlarges the pool for a message that begins, so that it need not be found
// out how much of it may be under way.
func (s *Session) makeWay(total uint32) {
	p := &s.pool
	want := int64(total) + int64(total)/2 // less than a quarter is owed and unsent
	s.shrinkPool()
	if want > p.aim && p.kept > 0 {
		p.idleAt = s.now // or the first charge would take this back
		p.announced = min(want, int64(s.options.MaxPool))
		s.resizePool()
	}
}

// resizePool has the pool become what it is to be: larger at once, smaller by and by.
func (s *Session) resizePool() {
	p := &s.pool
	p.aim = max(p.measured, p.announced, int64(s.options.Local.Pool))
	if p.aim > p.kept {
		p.owed += p.aim - p.kept
		p.kept = p.aim
		s.owePool(0)
	}
}

// discharge owes what n bytes that lie in a stream have cost, but for what was
// granted anew already.
func (s *Session) discharge(f *flow, n uint32) {
	if n = min(n, f.charged); n == 0 {
		return
	}
	f.charged -= n
	f.moved = true
	again := min(n, f.anew)
	f.anew -= again
	s.pool.anew -= int64(again)
	s.owePool(int64(n - again))
}

// owePool owes n bytes that were charged, and grants what is owed once that is a
// quarter of the pool.
func (s *Session) owePool(n int64) {
	p := &s.pool
	p.charged -= n
	p.owed += n
	if p.kept > p.aim {
		withheld := min(p.kept-p.aim, p.owed)
		p.kept -= withheld
		p.owed -= withheld
	}
	if p.known && p.owed > 0 && 4*p.owed >= p.kept {
		s.grantPool()
	}
}

// grantPool grants all that is owed.
func (s *Session) grantPool() {
	p := &s.pool
	if !s.grant(&p.credit, 0, p.owed) {
		return
	}
	p.left += p.owed
	p.owed = 0
	if p.since >= leastMeasured && !p.pinged && s.options.MaxPool > s.options.Local.Pool {
		s.ping()
	}
}

// ping appends a PING, which measures the path.
func (s *Session) ping() {
	p := &s.pool
	s.lastPing = s.now
	p.word++
	p.pinged, p.pingedAt, p.since = true, s.now, 0
	s.control(Header{Type: Ping, Word: p.word})
}

// pingAnswered takes the ACK of a PING, and reckons what the path holds: what comes
// over it while the pool is nearly used up, in the shortest time there and back. Most
// of a longer one is a queue, which a larger pool makes longer still.
func (s *Session) pingAnswered(word uint32) {
	p := &s.pool
	if !p.pinged || word != p.word {
		return
	}
	p.pinged = false
	took := max(s.now-p.pingedAt, 1)
	if took > measuresWithin {
		return
	}
	if s.now >= p.forgetAt {
		p.measured, p.shortest, p.forgetAt = 0, took, s.now+forgets
		s.resizePool() // how long the path is now is seen once no queue is left
	}
	if took < p.shortest {
		p.measured = p.measured * took / p.shortest
		p.shortest = took
	}
	if p.kept <= p.aim && 3*p.since >= 2*p.kept {
		holds := float64(p.since) * float64(p.shortest) / float64(max(took, leastTime))
		p.measured = max(p.measured, min(int64(growth*holds), int64(s.options.MaxPool)))
	}
	s.resizePool()
}

// lookAtPool grants anew what has lain in streams since it looked before, so that
// those that stand still leave the pool to the others.
func (s *Session) lookAtPool() {
	p := &s.pool
	p.lookAt = 0
	if p.charged == 0 {
		return
	}
	p.lookAt = s.now + lainFor
	s.wakeBy(p.lookAt)
	for i := range s.served {
		s.grantAnew(s.served[i].stream)
	}
	for i := range s.calls {
		s.grantAnew(s.calls[i].stream)
	}
}

func (s *Session) grantAnew(st *Stream) {
	if st == nil || st.flow == nil {
		return
	}
	f := st.flow
	if !f.moved && f.lain > f.anew && !s.aboveShare() && s.promised+s.held <= maxPromised/2 {
		n := min(int64(f.lain-f.anew), maxAnew-s.pool.anew)
		f.anew += uint32(n)
		s.pool.anew += n
		s.owePool(n)
	}
	f.lain, f.moved = f.charged, false
}

// spend takes what a DATA with a message costs: from the window of its stream, or
// from the peer's pool, which flag says then. It reports whether either holds it.
func (s *Session) spend(st *Stream, payload, body int) (flag Flags, ok bool) {
	if cost := int64(payload + frameCost); cost <= st.sendWindow {
		st.sendWindow -= cost
		return 0, true
	}
	cost := int64(body + frameCost)
	if cost > s.poolRoom {
		return 0, false
	}
	s.poolRoom -= cost
	return FlagPool, true
}

// receivePoolCredit takes CREDIT of the peer's pool. Those that wait for it are let
// go on by fill.
func (s *Session) receivePoolCredit(n uint32) *Error {
	if s.poolRoom += int64(n); s.poolRoom > MaxWindow {
		return violation(ErrCredit, "CREDIT raises the pool above 2^31-1")
	}
	return nil
}

// waitForPool has a stream whose message nothing holds wait for the pool. CREDIT of its
// own lets it go on at any time.
func (s *Session) waitForPool(st *Stream) {
	if !st.has(streamInQueue) {
		st.state |= streamInQueue
		s.queue = append(s.queue, st)
	}
}

// queueMoves reports whether the pool holds what the first in the queue has to send.
func (s *Session) queueMoves() bool {
	return len(s.queue) > 0 && s.queue[0].nextBody() <= s.poolRoom-frameCost
}

// nextBody is the body of the next frame of the message that waits.
func (st *Stream) nextBody() int64 { return int64(min(len(st.flow.pending), MinPiece)) }

// nextInQueue lets the first in the queue try.
func (s *Session) nextInQueue() {
	st := s.queue[0]
	s.queue[0] = nil
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
	}
	st.state &^= streamInQueue
	if st.Open() && st.flow.hasPending {
		s.enter(st)
	}
}
