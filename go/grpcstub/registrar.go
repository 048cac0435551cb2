package grpcstub

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/trunkcall/trunkcall/go"
)

// Services is a registry of services as gRPC's own packages want it: generated Register functions
// take it, and so does reflection.Register.
type Services interface {
	grpc.ServiceRegistrar
	// GetServiceInfo lists the services that a .proto file of this process describes, in whichever
	// way they were registered. Code-first services are left out, since reflection has nothing to
	// say of them.
	GetServiceInfo() map[string]grpc.ServiceInfo
}

// Registrar returns what generated Register functions take, for a server, or for a client that
// serves its servers. Registering a service twice, or with a value that does not implement it,
// panics at once, since those functions return no error.
//
// gRPC's own services work on it too: healthgrpc.RegisterHealthServer, and
// reflection.Register, which lists what is registered when it is asked.
func Registrar(server Registry, options ...RegistrarOption) Services {
	r := registrar{Registry: server}
	for _, o := range options {
		o(&r)
	}
	return r
}

// RegistrarOption changes how services are served that are registered through it.
type RegistrarOption func(*registrar)

// HideErrorText makes callers see errors that are no status as an id, which the server's log has
// beside the text, like errors of Trunkcall's own handlers. By default the text goes to the caller,
// as in gRPC.
func HideErrorText() RegistrarOption { return func(r *registrar) { r.hidden = true } }

// Registry is a *trunkcall.Server or a *trunkcall.Client.
type Registry interface {
	Register(handlers ...trunkcall.Handler) error
	Methods() []trunkcall.Method
}

type registrar struct {
	Registry
	hidden bool // the text of errors that are no status

	unaryInterceptors  []grpc.UnaryServerInterceptor
	streamInterceptors []grpc.StreamServerInterceptor
}

// GetServiceInfo tells of all methods that are registered and described.
func (r registrar) GetServiceInfo() map[string]grpc.ServiceInfo {
	services := map[string]grpc.ServiceInfo{}
	for _, m := range r.Methods() {
		end := strings.LastIndexByte(m.Name, '/')
		if end < 1 {
			continue
		}
		name := m.Name[1:end]
		service, known := services[name]
		if !known {
			found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
			described, ok := found.(protoreflect.ServiceDescriptor)
			if err != nil || !ok {
				continue
			}
			service.Metadata = described.ParentFile().Path()
		}
		service.Methods = append(service.Methods, grpc.MethodInfo{
			Name:           m.Name[end+1:],
			IsClientStream: m.Kind == trunkcall.KindClientStream || m.Kind == trunkcall.KindBidiStream,
			IsServerStream: m.Kind == trunkcall.KindServerStream || m.Kind == trunkcall.KindBidiStream,
		})
		services[name] = service
	}
	return services
}

// RegisterService registers a service; generated code calls it.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if impl != nil && desc.HandlerType != nil {
		if want := reflect.TypeOf(desc.HandlerType).Elem(); !reflect.TypeOf(impl).Implements(want) {
			panic(fmt.Sprintf("grpcstub: %T does not implement %v", impl, want))
		}
	}
	var handlers []trunkcall.Handler
	for _, m := range desc.Methods {
		handlers = append(handlers, trunkcall.Handler{
			Method: trunkcall.Method{Name: "/" + desc.ServiceName + "/" + m.MethodName, Kind: trunkcall.KindUnary},
			Unary:  r.unary(&m, impl),

			NoSideEffects: withoutSideEffects(desc.ServiceName, m.MethodName),
		})
	}
	for _, m := range desc.Streams {
		handle := streamThrough(r.streamInterceptors, &grpc.StreamServerInfo{
			FullMethod: "/" + desc.ServiceName + "/" + m.StreamName, IsClientStream: m.ClientStreams, IsServerStream: m.ServerStreams,
		}, m.Handler)
		h := trunkcall.Handler{
			Method: trunkcall.Method{Name: "/" + desc.ServiceName + "/" + m.StreamName, Kind: kindOf(&m)},
			Stream: func(ctx context.Context, s trunkcall.Stream) error {
				sc := &stubContext{ctx, trunkcall.CallFromContext(ctx)}
				return fromGRPC(handle(impl, &serverStream{sc, s}), r.hidden)
			},
		}
		handlers = append(handlers, h)
	}
	if server, ok := r.Registry.(leaver); ok {
		for i := range handlers {
			untilItLeaves(&handlers[i], server)
		}
	}
	if err := r.Register(handlers...); err != nil {
		panic("grpcstub: " + err.Error())
	}
}

