package grpcstub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/trunkcall/trunkcall/go"
)

// Conn returns what generated clients are made from, for a Caller: a client, a connection, or one
// of the user's. It is safe for concurrent use.
//
// Per-call credentials use the Caller's methods Target() string and Secure() bool, which Client and
// Connection have. A Caller without Secure counts as without TLS.
func Conn(caller trunkcall.Caller, options ...ConnOption) grpc.ClientConnInterface {
	if len(options) == 0 {
		return &conn{caller: caller}
	}
	c := &interceptedConn{conn: conn{caller: caller}}
	for _, o := range options {
		o(c)
	}
	return c
}

type conn struct {
	caller trunkcall.Caller
	timed  bool // the client's default timeout holds
}

// DefaultTimeout applies the client's default timeout (trunkcall.WithTimeout) to unary calls.
// Without it only their context bounds them, as in grpc-go. Policies hold either way.
func DefaultTimeout() ConnOption { return func(c *interceptedConn) { c.timed = true } }

// untimed is for calls that the client's default timeout is not for.
var untimed = []trunkcall.CallOption{trunkcall.JoinOptions(trunkcall.WithoutDefaultTimeout())}

// options are those of a call, beside more.
func (c *conn) options(more []trunkcall.CallOption) []trunkcall.CallOption {
	switch {
	case c.timed:
		return more
	case more == nil:
		return untimed
	}
	return append(more, untimed...)
}

// Invoke makes a unary call; generated code calls it.
func (c *conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	ctx = withOutgoing(ctx)
	args = message(args)
	called := trunkcall.NewMethod(method, trunkcall.KindUnary)
	if !matter(opts) {
		if err := trunkcall.Invoke(ctx, c.caller, called, args, reply, c.options(nil)...); err != nil {
			return toGRPC(err)
		}
		return nil
	}
	return c.invokeWith(ctx, called, args, reply, opts)
}

// invokeWith makes a unary call with options. Decoding has the more stack for its being apart.
func (c *conn) invokeWith(ctx context.Context, called *trunkcall.Method, args, reply any, opts []grpc.CallOption) error {
	o, err := translate(opts)
	if err == nil {
		if ctx, err = o.authorize(ctx, c.caller, called.Name); err == nil {
			err = o.checkSend(args)
		}
	}
	if err == nil {
		var got trunkcall.Reply
		got, err = trunkcall.Do(ctx, c.caller, called, args, reply, c.options(o.options())...)
		o.store(got.Header, got.Trailer, got.Peer)
	}
	return o.finish(toGRPC(err))
}

// message is what is sent for m: of a nil one, as of grpc-go's, an empty message.
func message(m any) any {
	if m == nil {
		return (*emptypb.Empty)(nil)
	}
	return m
}

// withOutgoing carries gRPC's outgoing metadata over.
func withOutgoing(ctx context.Context) context.Context {
	if md, ok := metadata.FromOutgoingContext(ctx); ok && len(md) > 0 {
		return trunkcall.WithMetadata(ctx, fromMD(md))
	}
	return ctx
}

// matter reports whether any option asks for more than generated code's own
// StaticMethod does.
func matter(opts []grpc.CallOption) bool {
	for _, o := range opts {
		if _, static := o.(grpc.StaticMethodCallOption); !static {
			return true
		}
	}
	return false
}

// callOptions is what gRPC's call options come to.
type callOptions struct {
	headerTo, trailerTo []*metadata.MD
	peers               []grpc.PeerCallOption
	waitForReady        bool
	maxReceive          int
	maxSend             int
	credentials         []credentials.PerRPCCredentials
	compression         trunkcall.CallOption
	onFinish            []func(error)

	once sync.Once
}

func translate(opts []grpc.CallOption) (*callOptions, error) {
	o := &callOptions{}
	for _, opt := range opts {
		switch opt := opt.(type) {
		case grpc.HeaderCallOption:
			o.headerTo = append(o.headerTo, opt.HeaderAddr)
		case grpc.TrailerCallOption:
			o.trailerTo = append(o.trailerTo, opt.TrailerAddr)
		case grpc.PeerCallOption:
			o.peers = append(o.peers, opt)
		case grpc.FailFastCallOption:
			o.waitForReady = !opt.FailFast
		case grpc.MaxRecvMsgSizeCallOption:
			o.maxReceive = opt.MaxRecvMsgSize
		case grpc.MaxSendMsgSizeCallOption:
			o.maxSend = opt.MaxSendMsgSize
		case grpc.PerRPCCredsCallOption:
			o.credentials = append(o.credentials, opt.Creds)
		case grpc.OnFinishCallOption:
			o.onFinish = append(o.onFinish, opt.OnFinish)
		case grpc.CompressorCallOption:
			compression, err := compressionOf(opt.CompressorType)
			if err != nil {
				return o, err
			}
			o.compression = compression
		case grpc.StaticMethodCallOption, grpc.EmptyCallOption, grpc.MaxRetryRPCBufferSizeCallOption:
		default:
			return o, notSent(trunkcall.Unimplemented, "the call option %T has no meaning on a Trunkcall connection", opt)
		}
	}
	return o, nil
}

// compressionOf is what UseCompressor asks for.
func compressionOf(name string) (trunkcall.CallOption, error) {
	if name == encoding.Identity {
		return trunkcall.CallCompression(), nil
	}
	if one := compressorNamed(name); one != nil {
		return trunkcall.CallCompression(one), nil
	}
	return nil, notSent(trunkcall.Unimplemented, "there is no compressor %q, only gzip, zstd and identity", name)
}

