package codefirst_test

import (
	"context"
	"errors"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// calculator is registered as it is; its names do not leave it.
type calculator struct{ blocked chan context.Context }

func (calculator) Div(_ context.Context, a, b int64) (quotient, remainder int64, err error) {
	if b == 0 {
		return 0, 0, trunkcall.Errorf(trunkcall.InvalidArgument, "division by zero")
	}
	return a / b, a % b, nil
}

func (calculator) Sum(terms ...int) int {
	sum := 0
	for _, term := range terms {
		sum += term
	}
	return sum
}

func (calculator) HTTPGet(string) error { return nil }

func (calculator) Panic(string) string { panic("a secret") }

func (c calculator) Block(ctx context.Context) error {
	c.blocked <- ctx
	<-ctx.Done()
	return ctx.Err()
}

func (calculator) Order(o order) (order, error) { return o, nil }

// order has a field of each kind.
type order struct {
	ID      uint64
	Name    string `json:"title,omitempty"`
	Items   []item
	ByColor map[string]*item
	Raw     []byte
	Digest  [4]byte
	Pair    [2]int8
	At      time.Time
	For     time.Duration
	Host    netip.Addr
	Big     *big.Int
	Extra   any
	Next    *order
	hidden  int //nolint:unused // it is not to be carried
	stamped
}

type stamped struct{ Version int }

type item struct {
	Count uint8
	Price float32
}

var div = "calc/div"

type divides = func(ctx context.Context, a, b int64) (int64, int64, error)

// calculate serves a calculator as calc and connects to it.
func calculate(t testing.TB, options ...trunkcall.ClientOption) *trunkcall.Client {
	t.Helper()
	s, target := serve(t, nil)
	if err := codefirst.RegisterService(s, "calc", calculator{blocked: make(chan context.Context, 1)}, everyMethod(calculator{})); err != nil {
		t.Fatal(err)
	}
	return dial(t, target, options...)
}

func TestAMethodWithSeveralResultsIsCalledAsAFunction(t *testing.T) {
	for _, options := range []clientOptions{nil, {trunkcall.WithCodec(codefirst.JSON)}, {trunkcall.WithCodec(codefirst.MessagePack)}} {
		c := calculate(t, options...)
		q, r, err := codefirst.Func[divides](c, div)(soon(t), -7, 2)
		if q != -3 || r != -1 || err != nil {
			t.Errorf("-7 / 2 is %d, %d, %v", q, r, err)
		}
		_, _, err = codefirst.Func[divides](c, div)(soon(t), 7, 0)
		s := wants(t, err, trunkcall.InvalidArgument, trunkcall.Executed)
		wantsText(t, s.Message, "division by zero")
	}
}

func TestAStructOfFunctionsIsBound(t *testing.T) {
	c := calculate(t)
	var calc struct {
		Div     divides
		Sum     func(terms ...int) (int, error)
		Fetch   func(ctx context.Context, where string, options ...trunkcall.CallOption) error `trunkcall:"httpGet"`
		Skipped func()                                                                         `trunkcall:"-"`
		private func()
	}
	if err := codefirst.Bind(c, "calc", &calc); err != nil {
		t.Fatal(err)
	}
	if q, r, err := calc.Div(soon(t), 7, 2); q != 3 || r != 1 || err != nil {
		t.Errorf("7 / 2 is %d, %d, %v", q, r, err)
	}
	if sum, err := calc.Sum(1, 2, 3); sum != 6 || err != nil {
		t.Errorf("the sum is %d, %v", sum, err)
	}
	if sum, err := calc.Sum(); sum != 0 || err != nil {
		t.Errorf("the sum of nothing is %d, %v", sum, err)
	}
	var reply trunkcall.Reply
	if err := calc.Fetch(soon(t), "x", trunkcall.ReplyTo(&reply)); err != nil || reply.Peer.Remote == nil {
		t.Errorf("an option of the call was lost: %v, %v", reply, err)
	}
	if calc.Skipped != nil || calc.private != nil {
		t.Error("fields were bound that must not be")
	}
}

func TestAStructGoesThereAndBack(t *testing.T) {
	sent := order{
		ID: 1 << 63, Name: "n", Items: []item{{Count: 3, Price: 0.1}, {}}, ByColor: map[string]*item{"red": {Count: 255}, "none": nil},
		Raw: []byte{0, 255}, Digest: [4]byte{1, 2, 3, 4}, Pair: [2]int8{-1, 1},
		At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), For: -time.Millisecond, Host: netip.MustParseAddr("::1"),
		Big: big.NewInt(1), Extra: map[string]any{"a": []any{int64(1), "b", nil, 1.5, true}},
		Next: &order{Items: []item{}, ByColor: map[string]*item{}, Raw: []byte{}}, stamped: stamped{Version: 7},
	}
	sent.Big.Lsh(sent.Big, 100)
	for _, codec := range []trunkcall.Codec{codefirst.MessagePack, codefirst.JSON} {
		c := calculate(t, trunkcall.WithCodec(codec))
		got, err := codefirst.Func[func(context.Context, order) (order, error)](c, "calc/order")(soon(t), sent)
		if err != nil || !reflect.DeepEqual(got, sent) {
			t.Errorf("%s: %+v came back, %v", codec.Name(), got, err)
		}
	}
}

