package trunkcall

import "context"

// Future is the outcome of an asynchronous call. Its methods are safe for
// concurrent use.
type Future[Resp any] struct {
	ended    chan struct{}
	response *Resp
	err      error
}

// Start makes the call and returns at once. If the call has to wait for a connection or a slot, it
// counts among the waiting calls (WithWaitingCalls). The request must not be changed until the call
// has ended.
//
// The call has a goroutine of its own only if there are interceptors, or if the Caller is neither a
// Client nor a Connection. A panic of those or of a codec is logged, and the call fails with
// INTERNAL.
func (m UnaryMethod[Req, Resp]) Start(ctx context.Context, c Caller, request *Req, options ...CallOption) *Future[Resp] {
	f := &Future[Resp]{ended: make(chan struct{})}
	launch(ctx, c, m.method, request, new(Resp), options, f)
	return f
}

// CallFunc makes the call and returns at once, like Start. It calls done with the outcome exactly
// once, on another goroutine; done may block and may make calls. The error is a StatusError; the
// response is nil then.
func (m UnaryMethod[Req, Resp]) CallFunc(
	ctx context.Context, c Caller, request *Req, done func(*Resp, error), options ...CallOption,
) {
	launch(ctx, c, m.method, request, new(Resp), options, callback[Resp](done))
}

// InvokeFunc calls a unary method through any Caller and returns at once. Like CallFunc it calls
// done once, when response is filled in or the call has failed.
func InvokeFunc(
	ctx context.Context, c Caller, method *Method, request, response any, done func(error), options ...CallOption,
) {
	out := untypedCallback(done)
	if err := method.callable(false); err != nil {
		go tell(&unlogged, out, nil, err)
	} else if r := routeOf(c); r != nil {
		r.launch(ctx, method, request, response, gather(options), out)
	} else {
		launchForeign(ctx, c, method, request, response, options, out)
	}
}

// launch makes a call through a Caller and returns; out is told how it ended. The
// response was just made.
func launch(ctx context.Context, c Caller, m *Method, request, response any, options []CallOption, out sink) {
	if r := routeOf(c); r != nil {
		r.launch(ctx, m, request, response, gatherFresh(options), out)
		return
	}
	launchForeign(ctx, c, m, request, response, options, out)
}

// unlogged is for what happens in the calls of Callers of the user's, which have no
// logger.
var unlogged journal

// launchForeign is launch through a Caller of the user's: the call waits on a goroutine.
func launchForeign(ctx context.Context, c Caller, m *Method, request, response any, options []CallOption, out sink) {
	go func() {
		judged := false
		defer func() {
			if !judged {
				tell(&unlogged, out, response, broken(&unlogged, m, recover(), DeliveryUnknown))
			}
		}()
		err := foreign(c.Invoke(ctx, m, request, response, options...))
		judged = true
		tell(&unlogged, out, response, err)
	}()
}

func (f *Future[Resp]) done(response any, err error) {
	if err == nil {
		f.response = response.(*Resp) //nolint:forcetypeassert // Start made it
	}
	f.err = err
	close(f.ended)
}

// Done is closed when the call has ended.
func (f *Future[Resp]) Done() <-chan struct{} { return f.ended }

// Result waits for the end of the call and returns its outcome. The error is a
// StatusError.
func (f *Future[Resp]) Result() (*Resp, error) {
	<-f.ended
	return f.response, f.err
}

// Wait is Result, but waits no longer than ctx lasts. If ctx ends first, the error is ctx's and the
// call goes on.
func (f *Future[Resp]) Wait(ctx context.Context) (*Resp, error) {
	select {
	case <-f.ended:
		return f.response, f.err
	default:
	}
	select {
	case <-f.ended:
		return f.response, f.err
	case <-ctx.Done():
		return nil, local(ctx.Err(), DeliveryUnknown)
	}
}

type callback[Resp any] func(*Resp, error)

func (f callback[Resp]) done(response any, err error) {
	if err != nil {
		f(nil, err)
		return
	}
	f(response.(*Resp), nil) //nolint:forcetypeassert // CallFunc made it
}

type untypedCallback func(error)

func (f untypedCallback) done(_ any, err error) { f(err) }
