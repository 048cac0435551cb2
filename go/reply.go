package trunkcall

import (
	"context"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// Reply is what came beside the response of a unary call: metadata ahead of it and
// behind it, and who sent it.
type Reply struct {
	Header, Trailer Metadata
	Peer            Peer
}

// Response is the response of a unary call with what came beside it.
type Response[T any] struct {
	Message *T
	Reply
}

// Do is Call for callers that want header, trailer or peer beside the message. For a failure, its
// Status has those, after Call too.
func (m UnaryMethod[Req, Resp]) Do(ctx context.Context, c Caller, request *Req, options ...CallOption) (*Response[Resp], error) {
	response := &Response[Resp]{Message: new(Resp)}
	if err := invoke(ctx, c, m.method, request, response.Message, withReply(options, &response.Reply)); err != nil {
		return nil, err
	}
	return response, nil
}

// Do calls a unary or one-way method through any Caller, fills in response and returns what
// came beside it, or with the failure. It is what stubs are made of; the error is a
// StatusError.
func Do(ctx context.Context, c Caller, method *Method, request, response any, options ...CallOption) (Reply, error) {
	var reply Reply
	err := Invoke(ctx, c, method, request, response, withReply(options, &reply)...)
	return reply, err
}

func withReply(options []CallOption, reply *Reply) []CallOption {
	return append(options[:len(options):len(options)], ReplyTo(reply))
}

// ReplyTo has what comes beside the response, or with the failure, of a call stored by the
// time it has ended. It is for calls whose result has no place for it: asynchronous ones and
// functions of code-first. Others use Do, and streams have methods.
func ReplyTo(reply *Reply) CallOption {
	return callOption(func(o *callOptions) { o.reply = reply })
}

// tell stores what came beside the response of a call that has ended.
func (o *callOptions) tell(call *transport.Call) {
	*o.reply = Reply{call.Header, call.Ending.Metadata, peerOf(call.Conn())}
}

// SetReply is for a Caller that answers itself: who called by Do, or with ReplyTo among these
// options, is told so what came beside the response.
func SetReply(options []CallOption, reply Reply) {
	if o := gather(options); o.reply != nil {
		*o.reply = reply
	}
}
