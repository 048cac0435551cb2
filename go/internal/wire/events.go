package wire

// Method is a name that calls go to. Index is a small number that stays the
// same for the name as long as the process lives; sessions use it instead of
// hashing the name. A negative one has the name sent with each call.
type Method struct {
	Name  string
	Index int
}

// Binding is a name that the peer gave an id. Value is for the layer above to
// remember what it found under the name.
type Binding struct {
	Name  string
	Value any
}

// Incoming is a CALL as Events.Accept sees it.
type Incoming struct {
	Method      *Binding
	Metadata    Metadata
	Own         *Own   // the protocol's own metadata, nil when there is none
	Payload     []byte // points into the input; valid during Accept only
	HasMessage  bool   // Payload is the first message, whole
	End         bool   // nothing follows
	OneWay      bool
	Codec       uint8 // by this side's numbers
	Compression uint8
	Deadline    int64 // in the session's time, 0: none
	Cost        Cost  // of the message, for Consumed
	Refused     bool  // refused whatever Accept says, unless Accept finds a fault in it
}

// Refusal says why a call is not started. RetryAfter is in milliseconds; 0
// asks the caller not to repeat the call.
type Refusal struct {
	Code       Code
	Message    string
	Details    []Detail
	RetryAfter uint32
	Codec      bool // what is at fault is the codec
}

// Ending is how a call ended, as the callee says it or the caller learns it.
type Ending struct {
	Code       Code
	Message    string
	Details    []Detail
	Metadata   Metadata // trailers
	Own        *Own     // the protocol's own entries among them, nil when there are none
	Delivery   Delivery
	RetryAfter uint32 // milliseconds, with Delivery Refused
	ServerTime uint32 // microseconds, otherwise
	Local      bool   // this side ended the call, which is its own: nothing came from the callee
	Stripped   bool   // details were dropped, or the message shortened, on the way

	// The last message, when RESULT carried it. On the way in it points into
	// the input and is valid during Events.Ended only.
	Payload     []byte
	HasMessage  bool
	Compression uint8
}

// Reasons to give to Session.Cancel (section 7.7).
const (
	CancelGivenUp  uint32 = iota // the caller wants no more of it
	CancelDeadline               // its deadline passed
	CancelUnusable               // it cannot take the answer
)

// Events is the layer above, called by the methods of a Session that take
// something in, end calls or take what is to be written. An
// implementation must not call back into the session except where said, and
// must not keep the slices that point into the input.
type Events interface {
	// Accept is asked for each call that the peer opens: a stream to track it by, or a refusal. It
	// judges the method and the codec; everything else about the CALL has been judged. When the
	// handler is not to start at once it calls Stream.Hold. For a CALL with Refused set, the stream
	// is ignored; only a fault in the CALL itself takes precedence (section 4.6).
	Accept(in *Incoming) (*Stream, *Refusal)
	// Message hands up a whole message. Its cost is to be given to Consumed later. If owned is set,
	// the receiver keeps payload; else payload points into the input.
	Message(st *Stream, payload []byte, compression uint8, cost Cost, owned bool)
	// HalfClosed says that the caller sends no more messages.
	HalfClosed(st *Stream)
	// Stopped tells the callee that its call was ended without it: by the
	// caller (Canceled, or DeadlineExceeded), by its deadline, by the loss of
	// the connection (Canceled) or by a limit. The RESULT is on its way.
	Stopped(st *Stream, code Code)
	// Unserved tells the callee that a call was answered without its handler, or
	// that the handler refused it: the RESULT has REFUSED, or else CUT. st is nil
	// for a call that was never tracked, of which method is the name where that is
	// known. It must not call back.
	Unserved(st *Stream, method string, refused bool, code Code, message string)
	// EarlyMetadata hands the caller the metadata of the first DATA.
	EarlyMetadata(st *Stream, m Metadata)
	// Ended tells the caller how its call ended, once. The stream may be used
	// anew from then on.
	Ended(st *Stream, e *Ending)
	// Sent says that the message that had to wait was appended, be it one of
	// Open, Send or Finish.
	Sent(st *Stream)
	// PeerReady says that the peer's preface arrived.
	PeerReady(p *Preface)
	// PeerGoesAway says that the peer asked for no more calls. With
	// GoAwayNotServed this side's calls end behind it, with the message why.
	PeerGoesAway(reason uint32, text string) (why string)
}
