package interop

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// channel is what cases are carried out over. A stock one is grpc-go's own; dial makes
// another to the same server.
type channel struct {
	grpc.ClientConnInterface
	dial func() *grpc.ClientConn
}

type testCase = func(context.Context, channel)

// cases are carried out over every channel, by the names that grpc-go's client has for them.
var cases = map[string]testCase{
	"empty_unary":                 service(interop.DoEmptyUnaryCall),
	"large_unary":                 service(interop.DoLargeUnaryCall),
	"client_streaming":            service(interop.DoClientStreaming),
	"server_streaming":            service(interop.DoServerStreaming),
	"ping_pong":                   service(interop.DoPingPong),
	"empty_stream":                service(interop.DoEmptyStream),
	"timeout_on_sleeping_server":  service(interop.DoTimeoutOnSleepingServer),
	clientsOwn:                    service(interop.DoCancelAfterBegin),
	"cancel_after_first_response": service(interop.DoCancelAfterFirstResponse),
	"status_code_and_message":     service(interop.DoStatusCodeAndMessage),
	"special_status_message":      service(interop.DoSpecialStatusMessage),
	"custom_metadata":             service(interop.DoCustomMetadata),
	"unimplemented_method":        unimplementedMethod,
	"unimplemented_service": func(ctx context.Context, c channel) {
		interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(c))
	},
}

// clientsOwn is a case about the client alone, and so not carried out with grpc-go's: that takes an answer which comes
// between its half-close and its reset, and a server that is quick answers in between.
const clientsOwn = "cancel_after_begin"

// stockCases are those that take grpc-go's own channel by its type, beside the others.
var stockCases = map[string]testCase{
	"rpc_soak": func(ctx context.Context, c channel) {
		conn := c.dial()
		interop.DoSoakTest(ctx, soak(func() (*grpc.ClientConn, func()) { return conn, func() {} }))
		_ = conn.Close()
	},
	"channel_soak": func(ctx context.Context, c channel) {
		interop.DoSoakTest(ctx, soak(func() (*grpc.ClientConn, func()) {
			conn := c.dial()
			return conn, func() { _ = conn.Close() }
		}))
	},
}

// notApplicable are the other cases of grpc-go's client, with the reason.
var notApplicable = map[string]string{
	"compute_engine_creds":               "needs an account at Google",
	"service_account_creds":              "needs an account at Google",
	"jwt_token_creds":                    "needs an account at Google",
	"per_rpc_creds":                      "needs an account at Google",
	"oauth2_auth_token":                  "needs an account at Google",
	"google_default_credentials":         "needs an account at Google",
	"compute_engine_channel_credentials": "needs an account at Google",
	"pick_first_unary":                   "grpc-go's test service does not say which server it is",
	"orca_per_rpc":                       "the reports are an option of grpc-go's own server, whose interceptors are not exported",
	"orca_oob":                           "reports more often than every 30 s need a switch that is internal to grpc-go",
}

// service is a case that calls the test service.
func service(do func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption)) testCase {
	return func(ctx context.Context, c channel) { do(ctx, testgrpc.NewTestServiceClient(c)) }
}

// unimplementedMethod is grpc-go's case for its own channel; for others, which it does not
// take, it is the same call, messages that are nil included.
func unimplementedMethod(ctx context.Context, c channel) {
	if conn, stock := c.ClientConnInterface.(*grpc.ClientConn); stock {
		interop.DoUnimplementedMethod(ctx, conn)
		return
	}
	callNoMethod(ctx, c)
}

// soak is a few large calls over the channels that are given.
func soak(channels func() (*grpc.ClientConn, func())) interop.SoakTestConfig {
	return interop.SoakTestConfig{
		RequestSize: 271828, ResponseSize: 314159, Iterations: 20, NumWorkers: 2,
		PerIterationMaxAcceptableLatency: time.Minute, OverallTimeout: time.Minute,
		ServerAddr: "Trunkcall", ChannelForTest: channels,
	}
}
