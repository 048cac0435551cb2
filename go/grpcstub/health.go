package grpcstub

import (
	"context"

	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/trunkcall/trunkcall/go"
)

// endedByStop makes health's Watch end when its server is stopped, which would
// otherwise wait for it until the grace is over: the last that a watcher is told
// is NOT_SERVING, and the call ends UNAVAILABLE.
func endedByStop(watch func(context.Context, trunkcall.Stream) error, stopping <-chan struct{}) func(context.Context, trunkcall.Stream) error {
	return func(ctx context.Context, s trunkcall.Stream) error {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		over := make(chan struct{})
		defer close(over)
		go func() {
			select {
			case <-stopping:
				cancel()
			case <-over:
			}
		}()
		watcher := &lastSent{Stream: s}
		err := watch(inner, watcher)
		if ctx.Err() != nil || inner.Err() == nil {
			return err
		}
		const leaving = healthgrpc.HealthCheckResponse_NOT_SERVING
		if watcher.status != leaving {
			if err := s.Send(&healthgrpc.HealthCheckResponse{Status: leaving}); err != nil {
				return err
			}
		}
		return trunkcall.Errorf(trunkcall.Unavailable, "the server is stopping")
	}
}

// lastSent remembers what a watcher was told last.
type lastSent struct {
	trunkcall.Stream
	status healthgrpc.HealthCheckResponse_ServingStatus
}

func (l *lastSent) Send(message any) error {
	if m, ok := message.(*healthgrpc.HealthCheckResponse); ok {
		l.status = m.GetStatus()
	}
	return l.Stream.Send(message)
}
