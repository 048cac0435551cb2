package grpcstub

import (
	"context"
	"strings"
	"sync"

	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/trunkcall/trunkcall/go"
)

// What gRPC's health service says while its server leaves (trunkcall.Server.Stop): NOT_SERVING from
// the beginning, also while the server still serves for the drain delay.

const notServing = healthgrpc.HealthCheckResponse_NOT_SERVING

// leaver is a server that can be stopped.
type leaver interface {
	Leaving() <-chan struct{}
	Stopping() <-chan struct{}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// untilItLeaves has the health service's handlers tell of their server's end.
func untilItLeaves(h *trunkcall.Handler, server leaver) {
	if !strings.HasPrefix(h.Method.Name, "/"+healthgrpc.Health_ServiceDesc.ServiceName+"/") {
		return
	}
	if answer := h.Unary; answer != nil {
		h.Unary = func(ctx context.Context, in *trunkcall.ServerCall) (any, error) {
			response, err := answer(ctx, in)
			if closed(server.Leaving()) {
				response = leaving(response)
			}
			return response, err
		}
	} else {
		h.Stream = watchUntilItLeaves(h.Stream, server)
	}
}

// leaving is the answer for a service while the server leaves. The health service does not keep its
// answers.
func leaving(answer any) any {
	switch m := answer.(type) {
	case *healthgrpc.HealthCheckResponse:
		if m.GetStatus() == healthgrpc.HealthCheckResponse_SERVING {
			return &healthgrpc.HealthCheckResponse{Status: notServing}
		}
	case *healthgrpc.HealthListResponse:
		all := make(map[string]*healthgrpc.HealthCheckResponse, len(m.GetStatuses()))
		for service, status := range m.GetStatuses() {
			all[service] = leaving(status).(*healthgrpc.HealthCheckResponse) //nolint:forcetypeassert // of what it was given
		}
		return &healthgrpc.HealthListResponse{Statuses: all}
	}
	return answer
}

// watchUntilItLeaves makes health's Watch say NOT_SERVING when the server leaves, and end when the
// server takes no more calls. Otherwise Stop would wait for it until the grace is over.
func watchUntilItLeaves(watch func(context.Context, trunkcall.Stream) error, server leaver) func(context.Context, trunkcall.Stream) error {
	return func(ctx context.Context, s trunkcall.Stream) error {
		inner, cancel := context.WithCancel(ctx)
		watcher := &watcher{Stream: s, leaving: server.Leaving()}
		told := make(chan struct{})
		go func() {
			defer close(told)
			select {
			case <-server.Leaving():
			case <-inner.Done():
				return
			}
			_ = watcher.tellAgain() // the call ends by itself if it cannot
			select {
			case <-server.Stopping():
				cancel()
			case <-inner.Done():
			}
		}()
		err := watch(inner, watcher)
		stopped := ctx.Err() == nil && inner.Err() != nil
		cancel()
		<-told
		if stopped {
			if watcher.last == nil {
				_ = s.Send(&healthgrpc.HealthCheckResponse{Status: notServing})
			}
			return trunkcall.Errorf(trunkcall.Unavailable, "the server is stopping")
		}
		return err
	}
}

// watcher is the stream of somebody who watches.
type watcher struct {
	trunkcall.Stream
	leaving <-chan struct{}

	mu   sync.Mutex
	last *healthgrpc.HealthCheckResponse // what was sent
}

func (w *watcher) Send(message any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sendLocked(message)
}

// tellAgain sends what was sent last, as it is while the server leaves.
func (w *watcher) tellAgain() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return nil // what comes first says it
	}
	return w.sendLocked(w.last)
}

func (w *watcher) sendLocked(message any) error {
	if closed(w.leaving) {
		message = leaving(message)
	}
	m, ok := message.(*healthgrpc.HealthCheckResponse)
	if ok && w.last != nil && w.last.GetStatus() == m.GetStatus() {
		return nil
	}
	w.last = m
	return w.Stream.Send(message)
}