func TestOtherNamesThanGosArePublished(t *testing.T) {
	handlers, err := codefirst.ServiceHandlers("shop.Calc", calculator{},
		codefirst.PublishAs("HTTPGet", "fetch"), codefirst.Methods("Div", "Sum"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range handlers {
		names = append(names, h.Method.Name)
	}
	if want := []string{"/shop.Calc/div", "/shop.Calc/fetch", "/shop.Calc/sum"}; !reflect.DeepEqual(names, want) {
		t.Errorf("served are %v, want %v", names, want)
	}
}

func errorFirst() (error, int) { return nil, 0 } //nolint:staticcheck,revive // that is the point

type (
	twice   struct{}
	careful struct{}
	nothing struct{}
)

func (twice) GetURL()                        {}
func (twice) GetUrl()                        {} //nolint:revive // that is the point
func (careful) Watch(string, chan int) error { return nil }

// guarded embeds what is nobody else's affair.
type guarded struct {
	sync.Mutex
	sum int
}

type adds interface{ Add(n int) int }

func (g *guarded) Close() error { return nil }

func (g *guarded) Add(n int) int {
	g.Lock()
	defer g.Unlock()
	g.sum += n
	return g.sum
}

func TestOnlyMethodsThatAreNamedAreServed(t *testing.T) {
	for how, option := range map[string]codefirst.ServiceOption{
		"by name": codefirst.Methods("Add"), "by an interface": codefirst.Interface[adds](), "under another name": codefirst.PublishAs("Add", "add"),
	} {
		s, c := join(t)
		if err := codefirst.RegisterService(s, "sum", &guarded{}, option); err != nil {
			t.Fatal(how, err)
		}
		if got := s.Methods(); len(got) != 1 || got[0].Name != "/sum/add" {
			t.Errorf("%s: served are %v", how, got)
		}
		if n, err := codefirst.Func[func(int) (int, error)](c, "sum/add")(3); n != 3 || err != nil {
			t.Error(how, n, err)
		}
		wants(t, codefirst.Func[func() error](c, "sum/lock")(), trunkcall.Unimplemented, trunkcall.Refused)
	}
}

func TestWhatCannotBeServedIsToldAtOnce(t *testing.T) {
	s := newServer(t)
	for _, test := range []struct {
		err  error
		says []string
	}{
		{codefirst.RegisterService(s, "x", careful{}, everyMethod(careful{})), []string{"parameter 2 of /x/watch", "chan int"}},
		{codefirst.RegisterService(s, "x", twice{}, everyMethod(twice{})), []string{"GetURL", "GetUrl", "getUrl"}},
		{codefirst.RegisterService(s, "x", nothing{}), []string{"no exported ones"}},
		{codefirst.RegisterService(s, "x", &guarded{}), []string{"Add, Close, Lock, TryLock, Unlock", "Methods", "Interface"}},
		{codefirst.RegisterService(s, "x", &guarded{}, codefirst.Methods("Add", "Remove")), []string{"the method Remove", "Add, Close, Lock, TryLock, Unlock"}},
		{codefirst.RegisterService(s, "x", guarded{}, codefirst.Methods("Add")), []string{"the method Add", "no exported ones"}},
		{codefirst.RegisterService(s, "x", &guarded{}, codefirst.Interface[interface{ Subtract() }]()), []string{"does not implement", "Add, Close"}},
		{codefirst.RegisterService(s, "x", &guarded{}, codefirst.Interface[int]()), []string{"int is no interface"}},
		{codefirst.RegisterService(s, "x", &guarded{}, codefirst.Methods("Add"), codefirst.WithoutSideEffects("Close")), []string{"Close", "not to be served"}},
		{codefirst.RegisterService(s, "x", nil), []string{"no value"}},
		{codefirst.RegisterService(s, "a/b", calculator{}, everyMethod(calculator{})), []string{`"a/b"`}},
		{codefirst.RegisterService(s, "x", calculator{}, codefirst.PublishAs("Dvi", "d")), []string{"Dvi"}},
		{codefirst.RegisterService(s, "x", calculator{}, codefirst.PublishAs("Div", "a/b")), []string{`"a/b"`}},
		{codefirst.RegisterFunc(s, "x/f", 7), []string{"x/f", "int"}},
		{codefirst.RegisterFunc(s, "x/f", func(func()) {}), []string{"parameter 1 of /x/f", "func()"}},
		{codefirst.RegisterFunc(s, "x/f", errorFirst), []string{"result 1 of /x/f", "error"}},
		{codefirst.RegisterFunc(s, "x/f", func(int, context.Context) {}), []string{"parameter 2 of /x/f", "context"}},
		{codefirst.RegisterFunc(s, "x/f", func(struct{ A, a int }, struct{ a int }) {}), []string{"parameter 2", "no exported fields"}},
		{codefirst.RegisterFunc(s, "x/f", func(map[bool]int) {}), []string{"parameter 1", "map[bool]int", "keys"}},
		{codefirst.RegisterFunc(s, "x/f", func(*payload) {}), []string{"parameter 1", "Protobuf"}},
		{codefirst.RegisterFunc(s, "x/f", func(**int) {}), []string{"parameter 1", "null"}},
		{codefirst.RegisterFunc(s, "x/f", func(struct{ C []complex64 }) {}), []string{"parameter 1", "field C", "complex64"}},
	} {
		if test.err == nil {
			t.Errorf("no error that says %v", test.says)
			continue
		}
		wantsText(t, test.err.Error(), test.says...)
	}
	if served := s.Methods(); len(served) != 0 {
		t.Errorf("served are %v nevertheless", served)
	}
}

func TestAFunctionThatCannotCallIsToldAtOnce(t *testing.T) {
	c := newClient(t, "mem:nobody")
	defer c.Close()
	var noError struct{ Div func(a, b int) int }
	wantsText(t, codefirst.Bind(c, "calc", &noError).Error(), "/calc/div", "error last")
	var noFunction struct{ Div int }
	wantsText(t, codefirst.Bind(c, "calc", &noFunction).Error(), "/calc/div", "int")
	wantsText(t, codefirst.Bind(c, "calc", noError).Error(), "pointer")
	wantsText(t, codefirst.Bind(c, "calc", &struct{}{}).Error(), "no exported functions")
	defer func() {
		said, _ := recover().(string)
		wantsText(t, said, "/calc/div", "chan int")
	}()
	codefirst.Func[func(chan int) error](c, div)
}

func TestABadRequestNamesTheParameterAndIsRefused(t *testing.T) {
	c := calculate(t)
	for _, test := range []struct {
		request any
		says    string
	}{
		{[]any{7}, "/calc/div takes 2 parameters, got 1"},
		{[]any{7, 2, 1}, "/calc/div takes 2 parameters, got 3"},
		{7, "/calc/div takes an array of 2 parameters: want an array, got a whole number"},
		{[]any{7, "two"}, "parameter 2 of /calc/div: want a whole number from -9223372036854775808 to 9223372036854775807, got text"},
		{[]any{nil, 2}, "parameter 1 of /calc/div: want a whole number from -9223372036854775808 to 9223372036854775807, got null"},
		{[]any{7, uint64(1 << 63)}, "parameter 2 of /calc/div: want a whole number from -9223372036854775808 to 9223372036854775807, got a number out of range"},
	} {
		var answer any
		err := c.Invoke(soon(t), unary(div), test.request, &answer, trunkcall.CallCodec(codefirst.MessagePack))
		s := wants(t, err, trunkcall.InvalidArgument, trunkcall.Refused)
		if s.Message != test.says {
			t.Errorf("the message is %q, want %q", s.Message, test.says)
		}
	}
	err := c.Invoke(soon(t), unary("calc/order"), []any{map[string]any{"items": []any{map[string]any{}, map[string]any{"count": 256}}}}, new(any),
		trunkcall.CallCodec(codefirst.JSON))
	s := wants(t, err, trunkcall.InvalidArgument, trunkcall.Refused)
	if want := "parameter 1 of /calc/order, at .items[1].count: want a whole number from 0 to 255, got a number out of range"; s.Message != want {
		t.Errorf("the message is %q, want %q", s.Message, want)
	}
}

func TestACodecThatCannotCarryArgumentsNamesThoseThatCan(t *testing.T) {
	c := calculate(t)
	function := codefirst.Func[func(ctx context.Context, a, b int64, o ...trunkcall.CallOption) (int64, int64, error)](c, div)
	_, _, err := function(soon(t), 7, 2, trunkcall.CallCodec(trunkcall.Protobuf))
	s := wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent)
	wantsText(t, s.Message, "protobuf", "/calc/div", "msgpack", "json")
	err = c.Invoke(soon(t), unary(div), text("7"), text(""))
	s = wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
	wantsText(t, s.Message, "protobuf", "/calc/div", "msgpack", "json")
	if q, _, err := function(soon(t), 7, 2, trunkcall.CallCodec(codefirst.JSON)); q != 3 || err != nil {
		t.Errorf("7 / 2 is %d, %v", q, err)
	}
}

func TestArgumentsThatCannotBeWrittenAreNotSent(t *testing.T) {
	c := calculate(t)
	err := codefirst.Func[func(string) error](c, "calc/httpGet")("\xff")
	s := wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent)
	wantsText(t, s.Message, "parameter 1 of /calc/httpGet", "UTF-8")
	loop := &order{}
	loop.Next = loop
	_, err = codefirst.Func[func(*order) (order, error)](c, "calc/order")(loop)
	s = wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent)
	wantsText(t, s.Message, "max_nesting 100")
}

