package wire

// Bounds on what waits in memory for the peer to read (spec/limits.md).
const (
	// largeUnsent is how much may be unsent before pieces of large messages
	// wait their turn.
	largeUnsent = 128 << 10
	// ordinaryUnsent is how much may be unsent before a stream's sender waits.
	ordinaryUnsent = 1 << 20
	// maxOwed bounds stateless refusals and PING ACKs that are unsent.
	maxOwed = 1024
	// cancelPatience is how long the RESULT may take after a CANCEL.
	cancelPatience = 30e9
	// maxPromised bounds the totals of cut messages in progress.
	maxPromised = 256 << 20
)

// Method is a name that calls go to. Index is a small number that stays the
// same for the name as long as the process lives; sessions use it instead of
// hashing the name. A negative one has the name sent with each call.
type Method struct {
	Name  string
	Index int
}

// Binding is a name that the peer gave an id. Value is for the floor above to
// remember what it found under the name.
type Binding struct {
	Name  string
	Value any
}

// Incoming is a CALL as Events.Accept sees it.
type Incoming struct {
	Method      *Binding
	Metadata    Metadata
	Payload     []byte // points into the input; valid during Accept only
	HasMessage  bool   // Payload is the first message, whole
	End         bool   // nothing follows
	OneWay      bool
	Codec       uint8
	Compression uint8
	Deadline    int64  // in the session's time, 0: none
	Cost        uint32 // of the message, for Consumed
}

// Refusal says why a call is not started. RetryAfter is in milliseconds; 0
// asks the caller not to repeat the call.
type Refusal struct {
	Code       Code
	Message    string
	RetryAfter uint32
}

// Ending is how a call ended, as the callee says it or the caller learns it.
type Ending struct {
	Code       Code
	Message    string
	Details    []Detail
	Metadata   Metadata // trailers
	Delivery   Delivery
	RetryAfter uint32 // milliseconds, with Delivery Refused
	ServerTime uint32 // microseconds, otherwise

	// The last message, when RESULT carried it. On the way in it points into
	// the input and is valid during Events.Ended only.
	Payload     []byte
	HasMessage  bool
	Compression uint8
}

// Events is the floor above, called during Receive, Tick and Close. An
// implementation must not call back into the session except where said, and
// must not keep the slices that point into the input.
type Events interface {
	// Accept is asked for each call that the peer opens: a stream to track it
	// by, or a refusal.
	Accept(in *Incoming) (*Stream, *Refusal)
	// Message hands up a whole message, whose cost is due to Consumed later.
	// owned says that payload is the receiver's to keep, else it points into
	// the input.
	Message(st *Stream, payload []byte, compression uint8, cost uint32, owned bool)
	// HalfClosed says that the caller sends no more messages.
	HalfClosed(st *Stream)
	// Stopped tells the callee that its call was ended without it, by the
	// caller (code Canceled) or by its deadline; the RESULT is on its way.
	Stopped(st *Stream, code Code)
	// EarlyMetadata hands the caller the metadata of the first DATA.
	EarlyMetadata(st *Stream, m Metadata)
	// Ended tells the caller how its call ended, once. The stream may be used
	// anew from then on.
	Ended(st *Stream, e *Ending)
	// Sent says that the message that had to wait was appended.
	Sent(st *Stream)
	// PeerReady says that the peer's preface arrived.
	PeerReady(p *Preface)
	// PeerGoesAway says that the peer asked for no more calls.
	PeerGoesAway(reason uint32, text string)
}

