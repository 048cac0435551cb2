package grpcstub

import (
	"context"

	"google.golang.org/grpc"
)

// Interceptors that are written for gRPC, of both sides. The first of several is the
// outermost; at a server they run within those of the server itself.

// ConnOption changes how the clients make calls that are made from a Conn.
type ConnOption func(*interceptedConn)

// UnaryClientInterceptors wraps unary calls. Interceptors are given no *grpc.ClientConn: it
// is nil, since there is none.
func UnaryClientInterceptors(interceptors ...grpc.UnaryClientInterceptor) ConnOption {
	return func(c *interceptedConn) { c.unary = append(c.unary, interceptors...) }
}

// StreamClientInterceptors wraps calls that stream. Interceptors are given no
// *grpc.ClientConn: it is nil, since there is none.
func StreamClientInterceptors(interceptors ...grpc.StreamClientInterceptor) ConnOption {
	return func(c *interceptedConn) { c.stream = append(c.stream, interceptors...) }
}

// interceptedConn is a conn whose calls go through interceptors.
type interceptedConn struct {
	conn
	unary  []grpc.UnaryClientInterceptor
	stream []grpc.StreamClientInterceptor
}

func (c *interceptedConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return c.invokeFrom(0)(ctx, method, args, reply, nil, opts...)
}

// invokeFrom makes a call through the interceptors from the nth on.
func (c *interceptedConn) invokeFrom(n int) grpc.UnaryInvoker {
	return func(ctx context.Context, method string, args, reply any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
		if n == len(c.unary) {
			return c.conn.Invoke(ctx, method, args, reply, opts...)
		}
		return c.unary[n](ctx, method, args, reply, nil, c.invokeFrom(n+1), opts...)
	}
}

func (c *interceptedConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.streamFrom(0)(ctx, desc, nil, method, opts...)
}

// streamFrom opens a stream through the interceptors from the nth on.
func (c *interceptedConn) streamFrom(n int) grpc.Streamer {
	return func(ctx context.Context, desc *grpc.StreamDesc, _ *grpc.ClientConn, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if n == len(c.stream) {
			return c.conn.NewStream(ctx, desc, method, opts...)
		}
		return c.stream[n](ctx, desc, nil, method, c.streamFrom(n+1), opts...)
	}
}

// UnaryServerInterceptors wraps the unary methods of the services that are registered.
func UnaryServerInterceptors(interceptors ...grpc.UnaryServerInterceptor) RegistrarOption {
	return func(r *registrar) { r.unaryInterceptors = append(r.unaryInterceptors, interceptors...) }
}

// StreamServerInterceptors wraps the streaming methods of the services that are registered.
func StreamServerInterceptors(interceptors ...grpc.StreamServerInterceptor) RegistrarOption {
	return func(r *registrar) { r.streamInterceptors = append(r.streamInterceptors, interceptors...) }
}

// handleThrough returns handle behind interceptors.
func handleThrough(interceptors []grpc.UnaryServerInterceptor, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) grpc.UnaryHandler {
	if len(interceptors) == 0 {
		return handle
	}
	next := handleThrough(interceptors[1:], info, handle)
	return func(ctx context.Context, request any) (any, error) { return interceptors[0](ctx, request, info, next) }
}

// streamThrough is likewise.
func streamThrough(interceptors []grpc.StreamServerInterceptor, info *grpc.StreamServerInfo, handle grpc.StreamHandler) grpc.StreamHandler {
	if len(interceptors) == 0 {
		return handle
	}
	next := streamThrough(interceptors[1:], info, handle)
	return func(server any, stream grpc.ServerStream) error { return interceptors[0](server, stream, info, next) }
}
