package codefirst_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// Code-first calls that nobody waits for.

// division is what a call of calc/div ends with.
type division struct {
	quotient, remainder int64
	err                 error
}

type (
	startsDividing  = func(ctx context.Context, a, b int64) *codefirst.Future[func() (int64, int64, error)]
	dividesAndCalls = func(ctx context.Context, a, b int64, done func(quotient, remainder int64, err error))
)

// intoChannel is a callback that fails for a second time.
func intoChannel(t testing.TB) (func(quotient, remainder int64, err error), <-chan division) {
	ended := make(chan division, 1)
	return func(quotient, remainder int64, err error) {
		select {
		case ended <- division{quotient, remainder, err}:
		default:
			t.Error("a call has two callbacks")
		}
	}, ended
}

// dividesAnyhow calls calc/div in each way that does not wait, and returns how it
// ended.
func dividesAnyhow(t testing.TB, c trunkcall.Caller) map[string]func(ctx context.Context, a, b int64) division {
	t.Helper()
	var calc struct {
		Start    startsDividing  `trunkcall:"div"`
		Callback dividesAndCalls `trunkcall:"div"`
	}
	if err := codefirst.Bind(c, "calc", &calc); err != nil {
		t.Fatal(err)
	}
	return map[string]func(ctx context.Context, a, b int64) division{
		"future": func(ctx context.Context, a, b int64) (d division) {
			f := calc.Start(ctx, a, b)
			receive(t, f.Done(), "end of the call")
			d.quotient, d.remainder, d.err = f.Result()
			if err := f.Wait(soon(t)); !errors.Is(err, d.err) {
				t.Errorf("Wait says %v, Result %v", err, d.err)
			}
			return d
		},
		"callback": func(ctx context.Context, a, b int64) division {
			done, ended := intoChannel(t)
			calc.Callback(ctx, a, b, done)
			return receive(t, ended, "callback")
		},
	}
}

func TestFuturesAndCallbacksBringSeveralResults(t *testing.T) {
	pass := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error { return next(ctx, call) }
	for _, options := range []clientOptions{nil, {trunkcall.WithCodec(codefirst.JSON)}, {trunkcall.WithInterceptors(pass)}} {
		for way, divide := range dividesAnyhow(t, calculate(t, options...)) {
			if d := divide(soon(t), -7, 2); d != (division{-3, -1, nil}) {
				t.Errorf("%s: -7 / 2 is %v", way, d)
			}
			d := divide(soon(t), 7, 0)
			s := wants(t, d.err, trunkcall.InvalidArgument, trunkcall.Executed)
			wantsText(t, s.Message, "division by zero")
			if d.quotient != 0 || d.remainder != 0 {
				t.Errorf("%s: results beside the error: %v", way, d)
			}
		}
	}
}

// Without a context, with a list at the end, with options, with one result and
// with none.
func TestAsynchronousFunctionsHaveEveryShape(t *testing.T) {
	handlers, err := codefirst.ServiceHandlers("calc", calculator{}, everyMethod(calculator{}))
	if err != nil {
		t.Fatal(err)
	}
	s, target := serve(t, nil, handlers...)
	c := dial(t, target)
	if err := c.Register(handlers...); err != nil {
		t.Fatal(err)
	}
	for _, caller := range []trunkcall.Caller{c, connected(t, s)} {
		var calc struct {
			Sum     func(terms ...int) *codefirst.Future[func() (int, error)]
			SumTo   func(terms []int, done func(int, error))                                                                 `trunkcall:"sum"`
			Get     func(ctx context.Context, where string, options ...trunkcall.CallOption) *codefirst.Future[func() error] `trunkcall:"httpGet"`
			GetThen func(where string, done func(error), options ...trunkcall.CallOption)                                    `trunkcall:"httpGet"`
		}
		if err := codefirst.Bind(caller, "calc", &calc); err != nil {
			t.Fatal(err)
		}
		if sum, err := calc.Sum(1, 2, 3).Result(); sum != 6 || err != nil {
			t.Errorf("the sum is %d, %v", sum, err)
		}
		sums := make(chan string, 1)
		calc.SumTo([]int{4, 5}, func(sum int, err error) { sums <- fmt.Sprint(sum, err) })
		if sum := receive(t, sums, "sum"); sum != "9 <nil>" {
			t.Errorf("the sum is %s", sum)
		}
		var reply trunkcall.Reply
		if err := calc.Get(soon(t), "x", trunkcall.ReplyTo(&reply)).Result(); err != nil || reply.Peer.Remote == nil {
			t.Errorf("an option of the call was lost: %v, %v", reply, err)
		}
		errs := make(chan error, 1)
		calc.GetThen("x", func(err error) { errs <- err }, trunkcall.CallCodec(trunkcall.Protobuf))
		wants(t, receive(t, errs, "callback"), trunkcall.Unimplemented, trunkcall.NotSent)
	}
}

