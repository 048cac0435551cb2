package wire

// Bounds on what waits in memory for the peer to read (spec/limits.md).
const (
	// largeUnsent is how much may be unsent before pieces of large messages
	// wait their turn.
	largeUnsent = 128 << 10
	// aloneUnsent is the same while no other call is open, which would wait. A message of
	// a mebibyte leaves with one write, and the RESULT behind it.
	aloneUnsent = 1<<20 + largeUnsent
	// leastSplice is what is cheaper to write from where it lies than to copy.
	leastSplice = 8 << 10
	// ordinaryUnsent is how much may be unsent before a stream's sender waits.
	ordinaryUnsent = 1 << 20
	// maxOwed bounds stateless refusals and PING ACKs that are unsent.
	maxOwed = 1024
	// maxPromised bounds the totals of cut messages in progress.
	maxPromised = 256 << 20
)

// RoomRetry is how long, in milliseconds, callers are asked to wait whose calls were refused because there
// was no room for them in memory. It is one value for all protocols and all such bounds, since the same
// ends of calls make room: it is soon, and a call that comes too early is refused again.
const RoomRetry = 10

// Options are what a session is made with.
type Options struct {
	Acceptor          bool // this side accepted the connection
	Local             Settings
	Codecs            string // that the layer above knows, for the text of refusals
	KeepaliveInterval int64  // nanoseconds without input before a PING; 0: none
	KeepaliveTimeout  int64  // nanoseconds after it before the peer is given up
	// MaxPool is what the pool may grow to. If it is not above Local.Pool, the pool never grows and
	// the path is not measured.
	MaxPool uint32
	// Budget, if set, is shared with other sessions.
	Budget *Budget
	// Shed is called when this session is to free memory. It is called under locks of other
	// sessions, so Session.Shed must be called on another goroutine.
	Shed func()
	// Room, if set, gives memory for outgoing bytes: it returns out with room for
	// at least n more, copied if need be. out is nil after the last was taken.
	Room func(out []byte, n int) []byte
	// With Splice, pieces of large messages are not copied to the output: TakeSpliced returns them
	// where they lie. They belong to the session until what was taken after Events.Sent is written.
	Splice bool
	// Buffer and Recycle, if set, give and take back memory for cut messages:
	// an empty slice with room for at least n bytes. A message that was handed
	// up belongs to the layer above.
	Buffer  func(n int) []byte
	Recycle func([]byte)
}

type serving struct {
	stream *Stream
	freeAt uint64 // the slot is free once this many outgoing bytes have moved to the writer
	last   uint16 // generation last used
}

type calling struct {
	stream   *Stream // abandoned, once the call was given up
	resultBy int64   // when the RESULT of a call that was given up is overdue
	last     uint16
}

// abandoned stands in the slot of a call that was given up and whose RESULT
// has not come yet, so that the caller's own object is free at once.
var abandoned = &Stream{state: streamOpen | streamCaller}

// Session is all streams of one connection. Bytes that the peer sent go in
// through Receive; what is to be written gathers in an outgoing buffer that
// the caller takes with Take. Time is nanoseconds on any monotonic scale.
type Session struct {
	events   Events
	options  Options
	remote   Settings
	now      int64
	out      []byte
	splices  []Splice
	spliced  int    // bytes of splices
	appended uint64 // outgoing bytes ever appended
	moved    uint64 // outgoing bytes ever taken by the writer

	greeted  bool // this side's preface was appended
	ready    bool // the peer's has arrived
	unspoken bool // the acceptor does not speak the version it was offered, or serves nothing: calls are refused

	calls     []calling // by slot-1: calls that this side opened
	taken     slotSet
	openCalls int
	overdue   bool
	ids       []uint16 // by Method.Index: the id that this side gave the name
	lastID    uint16

	served     []serving // by slot-1: calls that the peer opened
	openServed int
	bindings   []*Binding // by id

	ring     []*Stream // streams whose waiting message can go on
	queue    []*Stream // streams whose waiting message neither their window nor the pool holds
	poolRoom int64     // what the peer's pool has left
	pool     pool      // what the peer has of this side's
	owed     int       // stateless refusals and PING ACKs in out
	promised uint64
	held     uint64 // bytes of messages handed up and not consumed yet

	// What the budget is drawn on for, held apart (budget.go).
	assembled int    // memory of messages in progress
	queued    int    // answers that wait for their turn or for credit
	inFlight  int    // bytes that were taken and may not be written yet
	share     Share  // of the budget
	holdings  uint64 // how often a call has begun to hold something

	handshakeBy  int64 // when the peer's preface is overdue
	wakeAt       int64 // when Tick has something to do, keepalive apart; 0: never
	lookedAt     int64 // when it last did
	lastReceived int64
	lastPing     int64 // when the last PING was appended; 0: never
	pingSent     int64 // when the PING was that nothing has answered yet; 0: there is none
	graceBy      int64 // before then nobody's silence is judged

	sentGoAway, sentDrained bool
	goAwayAt                int64
	farewell                string // text of a GOAWAY that waits for this side's preface
	peerGoAway, peerDrained bool
	peerEnds                bool // its GOAWAY gave a reason other than draining

	incoming Incoming // handed to Accept, reused
	ending   Ending   // handed to Ended, reused
}