// Options are what a session is made with; zero fields mean the default.
type Options struct {
	Acceptor          bool // this side accepted the connection
	Local             Settings
	KeepaliveInterval int64 // nanoseconds without input before a PING; 0: none
	KeepaliveTimeout  int64 // nanoseconds after it before the peer is given up
	// Grab, if set, gives an empty buffer for outgoing bytes whenever the last
	// was taken.
	Grab func() []byte
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
	ready    bool // the peer's preface has arrived
	now      int64
	out      []byte
	appended uint64 // outgoing bytes ever appended
	moved    uint64 // outgoing bytes ever taken by the writer

	calls     []calling // by slot-1: calls that this side opened
	taken     slotSet
	openCalls int
	resultBy  int64 // no overdue RESULT before then; 0: none is awaited
	overdue   bool
	ids       []uint16 // by Method.Index: the id that this side gave the name
	lastID    uint16

	served       []serving // by slot-1: calls that the peer opened
	openServed   int
	bindings     []*Binding // by id
	nextDeadline int64      // no deadline of a served call is earlier; 0: none

	ring     []*Stream // streams whose waiting message can go on
	owed     int       // stateless refusals and PING ACKs in out
	promised uint64

	lastReceived int64
	pingSent     int64 // 0: none outstanding

	sentGoAway, sentDrained bool
	peerGoAway, peerDrained bool

	incoming Incoming // handed to Accept, reused
	ending   Ending   // handed to Ended, reused
}

// NewSession begins a session; an initiator's preface is appended at once, an
// acceptor's when the peer's has arrived.
func NewSession(events Events, o Options, now int64) *Session {
	s := &Session{events: events, options: o, remote: DefaultSettings(), now: now, lastReceived: now}
	if !o.Acceptor {
		s.appendPreface()
	}
	return s
}

func (s *Session) appendPreface() {
	s.gather()
	n := len(s.out)
	s.out = AppendPreface(s.out, &Preface{Version: Version, Highest: Version, Settings: s.options.Local})
	s.appended += uint64(len(s.out) - n) //nolint:gosec // it grew
}

// Remote returns the peer's limits: defaults until its preface arrived.
func (s *Session) Remote() *Settings { return &s.remote }

// OpenCalls is the number of calls that this side has open.
func (s *Session) OpenCalls() int { return s.openCalls }

// OpenServed is the number of calls that the peer has open.
func (s *Session) OpenServed() int { return s.openServed }

// Unsent is the number of bytes that wait to be taken.
func (s *Session) Unsent() int { return len(s.out) }

// Now is the time of the input that is being taken in.
func (s *Session) Now() int64 { return s.now }

// HasOutput reports whether Take would return anything.
func (s *Session) HasOutput() bool { return len(s.out) > 0 || len(s.ring) > 0 }

// Take returns what is to be written now. Pieces of large messages are
// appended first, a round of them while little is unsent.
func (s *Session) Take() []byte {
	if len(s.ring) > 0 {
		s.fill()
	}
	taken := s.out
	s.out = nil
	s.moved += uint64(len(taken))
	s.owed = 0
	return taken
}

// Moved is the number of bytes that Take has returned so far.
func (s *Session) Moved() uint64 { return s.moved }

// frame appends a header whose body follows.
func (s *Session) frame(h Header) {
	s.gather()
	s.out = AppendHeader(s.out, h)
}

func (s *Session) gather() {
	if s.out == nil && s.options.Grab != nil {
		s.out = s.options.Grab()
	}
}

func (s *Session) control(h Header) {
	s.frame(h)
	s.appended += HeaderSize
}

// GoAway asks the peer to open no more calls and says that this side opens
// none either. A reason other than 0 announces the end of the connection.
func (s *Session) GoAway(reason uint32, text string) {
	if !s.sentGoAway || reason != 0 {
		s.sentGoAway = true
		s.gather()
		n := len(s.out)
		s.out = AppendGoAway(s.out, reason, text)
		s.appended += uint64(len(s.out) - n) //nolint:gosec // it grew
	}
	s.sayDrained()
}

func (s *Session) sayDrained() {
	if !s.sentDrained {
		s.sentDrained = true
		s.control(Header{Type: GoAway, Flags: FlagAck})
	}
}

// AcceptsCalls reports whether Open can succeed, a free slot apart.
func (s *Session) AcceptsCalls() bool { return !s.sentDrained }

// Asked reports whether this side sent GOAWAY.
func (s *Session) Asked() bool { return s.sentGoAway }

// PeerDrained reports whether the peer said that it opens no more calls.
func (s *Session) PeerDrained() bool { return s.peerDrained }

