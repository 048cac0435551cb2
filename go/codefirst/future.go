package codefirst

import (
	"context"
	"fmt"
	"reflect"

	"github.com/trunkcall/trunkcall/go"
)

// Code-first calls that nobody waits for: functions that return a future or take
// a callback (Func).

// Future is what trunkcall.Future is to calls with one response: the outcome of an
// asynchronous code-first call, which has any number of results. F is a function
// that returns those, and an error last:
//
//	var calc struct {
//		Div func(ctx context.Context, a, b int) *codefirst.Future[func() (int, int, error)]
//	}
//	err := codefirst.Bind(client, "calc", &calc)
//	division := calc.Div(ctx, 7, 2)
//	quotient, remainder, err := division.Result()
//
// It comes from functions that Func and Bind made, and is safe for concurrent use.
type Future[F any] struct {
	// Result waits for the end of the call and returns its outcome. The error is a
	// StatusError; the results are zero then.
	Result F

	pending pending
}

// Done is closed when the call has ended.
func (f *Future[F]) Done() <-chan struct{} { return f.pending.ended }

// Wait waits for the end of the call, but no longer than ctx lasts. It returns the error of Result,
// or, if ctx ends first, that of ctx; the call then goes on.
func (f *Future[F]) Wait(ctx context.Context) error {
	select {
	case <-f.pending.ended:
		return f.pending.err
	default:
	}
	select {
	case <-f.pending.ended:
		return f.pending.err
	case <-ctx.Done():
		return abandoned(ctx.Err())
	}
}

// abandoned is the error of a wait that ended before the call.
func abandoned(err error) error {
	s := trunkcall.StatusOf(err)
	s.Local = true
	return s.Err()
}

func (*Future[F]) types() (future, result reflect.Type) {
	return reflect.TypeFor[Future[F]](), reflect.TypeFor[F]()
}

func (f *Future[F]) begin(b *bound, out []reflect.Value) *pending {
	f.pending = pending{bound: b, out: out, ended: make(chan struct{})}
	f.Result, _ = reflect.TypeAssert[F](reflect.MakeFunc(reflect.TypeFor[F](), f.pending.result))
	return &f.pending
}

// anyFuture is a Future of whichever results.
type anyFuture interface {
	types() (future, result reflect.Type) // Future[F] and F
	begin(b *bound, out []reflect.Value) *pending
}

// pending is an asynchronous call whose results somebody is going to ask for.
type pending struct {
	bound *bound
	out   []reflect.Value
	err   error
	ended chan struct{} // closed behind what comes before
}

// done is called by the call.
func (p *pending) done(err error) {
	p.out, p.err = p.bound.answered(p.out, err), err
	close(p.ended)
}

// result is F.
func (p *pending) result([]reflect.Value) []reflect.Value {
	<-p.ended
	return p.out
}

// callForFuture returns what makes calls and returns futures like the one given.
func (b *bound) callForFuture(like anyFuture) func([]reflect.Value) []reflect.Value {
	future, _ := like.types()
	return func(in []reflect.Value) []reflect.Value {
		in, options := b.options(in)
		ctx, arguments := b.take(in)
		out, results := b.place()
		f := reflect.New(future)
		begun, _ := reflect.TypeAssert[anyFuture](f)
		trunkcall.InvokeFunc(ctx, b.caller, b.method, arguments, results, begun.begin(b, out).done, options...)
		return []reflect.Value{f}
	}
}

// callBack makes a call whose outcome goes to the last argument.
func (b *bound) callBack(in []reflect.Value) []reflect.Value {
	in, options := b.options(in)
	last := len(in) - 1
	ctx, arguments := b.take(in[:last])
	out, results := b.place()
	trunkcall.InvokeFunc(ctx, b.caller, b.method, arguments, results, (&reflectedCallback{b, out, in[last]}).done, options...)
	return nil
}

// reflectedCallback takes the outcome of a call to a callback.
type reflectedCallback struct {
	bound    *bound
	out      []reflect.Value
	function reflect.Value
}

func (c *reflectedCallback) done(err error) { c.function.Call(c.bound.answered(c.out, err)) }

// resultsTaken returns what the callback of a function type takes: the results,
// and an error last.
func resultsTaken(function, callback reflect.Type) ([]reflect.Type, error) {
	results := types(callback.NumIn(), callback.In)
	switch {
	case function.NumOut() > 0:
		return nil, fmt.Errorf("%v has a callback and so has to return nothing", function)
	case callback.NumOut() > 0 || !endsInError(results):
		return nil, fmt.Errorf("the callback of %v has to take the results and an error last, and to return nothing", function)
	}
	return results, nil
}

// resultsAwaited returns what the future that a function type returns is to
// bring: the results, and an error last.
func resultsAwaited(function reflect.Type, future anyFuture) ([]reflect.Type, error) {
	if function.NumOut() > 1 {
		return nil, fmt.Errorf("%v has to return the future alone, which brings the results and the error", function)
	}
	_, f := future.types()
	if f.Kind() == reflect.Func && f.NumIn() == 0 {
		if results := types(f.NumOut(), f.Out); endsInError(results) {
			return results, nil
		}
	}
	return nil, fmt.Errorf("the future of %v has to be of a function that takes nothing and returns the results and an error last", function)
}

// futureAmong returns a future like the one that a function returns, or nil.
func futureAmong(results []reflect.Type) anyFuture {
	for _, t := range results {
		if t.Kind() != reflect.Pointer {
			continue
		}
		if future, ok := reflect.TypeAssert[anyFuture](reflect.New(t.Elem())); ok {
			if own, _ := future.types(); own == t.Elem() { // not one that is embedded
				return future
			}
		}
	}
	return nil
}
