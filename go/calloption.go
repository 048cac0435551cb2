package trunkcall

// CallOption configures one call.
type CallOption interface{ applyCall(*callOptions) }

type callOptions struct {
	header, trailer *Metadata
	peer            *Peer
	codec           Codec
	send            preference
	waitForReady    bool
	maxReceive      int
}

type callOption func(*callOptions)

func (f callOption) applyCall(o *callOptions) { f(o) }

// Header has the metadata that came ahead of a unary call's answer stored.
func Header(m *Metadata) CallOption { return callOption(func(o *callOptions) { o.header = m }) }

// Trailer has the metadata that came with the end of a unary call stored.
func Trailer(m *Metadata) CallOption { return callOption(func(o *callOptions) { o.trailer = m }) }

// ServedBy has the other end of a unary call stored.
func ServedBy(p *Peer) CallOption { return callOption(func(o *callOptions) { o.peer = p }) }

// CallCodec has the call use another codec than the client's. One with a number
// of 8 to 15 has to be among the client's codecs (WithCodecs), which the server was
// told of.
func CallCodec(codec Codec) CallOption { return callOption(func(o *callOptions) { o.codec = codec }) }

// WaitForReady has the call wait for a connection until its context ends,
// instead of failing when none can be opened.
func WaitForReady() CallOption { return callOption(func(o *callOptions) { o.waitForReady = true }) }

// MaxReceive bounds the answer's messages, in bytes, below the client's limit.
func MaxReceive(bytes int) CallOption {
	return callOption(func(o *callOptions) { o.maxReceive = bytes })
}

var noOptions callOptions

func gather(options []CallOption) *callOptions {
	if len(options) == 0 {
		return &noOptions
	}
	o := &callOptions{}
	for _, option := range options {
		option.applyCall(o)
	}
	return o
}

func (o *callOptions) store(header, trailer Metadata, p Peer) {
	if o.header != nil {
		*o.header = header
	}
	if o.trailer != nil {
		*o.trailer = trailer
	}
	if o.peer != nil {
		*o.peer = p
	}
}