// Drained reports whether both sides said that they open no more calls and no
// call is open: the connection can be closed with nothing lost (section 9.3).
func (s *Session) Drained() bool {
	return s.sentDrained && s.peerDrained && s.openCalls == 0 && s.openServed == 0
}

// Tick acts on the time: it ends served calls past their deadline, sends
// PINGs, and fails when the peer has been silent for too long. It returns when
// it wants to be called next, 0 for never.
func (s *Session) Tick(now int64) (next int64, err *Error) {
	s.now = now
	if s.nextDeadline != 0 && now >= s.nextDeadline {
		s.expire(now)
	}
	if s.resultBy != 0 && now >= s.resultBy {
		s.findOverdue(now)
	}
	next = s.nextDeadline
	if s.resultBy != 0 && (next == 0 || s.resultBy < next) {
		next = s.resultBy
	}
	if interval := s.options.KeepaliveInterval; interval > 0 {
		due := s.lastReceived + interval
		if s.pingSent == 0 && now >= due {
			s.pingSent = now
			s.control(Header{Type: Ping, Word: uint32(now >> 10)}) //nolint:gosec // opaque to the peer
		}
		if s.pingSent != 0 {
			if due = s.pingSent + s.options.KeepaliveTimeout; now >= due {
				return 0, violation(ErrSilence, "the peer has been silent for %d ms", (now-s.lastReceived)/1e6)
			}
		}
		if next == 0 || due < next {
			next = due
		}
	}
	return next, nil
}

func (s *Session) expire(now int64) {
	s.nextDeadline = 0
	for i := range s.served {
		st := s.served[i].stream
		if st == nil || st.deadline == 0 {
			continue
		}
		if st.deadline <= now {
			s.cut(st, DeadlineExceeded, "the deadline passed on the callee's side")
			s.events.Stopped(st, DeadlineExceeded)
		} else if s.nextDeadline == 0 || st.deadline < s.nextDeadline {
			s.nextDeadline = st.deadline
		}
	}
}

func (s *Session) findOverdue(now int64) {
	s.resultBy = 0
	for i := range s.calls {
		entry := &s.calls[i]
		switch {
		case entry.stream != abandoned:
		case entry.resultBy <= now:
			s.overdue = true
		case s.resultBy == 0 || entry.resultBy < s.resultBy:
			s.resultBy = entry.resultBy
		}
	}
}

// Overdue reports that the peer has not ended a call long after its CANCEL:
// the connection should be replaced, though not under calls that still run.
func (s *Session) Overdue() bool { return s.overdue }

// NextDeadline is the earliest time at which a served call may expire, 0: none.
func (s *Session) NextDeadline() int64 { return s.nextDeadline }

// Close ends every open call after the connection was lost. passed is how many
// outgoing bytes may have reached the peer: calls that stand wholly behind
// them are not_sent, the others unknown.
func (s *Session) Close(passed uint64, reason string) {
	s.endCalls(passed, reason)
	s.endServed(false)
}

// EndInput is Close for a peer that half-closed after it said that it opens no
// more calls: those it sent whole are still answered.
func (s *Session) EndInput(passed uint64, reason string) {
	s.endCalls(passed, reason)
	s.endServed(true)
}

func (s *Session) endCalls(passed uint64, reason string) {
	for i := range s.calls {
		st := s.calls[i].stream
		if st == nil {
			continue
		}
		s.vacate(uint32(i) + 1) //nolint:gosec // at most 2^20
		if st == abandoned {
			continue
		}
		delivery := DeliveryUnknown
		if st.sentAt >= passed {
			delivery = NotSent
		}
		s.close(st)
		s.ending = Ending{Code: Unavailable, Message: reason, Delivery: delivery}
		s.events.Ended(st, &s.ending)
	}
}

func (s *Session) endServed(keepWhole bool) {
	for i := range s.served {
		if st := s.served[i].stream; st != nil && !(keepWhole && st.has(streamRemoteEnd)) {
			s.detach(st)
			s.events.Stopped(st, Canceled)
		}
	}
}
