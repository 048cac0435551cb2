package wire

// frameCost is what a frame with a message costs beyond its payload
// (section 6.1).
const frameCost = HeaderSize

// streamState is a set of the facts that decide what may come next; the
// tables in section 5 of spec/protocol.md are written in these words.
type streamState uint8

const (
	streamOpen      streamState = 1 << iota // holds a slot
	streamCaller                            // this side opened the call
	streamLocalEnd                          // caller: END was appended
	streamRemoteEnd                         // callee: END has arrived
	streamAnswered                          // caller: the first DATA of the answer has arrived
	streamReturned                          // callee: the handler returned, its last message is still queued
	streamInRing                            // stands in Session.ring
)

// Stream is one call as its session sees it. The floor above embeds it in its
// own object and sets Owner; everything else belongs to the session and is
// guarded by what guards the session.
type Stream struct {
	Owner any // the object of the floor above that embeds the stream

	id         StreamID
	state      streamState
	codec      uint8
	sendWindow int64  // what the peer lets us send
	recvWindow int64  // what we let the peer send
	sentAt     uint64 // caller: where in the outgoing bytes the CALL stands
	deadline   int64  // callee: when it ends, in the session's time; 0: never
	flow       *flow
}

// flow is what only streams with more than one small message need.
type flow struct {
	// Receiving.
	assembling bool   // a cut message is in progress
	total, got uint32 // its length, and how much of it has arrived
	packed     uint8  // its compression
	message    []byte // what has arrived, unless nobody wants it
	unconsumed int    // whole messages handed up and not consumed yet
	withheld   uint32 // cost of pieces that wait for those
	owed       uint32 // credit due and not sent

	// Sending: at most one message waits.
	pending     []byte
	hasPending  bool
	compression uint8
	begun       bool // its first piece was appended
	end         bool // END follows it
	result      *Ending
}

// ID is the identity of the stream on the wire, for logs.
func (st *Stream) ID() StreamID { return st.id }

// Codec is the codec named in the CALL.
func (st *Stream) Codec() uint8 { return st.codec }

// Open reports whether the stream still holds its slot.
func (st *Stream) Open() bool { return st.state&streamOpen != 0 }

// Deadline is when the callee ends the call, in the session's time; 0: never.
func (st *Stream) Deadline() int64 { return st.deadline }

func (st *Stream) has(f streamState) bool { return st.state&f != 0 }

func (st *Stream) needFlow() *flow {
	if st.flow == nil {
		st.flow = &flow{}
	}
	return st.flow
}

// assembling reports whether a cut message is in progress.
func (st *Stream) assembling() bool { return st.flow != nil && st.flow.assembling }

// dropOutgoing forgets the message that waits to be sent.
func (st *Stream) dropOutgoing() {
	if f := st.flow; f != nil {
		f.pending, f.hasPending, f.begun, f.end, f.result = nil, false, false, false, nil
	}
}