// notSent is the error of a call of which nothing was sent.
func notSent(code trunkcall.Code, format string, args ...any) error {
	return trunkcall.Status{
		Code: code, Message: fmt.Sprintf(format, args...), Delivery: trunkcall.NotSent, Local: true,
	}.Err()
}

func (o *callOptions) options() []trunkcall.CallOption {
	all := []trunkcall.CallOption{trunkcall.MaxReceive(o.maxReceive)}
	if o.waitForReady {
		all = append(all, trunkcall.WaitForReady())
	}
	if o.compression != nil {
		all = append(all, o.compression)
	}
	return all
}

// authorize adds the metadata of per-call credentials.
func (o *callOptions) authorize(ctx context.Context, caller trunkcall.Caller, method string) (context.Context, error) {
	for _, c := range o.credentials {
		if by, knows := caller.(interface{ Secure() bool }); c.RequireTransportSecurity() && !(knows && by.Secure()) {
			return ctx, notSent(trunkcall.Unauthenticated, "per-call credentials that require TLS on a client without it")
		}
		target := ""
		if by, knows := caller.(interface{ Target() string }); knows {
			target = by.Target()
		}
		service := method[:strings.LastIndexByte(method, '/')]
		add, err := c.GetRequestMetadata(ctx, "https://"+target+service)
		if err != nil {
			return ctx, notSent(trunkcall.Unauthenticated, "per-call credentials: %v", err)
		}
		ctx = trunkcall.WithMetadata(ctx, fromMD(metadata.New(add)))
	}
	return ctx, nil
}

func (o *callOptions) checkSend(message any) error {
	if o.maxSend <= 0 {
		return nil
	}
	b, err := trunkcall.Protobuf.Append(nil, message)
	if err == nil && len(b) > o.maxSend {
		return notSent(trunkcall.ResourceExhausted, "message of %d bytes exceeds the call's limit of %d", len(b), o.maxSend)
	}
	return nil
}

// store hands over what the answer brought.
func (o *callOptions) store(header, trailer trunkcall.Metadata, peer trunkcall.Peer) {
	for _, to := range o.headerTo {
		*to = toMD(header)
	}
	for _, to := range o.trailerTo {
		*to = toMD(trailer)
	}
	for _, to := range o.peers {
		*to.PeerAddr = *toPeer(peer)
	}
}

// finish tells those who asked how the call ended, once.
func (o *callOptions) finish(err error) error {
	o.once.Do(func() {
		for _, f := range o.onFinish {
			f(err)
		}
	})
	return err
}

// NewStream opens a streaming call; generated code calls it.
func (c *conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	called := trunkcall.NewMethod(method, kindOf(desc))
	o, err := translate(opts)
	if err == nil {
		ctx, err = o.authorize(withOutgoing(ctx), c.caller, called.Name)
	}
	if err != nil {
		return nil, o.finish(toGRPC(err))
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := trunkcall.OpenStream(ctx, c.caller, called, o.options()...)
	if err != nil {
		cancel()
		return nil, o.finish(toGRPC(err))
	}
	return &clientStream{ctx: ctx, cancel: cancel, stream: s, single: !desc.ServerStreams, options: o}, nil
}

func kindOf(desc *grpc.StreamDesc) trunkcall.Kind {
	switch {
	case desc.ServerStreams && desc.ClientStreams:
		return trunkcall.KindBidiStream
	case desc.ServerStreams:
		return trunkcall.KindServerStream
	default:
		return trunkcall.KindClientStream
	}
}

// clientStream is a call as generated code sees it.
type clientStream struct {
	ctx     context.Context
	cancel  context.CancelFunc // once the call is over
	stream  trunkcall.StreamCall
	single  bool // one answer is expected
	options *callOptions
}

func (s *clientStream) Context() context.Context { return s.ctx }

func (s *clientStream) Header() (metadata.MD, error) { return toMD(s.stream.Header()), nil }

func (s *clientStream) Trailer() metadata.MD { return toMD(s.stream.Trailer()) }

func (s *clientStream) CloseSend() error { return toGRPC(s.stream.CloseSend()) }

func (s *clientStream) SendMsg(m any) error {
	m = message(m)
	if err := s.options.checkSend(m); err != nil {
		return toGRPC(s.stream.Abandon(err))
	}
	return toGRPC(s.stream.Send(m))
}

// RecvMsg receives a message. Where one answer is expected it also sees to it
// that the call ended well, as gRPC's own stream does.
func (s *clientStream) RecvMsg(m any) error {
	err := s.stream.Receive(m)
	if err == nil {
		if !s.single {
			return nil
		}
		switch err = s.stream.Receive(reflect.New(reflect.TypeOf(m).Elem()).Interface()); {
		case err == nil:
			err = s.stream.Abandon(trunkcall.Errorf(trunkcall.Unimplemented, "the server answered with several messages where one is expected"))
		case errors.Is(err, io.EOF):
			err = nil
		}
	} else if s.single && atEnd(err) {
		err = trunkcall.Status{
			Code: trunkcall.Unimplemented, Message: "the server answered without a message", Delivery: trunkcall.Executed, Local: true,
		}.Err()
	}
	if err != nil || s.single {
		s.cancel() // it is over, or no good
		s.options.store(s.stream.Header(), s.stream.Trailer(), s.stream.Peer())
	}
	err = toGRPC(err)
	finished := err
	if atEnd(err) {
		finished = nil
	}
	_ = s.options.finish(finished)
	return err
}