func TestManyCallsAreUnderWayAtOnce(t *testing.T) {
	divide := codefirst.Func[startsDividing](calculate(t), div)
	var futures [500]*codefirst.Future[func() (int64, int64, error)]
	for i := range futures {
		futures[i] = divide(soon(t), int64(i), 7)
	}
	for i, f := range futures {
		if q, r, err := f.Result(); err != nil || q != int64(i)/7 || r != int64(i)%7 {
			t.Fatalf("%d / 7 is %d, %d, %v", i, q, r, err)
		}
	}
}

func TestAnAsynchronousAnswerThatIsNotAsDeclaredIsInternal(t *testing.T) {
	q, _, err := codefirst.Func[func(a, b int64) *codefirst.Future[func() (int64, string, error)]](calculate(t), div)(7, 2).Result()
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "result 2 of /calc/div: want text")
	if q != 0 {
		t.Errorf("a result of %d beside the error", q)
	}
}

func TestAsynchronousArgumentsOfAWrongTypeAreNamed(t *testing.T) {
	c := calculate(t)
	errs := make(chan error, 1)
	codefirst.Func[func(a int64, b string, done func(error))](c, div)(7, "two", func(err error) { errs <- err })
	s := wants(t, receive(t, errs, "callback"), trunkcall.InvalidArgument, trunkcall.Refused)
	wantsText(t, s.Message, "parameter 2 of /calc/div: want a whole number", "got text")
	err := codefirst.Func[func(string) *codefirst.Future[func() error]](c, "calc/httpGet")("\xff").Result()
	s = wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent)
	wantsText(t, s.Message, "parameter 1 of /calc/httpGet", "UTF-8")
}