func TestAnAnswerOfMoreResultsThanDeclaredIsInternal(t *testing.T) {
	s, target := serve(t, nil)
	if err := codefirst.RegisterFunc(s, div, func() (quotient, remainder, divisor int) { return 3, 1, 2 }); err != nil {
		t.Fatal(err)
	}
	_, _, err := codefirst.Func[func() (int, int, error)](dial(t, target), div)()
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "/calc/div: want 2 results, got 3")
}

func TestAnAnswerThatIsNotAsDeclaredIsInternal(t *testing.T) {
	c := calculate(t)
	q, err := codefirst.Func[func(a, b int64) (int64, error)](c, div)(7, 2)
	s := wants(t, err, trunkcall.Internal, trunkcall.Executed)
	wantsText(t, s.Message, "/calc/div: want 1 result, got 2", "want a whole number")
	if q != 0 {
		t.Errorf("a result of %d beside the error", q)
	}
	_, _, _, err = codefirst.Func[func(a, b int64) (int64, int64, int64, error)](c, div)(7, 2)
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "/calc/div: want 3 results, got 2")
	q, _, err = codefirst.Func[func(a, b int64) (int64, string, error)](c, div)(7, 2)
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "result 2 of /calc/div: want text")
	if q != 0 {
		t.Errorf("a result of %d beside the error", q)
	}
	if err := codefirst.Func[func(a, b int64) error](c, div)(7, 2); err != nil {
		t.Errorf("results that nobody wants: %v", err)
	}
}

