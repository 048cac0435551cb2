package trunkcall

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// OneWayMethod is a method of one request and no response (protocol.md 7.5). Its caller learns
// whether the call was accepted, and so will run. How the handler ends is told to the server's log
// only.
type OneWayMethod[Req any] struct{ method *Method }

// OneWay describes a one-way method by its name, "/package.Service/Method".
func OneWay[Req any](name string) OneWayMethod[Req] {
	return OneWayMethod[Req]{NewMethod(name, KindOneWay)}
}

// Send makes the call and waits until the other side has accepted it. From then on the handler
// runs, whatever becomes of the caller and the connection. The error is a StatusError; its Delivery
// says whether the handler may run nevertheless. A deadline of ctx travels with the call and ends
// the handler's context.
func (m OneWayMethod[Req]) Send(ctx context.Context, c Caller, request *Req, options ...CallOption) error {
	return invoke(ctx, c, m.method, request, nil, options)
}

// Method is the method without its message, for a Caller.
func (m OneWayMethod[Req]) Method() *Method { return m.method }

// Handler returns the method with serve as its handler. The error that serve returns is logged and
// counted, and goes nowhere else. Its context ends at the call's deadline, if there is one, and
// when the server is closed or the grace of its stop is over; not with the connection, and not
// because the caller gave up.
func (m OneWayMethod[Req]) Handler(serve func(context.Context, *Req) error) Handler {
	m.method.needHandler(serve == nil)
	return Handler{
		Method:   *m.method,
		messages: messages{request: messageName[Req]()},
		Unary: func(ctx context.Context, in *ServerCall) (any, error) {
			request := new(Req)
			if err := in.decodeNew(request); err != nil {
				return nil, err
			}
			if !in.Intercepted() {
				return nil, serve(ctx, request)
			}
			return intercept(ctx, in, request, func(ctx context.Context, r *Req) (any, error) {
				return nil, serve(ctx, r)
			})
		},
	}
}

// oneWays is the one-way calls of a Server or Client that were accepted and are
// not done. Their connection forgets them.
type oneWays struct {
	failures atomic.Uint64

	mu    sync.Mutex
	calls map[*ServerCall]struct{}
	done  sync.WaitGroup // one for each
}

func (o *oneWays) add(c *ServerCall) {
	o.done.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls == nil {
		o.calls = map[*ServerCall]struct{}{}
	}
	o.calls[c] = struct{}{}
}

func (o *oneWays) remove(c *ServerCall) {
	o.mu.Lock()
	delete(o.calls, c)
	o.mu.Unlock()
	o.done.Done()
}

// cancel ends the contexts of all.
func (o *oneWays) cancel() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.calls {
		c.context.cancel(context.Canceled)
	}
}

// count is how many there are.
func (o *oneWays) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.calls)
}

// watchOneWay has the handler's context end with the call's deadline: nobody else
// watches over a one-way call that was accepted.
func (c *ServerCall) watchOneWay() (stop func() bool) {
	deadline, ok := c.context.Deadline()
	if !ok {
		return nil
	}
	return time.AfterFunc(time.Until(deadline), func() {
		c.context.cancel(context.DeadlineExceeded)
	}).Stop
}

// finishOneWay notes how the handler of a one-way call ended; the caller is not
// told.
func (s *serving) finishOneWay(w *roles.Worker, c *ServerCall, stop func() bool) {
	if stop != nil {
		stop()
	}
	if e := &w.Ending; e.Code != OK && c.wasAccepted() { // else its caller is told
		s.oneWays.failures.Add(1)
		s.options.log(slog.LevelWarn, "one-way call failed", "method", c.handler.Method.Name,
			"remote", c.stream.Conn().Remote(), "code", e.Code, "error", e.Message)
	}
	s.oneWays.remove(c)
}
