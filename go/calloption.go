package trunkcall

import "time"

// CallOption configures one call.
type CallOption interface{ applyCall(*callOptions) }

type callOptions struct {
	reply        *Reply // where what comes beside the response of a unary call is to go
	fresh        bool   // the response was just made: there is nothing in it
	codec        Codec
	choose       func(Codec) Codec // the codec, of the client's, if no option says it
	send         preference
	waitForReady bool
	failFast     bool
	timed        bool // timeout says it
	byStub       bool // the client's default timeout is not meant for it
	timeout      time.Duration
	maxReceive   int
	intercepted  bool // metadata is what interceptors have left to be sent; else the context says it
	metadata     Metadata
	prioritised  bool // priority says it
	priority     Priority
	rules        *methodRules  // what holds for the call by a policy file, nil without one
	governed     *governedCall // the call, where it is under such rules
	began        int64         // when the call did, as roles.Clock has it, until that is no more the time; 0: it is not known
	within       *bounded      // what a time of the call's own makes of its context, nil without one
}

type callOption func(*callOptions)

func (f callOption) applyCall(o *callOptions) { f(o) }

// CallCodec sets the codec of the call in place of the client's. A codec with a number of 8 to 15
// must be among the client's (WithCodecs), since the server knows only those.
func CallCodec(codec Codec) CallOption { return callOption(func(o *callOptions) { o.codec = codec }) }

// DefaultCodec lets choose replace the client's codec for the call, unless CallCodec names one. It
// is for messages that not every codec can carry.
func DefaultCodec(choose func(of Codec) Codec) CallOption {
	return callOption(func(o *callOptions) { o.choose = choose })
}

// WaitForReady makes the call wait for a connection until its context ends, instead of failing when
// none can be opened.
func WaitForReady() CallOption {
	return callOption(func(o *callOptions) { o.waitForReady, o.failFast = true, false })
}

// MaxReceive bounds the answer's messages, in bytes, below the client's limit.
func MaxReceive(bytes int) CallOption {
	return callOption(func(o *callOptions) { o.maxReceive = bytes })
}

// JoinOptions makes one option of several. Keep it and give calls that one alone: they then
// allocate nothing for options.
func JoinOptions(options ...CallOption) CallOption {
	j := &joined{all: options}
	j.applyCall(&j.options)
	j.fresh = j.options
	j.fresh.fresh = true
	return j
}

type joined struct {
	all            []CallOption
	options, fresh callOptions
}

func (j *joined) applyCall(o *callOptions) {
	for _, option := range j.all {
		option.applyCall(o)
	}
}

var noOptions callOptions

func gather(options []CallOption) *callOptions {
	switch len(options) {
	case 0:
		return &noOptions
	case 1:
		if j, ok := options[0].(*joined); ok {
			return &j.options
		}
	}
	o := &callOptions{}
	for _, option := range options {
		option.applyCall(o)
	}
	return o
}

var noOptionsFresh = callOptions{fresh: true}

// gatherFresh is gather for a call whose response was just made.
func gatherFresh(options []CallOption) *callOptions {
	switch len(options) {
	case 0:
		return &noOptionsFresh
	case 1:
		if j, ok := options[0].(*joined); ok {
			return &j.fresh
		}
	}
	o := gather(options)
	o.fresh = true
	return o
}