func (r registrar) unary(m *grpc.MethodDesc, impl any) func(context.Context, *trunkcall.ServerCall) (any, error) {
	return func(ctx context.Context, in *trunkcall.ServerCall) (any, error) {
		var intercept grpc.UnaryServerInterceptor
		if in.Intercepted() || len(r.unaryInterceptors) > 0 {
			intercept = func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
				handle = handleThrough(r.unaryInterceptors, info, handle)
				return in.Intercept(ctx, request, func(ctx context.Context, request any) (any, error) {
					response, err := handle(ctx, request)
					return response, fromGRPC(err, r.hidden)
				})
			}
		}
		response, err := m.Handler(impl, &stubContext{ctx, in}, in.Decode, intercept)
		return response, fromGRPC(err, r.hidden)
	}
}

// The context keys of gRPC's helpers are private to its packages. They are found by calling the
// helpers once with a context that notes what it is asked for. So the values are made only when a
// handler asks for them.
var (
	metadataKey = listen(func(ctx context.Context) { metadata.FromIncomingContext(ctx) })
	streamKey   = listen(func(ctx context.Context) { grpc.ServerTransportStreamFromContext(ctx) })
	peerKey     = listen(func(ctx context.Context) { peer.FromContext(ctx) })
)

func listen(ask func(context.Context)) any {
	l := &listener{Context: context.Background()}
	ask(l)
	return l.key
}

type listener struct {
	context.Context
	key any
}

func (l *listener) Value(key any) any {
	l.key = key
	return nil
}

// stubContext is a handler's context that gRPC's helpers understand.
type stubContext struct {
	context.Context
	call *trunkcall.ServerCall
}

func (c *stubContext) Value(key any) any {
	switch key {
	case metadataKey:
		md := toMD(c.call.Metadata)
		if authority := c.call.Authority(); authority != "" {
			md[":authority"] = []string{authority}
		}
		return md
	case streamKey:
		return grpc.ServerTransportStream(transportStream{c.call})
	case peerKey:
		return toPeer(c.call.Peer())
	}
	return c.Context.Value(key)
}

// AfterFunc lets derived contexts follow this one without a goroutine each.
func (c *stubContext) AfterFunc(f func()) func() bool { return context.AfterFunc(c.Context, f) }

// transportStream is what grpc.SetHeader and its like work on.
type transportStream struct{ call *trunkcall.ServerCall }

func (t transportStream) Method() string                 { return t.call.Method().Name }
func (t transportStream) SetHeader(md metadata.MD) error { return toGRPC(t.call.SetHeader(fromMD(md))) }
func (t transportStream) SendHeader(md metadata.MD) error {
	return toGRPC(t.call.SendHeader(fromMD(md)))
}
func (t transportStream) SetTrailer(md metadata.MD) error {
	return toGRPC(t.call.SetTrailer(fromMD(md)))
}

// serverStream is a streaming call as generated code sees it.
type serverStream struct {
	ctx    *stubContext
	stream trunkcall.Stream
}

func (s *serverStream) Context() context.Context { return s.ctx }
func (s *serverStream) SetHeader(md metadata.MD) error {
	return transportStream{s.ctx.call}.SetHeader(md)
}
func (s *serverStream) SendHeader(md metadata.MD) error {
	return transportStream{s.ctx.call}.SendHeader(md)
}
func (s *serverStream) SetTrailer(md metadata.MD) { _ = transportStream{s.ctx.call}.SetTrailer(md) }
func (s *serverStream) SendMsg(m any) error       { return toGRPC(s.stream.Send(m)) }
func (s *serverStream) RecvMsg(m any) error       { return toGRPC(s.stream.Receive(m)) }

// withoutSideEffects reports whether a method is declared so where it is
// described: option idempotency_level = NO_SIDE_EFFECTS.
func withoutSideEffects(service, method string) bool {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		return false
	}
	options, ok := found.Options().(*descriptorpb.MethodOptions)
	return ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}