func TestAnAsynchronousFunctionEndsWithItsContext(t *testing.T) {
	s, target := serve(t, nil)
	calc := calculator{blocked: make(chan context.Context, 2)}
	if err := codefirst.RegisterService(s, "calc", calc, everyMethod(calc)); err != nil {
		t.Fatal(err)
	}
	c := dial(t, target)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	future := codefirst.Func[func(context.Context) *codefirst.Future[func() error]](c, "calc/block")(ctx)
	errs := make(chan error, 1)
	codefirst.Func[func(context.Context, func(error))](c, "calc/block")(ctx, func(err error) { errs <- err })
	for _, err := range []error{future.Result(), receive(t, errs, "callback")} {
		if !errors.Is(err, context.DeadlineExceeded) || trunkcall.StatusOf(err).Code != trunkcall.DeadlineExceeded {
			t.Errorf("the call ended with %v", err)
		}
	}
	for way, divide := range dividesAnyhow(t, c) {
		t.Log(way)
		wants(t, divide(ctx, 7, 2).err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
	}
}

func TestWaitForAFutureFuncGivesUpWaitingNotTheCall(t *testing.T) {
	s, target := serve(t, nil)
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	if err := codefirst.RegisterFunc(s, "test/block", func() int { entered <- struct{}{}; <-leave; return 7 }); err != nil {
		t.Fatal(err)
	}
	f := codefirst.Func[func() *codefirst.Future[func() (int, error)]](dial(t, target), "test/block")()
	receive(t, entered, "handler to start")
	ctx, cancel := context.WithCancel(soon(t))
	cancel()
	if err := f.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(leave)
	if err := f.Wait(soon(t)); err != nil {
		t.Error(err)
	}
	if n, err := f.Result(); n != 7 || err != nil {
		t.Error(n, err)
	}
}

func TestAClosedClientEndsAsynchronousFunctions(t *testing.T) {
	s, target := serve(t, nil)
	calc := calculator{blocked: make(chan context.Context, 1)}
	if err := codefirst.RegisterService(s, "calc", calc, everyMethod(calc)); err != nil {
		t.Fatal(err)
	}
	c := dial(t, target)
	open := codefirst.Func[func() *codefirst.Future[func() error]](c, "calc/block")()
	receive(t, calc.blocked, "handler to start")
	c.Close()
	if err := open.Result(); err == nil {
		t.Error("a call succeeded that cannot have")
	}
	for way, divide := range dividesAnyhow(t, c) {
		t.Log(way)
		wants(t, divide(soon(t), 7, 2).err, trunkcall.Canceled, trunkcall.NotSent)
	}
}

func TestAReflectedCallbackThatPanicsIsAlone(t *testing.T) {
	var log logged
	c := calculate(t, log.option())
	divide := codefirst.Func[dividesAndCalls](c, div)
	divide(soon(t), 7, 2, func(int64, int64, error) { panic("in a code-first callback") })
	eventually(t, "the panic is logged", func() bool { return log.has("in a code-first callback") })
	done, ended := intoChannel(t)
	divide(soon(t), 7, 2, done)
	if d := receive(t, ended, "callback"); d != (division{3, 1, nil}) {
		t.Error(d)
	}
}

// embedding is no future, though it has a future's methods.
type embedding struct {
	*codefirst.Future[func() error]
}

func TestAFunctionThatCannotCallAsynchronouslyIsToldAtOnce(t *testing.T) {
	c := newClient(t, "mem:nobody")
	defer c.Close()
	for _, test := range []struct {
		functions any
		says      []string
	}{
		{&struct {
			F func(done func(int64, error)) error
		}{}, []string{"field F: /calc/f", "return nothing"}},
		{&struct{ F func(done func(int64)) }{}, []string{"field F: /calc/f", "callback", "error last"}},
		{&struct{ F func(done func()) }{}, []string{"field F: /calc/f", "callback", "error last"}},
		{&struct {
			F func(done func() (int64, error))
		}{}, []string{"field F: /calc/f", "callback", "return nothing"}},
		{&struct{ F func(done func(error) error) }{}, []string{"field F: /calc/f", "callback", "return nothing"}},
		{&struct {
			F func(done func(chan int, error))
		}{}, []string{"field F: result 1 of /calc/f", "chan int"}},
		{&struct {
			F func(done func(error), a int64)
		}{}, []string{"field F: /calc/f", "callback behind the arguments"}},
		{&struct {
			F func(done func(error), a int64) error
		}{}, []string{"field F: parameter 1 of /calc/f", "func(error)"}},
		{&struct {
			F func() *codefirst.Future[int]
		}{}, []string{"field F: /calc/f", "future", "error last"}},
		{&struct {
			F func() *codefirst.Future[func() int]
		}{}, []string{"field F: /calc/f", "future", "error last"}},
		{&struct {
			F func() *codefirst.Future[func(int) error]
		}{}, []string{"field F: /calc/f", "future", "takes nothing"}},
		{&struct {
			F func() (*codefirst.Future[func() error], error)
		}{}, []string{"field F: /calc/f", "future alone"}},
		{&struct {
			F func() codefirst.Future[func() error]
		}{}, []string{"field F: /calc/f", "a *Future alone"}},
		{&struct{ F func() *embedding }{}, []string{"field F: /calc/f", "a *Future alone"}},
		{&struct {
			F func() *trunkcall.Future[int]
		}{}, []string{"field F: /calc/f", "a *Future alone"}},
		{&struct {
			F func(options []trunkcall.CallOption) error
		}{}, []string{"field F: parameter 1 of /calc/f", "CallOption"}},
		{&struct{ F int }{}, []string{"field F: /calc/f", "int"}},
		{&struct {
			F func() error `trunkcall:"a/b"`
		}{}, []string{"field F", `"a/b"`}},
	} {
		err := codefirst.Bind(c, "calc", test.functions)
		if err == nil {
			t.Errorf("no error that says %v", test.says)
			continue
		}
		wantsText(t, err.Error(), test.says...)
	}
}

func TestAMethodOfWhichOnlyTheNameIsKnownIsCalledAsynchronously(t *testing.T) {
	c := calculate(t)
	errs := make(chan error, 1)
	for _, codec := range []trunkcall.Codec{codefirst.MessagePack, codefirst.JSON} {
		var answer []int64
		trunkcall.InvokeFunc(soon(t), c, unary(div), []any{7, 2}, &answer, func(err error) { errs <- err }, trunkcall.CallCodec(codec))
		if err := receive(t, errs, "callback"); err != nil || fmt.Sprint(answer) != "[3 1]" {
			t.Errorf("%s: 7 / 2 is %v, %v", codec.Name(), answer, err)
		}
		var unknown any
		trunkcall.InvokeFunc(soon(t), c, unary(div), []any{7, "two"}, &unknown, func(err error) { errs <- err }, trunkcall.CallCodec(codec))
		s := wants(t, receive(t, errs, "callback"), trunkcall.InvalidArgument, trunkcall.Refused)
		wantsText(t, s.Message, "parameter 2 of /calc/div: want a whole number", "got text")
		if unknown != nil {
			t.Errorf("an answer of %v beside the error", unknown)
		}
	}
	trunkcall.InvokeFunc(soon(t), c, unary(div), text("7"), text(""), func(err error) { errs <- err })
	s := wants(t, receive(t, errs, "callback"), trunkcall.Unimplemented, trunkcall.Refused)
	wantsText(t, s.Message, "protobuf", "/calc/div", "msgpack", "json")
}
