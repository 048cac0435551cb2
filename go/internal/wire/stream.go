package wire

// frameCost is what a frame with a message costs beyond its payload
// (section 9.1).
const frameCost = HeaderSize

// streamState is a set of the facts that decide what may come next: the states
// of the tables in section 7, taken apart. A stream that is not open is free;
// one of a callee is receiving while it is held, else running.
type streamState uint16

const (
	streamOpen      streamState = 1 << iota // holds a slot
	streamCaller                            // this side opened the call
	streamLocalEnd                          // caller: END was appended
	streamRemoteEnd                         // callee: END has arrived
	streamAnswered                          // caller: the first DATA of the answer has arrived
	streamReturned                          // callee: the handler returned, but RESULT has to wait
	streamInRing                            // stands in Session.ring
	streamInQueue                           // stands in Session.queue
	streamHeld                              // callee: the handler was not started
	streamOneWay                            // the CALL had ONEWAY
	streamSpoken                            // DATA was appended
	streamSingle                            // the other side is to send exactly one message
	streamBegun                             // the other side has sent a message, or a piece of one
)

// Stream is one call as its session sees it. The layer above embeds it in its
// own object and sets Owner; everything else belongs to the session and is
// guarded by what guards the session.
type Stream struct {
	Owner any // the object of the layer above that embeds the stream

	id         StreamID
	state      streamState
	codec      uint8
	sendWindow int64  // what the peer lets us send
	recvWindow int64  // what we let the peer send
	sentAt     uint64 // caller: where in the outgoing bytes the CALL stands
	deadline   int64  // when this side ends it, in the session's time; 0: never
	flow       *flow
}

// flow is what only streams with more than one small message need.
type flow struct {
	// Receiving.
	assembling bool   // a cut message is in progress
	packed     uint8  // its compression
	codec      uint8  // the codec of its pieces
	total, got uint32 // its length, and how much of it has arrived
	message    []byte // what has arrived, unless nobody wants it
	room       int    // memory that message takes up
	since      int64  // when it began, later by the time in which its sender could send nothing
	withheld   Cost   // of its pieces while earlier messages are unconsumed
	unconsumed int    // whole messages handed up and not consumed yet
	due        uint32 // what they cost of the window
	owed       uint32 // credit due and not sent
	credit     unsentCredit
	held       uint64 // bytes of messages handed up and not consumed yet
	heldSince  uint64 // which of the session's holdings it is, while something is held

	// Receiving from the pool.
	charged uint32 // what frames have cost that was not given back
	anew    uint32 // of that, what was granted anew
	lain    uint32 // what was charged when the pool was last looked at
	moved   bool   // some of it was given back since

	// Sending: at most one message waits.
	pending      []byte
	hasPending   bool
	queued       int // memory of pending that counts as a queued answer
	compression  uint8
	begun        bool  // its first piece was appended
	passed       int   // how much of it was appended
	waitingSince int64 // since when it is seen to wait; 0: it is not yet
	end          bool  // END follows it
	result       *Ending
}

// Open reports whether the stream still holds its slot.
func (st *Stream) Open() bool { return st.state&streamOpen != 0 }

// Deadline is when this side ends the call, in the session's time; 0: never.
func (st *Stream) Deadline() int64 { return st.deadline }

// Hold says that the handler of a call that is being accepted does not start yet. Until
// Session.Start, any other end of the call than the handler's own is a refusal, which proves that
// the handler never ran.
func (st *Stream) Hold() { st.state |= streamHeld }

// ExpectOne says that exactly one message is to come from the other side (section 7.4). The first
// frame of a second message ends the call. At the callee so does END without a message. It is to be
// called in Events.Accept or, by a caller, before Session.Open, which keeps it.
func (st *Stream) ExpectOne() { st.state |= streamSingle }

func (st *Stream) has(f streamState) bool { return st.state&f != 0 }

func (st *Stream) needFlow() *flow {
	if st.flow == nil {
		st.flow = &flow{}
	}
	return st.flow
}

// assembling reports whether a cut message is in progress.
func (st *Stream) assembling() bool { return st.flow != nil && st.flow.assembling }
