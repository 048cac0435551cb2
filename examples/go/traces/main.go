// Traces makes a span of each call of any kind, at both ends, for OpenTelemetry, and carries the
// trace from one to the other in the call's metadata.
package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/trunkcall/trunkcall/examples/go/internal/users"
	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

// tracing is the interceptor of one side.
func tracing(tracer oteltrace.Tracer, side oteltrace.SpanKind) trunkcall.Interceptor {
	w3c := propagation.TraceContext{}
	return func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		carried := propagation.MapCarrier{}
		if side == oteltrace.SpanKindServer {
			carried["traceparent"] = call.Metadata.Get("traceparent")
			ctx = w3c.Extract(ctx, carried)
		}
		ctx, span := tracer.Start(ctx, call.Method.Name[1:], oteltrace.WithSpanKind(side))
		if side == oteltrace.SpanKindClient {
			w3c.Inject(ctx, carried)
			call.Metadata.Add("traceparent", carried["traceparent"])
		}
		call.OnEnd(func(s trunkcall.Status) { // also of a stream, and of one that its user drops
			if s.Code != trunkcall.OK {
				span.SetStatus(codes.Error, s.String())
			}
			span.End()
		})
		return next(ctx, call)
	}
}

func main() {
	spans := tracetest.NewInMemoryExporter() // in earnest: one of OTLP
	tracer := trace.NewTracerProvider(trace.WithSyncer(spans)).Tracer("example")
	server := users.Serve(trunkcall.WithInterceptors(tracing(tracer, oteltrace.SpanKindServer)))
	client := users.Client(server, trunkcall.WithInterceptors(tracing(tracer, oteltrace.SpanKindClient)))
	list, err := users.List.Call(context.Background(), client, &pb.ListUsersRequest{Count: 2})
	users.Check(err)
	for _, err := range list.All() {
		fmt.Println(trunkcall.StatusOf(err).Code)
	}
	client.Close()
	users.Check(server.Stop(context.Background()))
	for _, s := range spans.GetSpans() {
		fmt.Println(s.SpanKind, s.Name, s.Status.Code, s.SpanContext.TraceID() == spans.GetSpans()[0].SpanContext.TraceID())
	}
}