// NewSession begins a session; an initiator's preface is appended at once, an
// acceptor's when the peer's has arrived.
func NewSession(events Events, o Options, now int64) *Session {
	s := &Session{
		events: events, options: o, remote: DefaultSettings(),
		pool: newPool(o.Local.Pool),
		now:  now, lastReceived: now, handshakeBy: now + handshakePatience, wakeAt: now + handshakePatience,
	}
	s.share.Budget, s.share.Shed = o.Budget, o.Shed
	if !o.Acceptor {
		s.appendPreface()
	}
	return s
}

func (s *Session) appendPreface() {
	s.greeted = true
	s.room(HeaderSize)
	n := len(s.out)
	s.out = AppendPreface(s.out, &Preface{Version: Version, Highest: Version, Settings: s.options.Local})
	s.appended += uint64(len(s.out) - n)
}

// Remote returns the peer's limits: defaults until its preface arrived.
func (s *Session) Remote() *Settings { return &s.remote }

// OpenCalls is the number of calls that this side has open.
func (s *Session) OpenCalls() int { return s.openCalls }

// OpenServed is the number of calls that the peer has open.
func (s *Session) OpenServed() int { return s.openServed }

// Unsent is the number of bytes that wait to be taken.
func (s *Session) Unsent() int { return len(s.out) + s.spliced }

// Advance tells the session the time, before it is asked for something that
// other than input or Tick caused.
func (s *Session) Advance(now int64) { s.now = max(s.now, now) }

// Now is the time of the input that is being taken in.
func (s *Session) Now() int64 { return s.now }

// HasOutput reports whether Take would return anything.
func (s *Session) HasOutput() bool { return len(s.out) > 0 || len(s.ring) > 0 || s.queueMoves() }

// Take returns what is to be written now. Pieces of large messages are
// appended first, a round of them while little is unsent.
func (s *Session) Take() []byte {
	taken, splices := s.TakeSpliced()
	if len(splices) == 0 {
		return taken
	}
	var whole []byte
	from := 0
	for _, splice := range splices {
		whole = append(append(whole, taken[from:splice.At]...), splice.Payload...)
		from = splice.At
	}
	return append(whole, taken[from:]...)
}

// Splice is a part of what was taken that lies elsewhere.
type Splice struct {
	At      int // how many of the bytes taken come before it
	Payload []byte
}

// TakeSpliced is Take for a writer that can write from several places.
func (s *Session) TakeSpliced() (taken []byte, splices []Splice) {
	if len(s.ring) > 0 || s.queueMoves() {
		s.fill()
	}
	taken, splices = s.out, s.splices
	s.inFlight = s.Unsent()
	s.moved += uint64(s.inFlight)
	s.out, s.splices, s.spliced = nil, nil, 0
	s.owed = 0
	return taken, splices
}

// Moved is the number of bytes that Take has returned so far.
func (s *Session) Moved() uint64 { return s.moved }

// frame appends a header, behind which n bytes of its body are appended next.
func (s *Session) frame(h Header, n int) {
	s.room(HeaderSize + n)
	s.out = AppendHeader(s.out, h)
}

// room sees to memory for n more bytes. What is appended beyond them finds its own.
func (s *Session) room(n int) {
	if cap(s.out)-len(s.out) < n && s.options.Room != nil {
		s.out = s.options.Room(s.out, n)
	}
}

func (s *Session) control(h Header) {
	s.frame(h, 0)
	s.appended += HeaderSize
}