func TestAPanicAndGosNamesStayInside(t *testing.T) {
	c := calculate(t)
	_, err := codefirst.Func[func(string) (string, error)](c, "calc/panic")("x")
	s := wants(t, err, trunkcall.Internal, trunkcall.Executed)
	for _, secret := range []string{"secret", "calculator", "Panic", "reflect"} {
		if strings.Contains(s.Message, secret) {
			t.Errorf("%q tells of %s", s.Message, secret)
		}
	}
}

func TestADeadlineReachesTheFunctionsContext(t *testing.T) {
	s, target := serve(t, nil)
	calc := calculator{blocked: make(chan context.Context, 1)}
	if err := codefirst.RegisterService(s, "calc", calc, everyMethod(calc)); err != nil {
		t.Fatal(err)
	}
	c := dial(t, target)
	ctx, cancel := context.WithCancel(soon(t))
	errs := make(chan error, 1)
	go func() { errs <- codefirst.Func[func(context.Context) error](c, "calc/block")(ctx) }()
	handlers := receive(t, calc.blocked, "handler to start")
	if _, ok := handlers.Deadline(); !ok {
		t.Error("the function's context has no deadline")
	}
	cancel()
	if err := receive(t, errs, "end of the call"); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	receive(t, handlers.Done(), "end of the handler's context")
}

