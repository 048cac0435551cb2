package main

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds" // registers outlier_detection_experimental, for service configs
)

// several has a channel find the servers that a target names with commas.
func several(target string, options []grpc.DialOption) (string, []grpc.DialOption) {
	found := manual.NewBuilderWithScheme("several")
	state := resolver.State{}
	for _, address := range strings.Split(target, ",") {
		one := resolver.Address{Addr: address}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{one}})
	}
	found.InitialState(state)
	return "several:///servers", append(slices.Clip(options), grpc.WithResolvers(found))
}

// limited refuses calls while others are under way in that number: what users of grpc-go write who
// want their servers to shed load.
func limited(most int) grpc.UnaryServerInterceptor {
	places := make(chan struct{}, most)
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			return handler(ctx, request)
		default:
			return nil, status.Error(codes.ResourceExhausted, "too many calls at once")
		}
	}
}

// attemptCounter counts the attempts that were sent.
type attemptCounter struct{ number *atomic.Int64 }

func (attemptCounter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (attemptCounter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (attemptCounter) HandleConn(context.Context, stats.ConnStats)                       {}

func (c attemptCounter) HandleRPC(_ context.Context, event stats.RPCStats) {
	if _, sent := event.(*stats.OutHeader); sent {
		c.number.Add(1)
	}
}