func BenchmarkCodeFirstCall(b *testing.B) {
	s := newServer(b)
	defer s.Close()
	target := "mem:BenchmarkCodeFirstCall"
	if _, err := s.Listen(target); err != nil {
		b.Fatal(err)
	}
	if err := codefirst.RegisterService(s, "calc", calculator{}, everyMethod(calculator{})); err != nil {
		b.Fatal(err)
	}
	if err := s.Register(echo.Handler(serveEcho)); err != nil {
		b.Fatal(err)
	}
	c := dial(b, target)
	b.Run("code-first", func(b *testing.B) {
		divide := codefirst.Func[divides](c, div)
		b.ReportAllocs()
		for range b.N {
			if q, _, err := divide(context.Background(), 7, 2); q != 3 || err != nil {
				b.Fatal(q, err)
			}
		}
	})
	b.Run("future", func(b *testing.B) {
		divide := codefirst.Func[startsDividing](c, div)
		b.ReportAllocs()
		for range b.N {
			if q, _, err := divide(context.Background(), 7, 2).Result(); q != 3 || err != nil {
				b.Fatal(q, err)
			}
		}
	})
	b.Run("callback", func(b *testing.B) {
		divide := codefirst.Func[dividesAndCalls](c, div)
		ended := make(chan int64, 1)
		done := func(quotient, _ int64, _ error) { ended <- quotient }
		b.ReportAllocs()
		for range b.N {
			if divide(context.Background(), 7, 2, done); <-ended != 3 {
				b.Fatal("7 / 2 is not 3")
			}
		}
	})
	b.Run("protobuf", func(b *testing.B) {
		request := text("seven")
		b.ReportAllocs()
		for range b.N {
			if _, err := echo.Call(context.Background(), c, request); err != nil {
				b.Fatal(err)
			}
		}
	})
}
