package codefirst_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// What stands around code-first methods: interceptors, codecs, logs.

func TestInterceptorsSeeAndReplaceArgumentsAndResults(t *testing.T) {
	atServer := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		arguments := call.Request.(*codefirst.Arguments)
		if arguments.Values()[1] == int64(100) {
			call.Response = codefirst.NewResults(1, "cached")
			return nil
		}
		if err := arguments.Set(0, "a text"); err == nil {
			t.Error("an argument was set to another type")
		}
		if err := arguments.Set(0, arguments.Values()[0].(int64)*10); err != nil {
			t.Error(err)
		}
		return next(ctx, call)
	}
	s, target := serve(t, serverOptions{trunkcall.WithInterceptors(atServer)})
	if err := codefirst.RegisterService(s, "calc", calculator{}, everyMethod(calculator{})); err != nil {
		t.Fatal(err)
	}
	atClient := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		if call.Request.(*codefirst.Arguments).Values()[0] == int64(1) {
			_ = call.Response.(*codefirst.Results).Set(0, int64(5))
			return call.Response.(*codefirst.Results).Set(1, int64(6))
		}
		err := next(ctx, call)
		if err == nil && call.Response.(*codefirst.Results).Len() != 2 {
			t.Error("the results are not there")
		}
		return err
	}
	function := codefirst.Func[divides](dial(t, target, trunkcall.WithInterceptors(atClient)), div)
	if q, r, err := function(soon(t), 7, 3); q != 23 || r != 1 || err != nil {
		t.Errorf("70 / 3 is %d, %d, %v", q, r, err)
	}
	if q, r, err := function(soon(t), 1, 3); q != 5 || r != 6 || err != nil {
		t.Errorf("the client's interceptor answered %d, %d, %v", q, r, err)
	}
	_, _, err := function(soon(t), 2, 100)
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "result 2 of /calc/div: want a whole number")
}

// undescribed says of its values what callers must not read.
type undescribed struct{ secret chan int }

func (undescribed) MarshalText() ([]byte, error) { return nil, errors.New("a secret") }
func (*undescribed) UnmarshalText([]byte) error  { return errors.New("a secret") }

func TestGosTypesAndErrorsStayInside(t *testing.T) {
	var log strings.Builder
	s, target := serve(t, serverOptions{
		trunkcall.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), trunkcall.WithCodecs(codefirst.MessagePack),
	})
	ask := trunkcall.Unary[struct{ C chan int }, reply]("test/ask")
	for name, f := range map[string]any{
		"test/any":  func() any { return []any{undescribed{}.secret} },
		"test/text": func() (int, undescribed) { return 1, undescribed{} },
		"test/take": func(undescribed) {},
	} {
		if err := codefirst.RegisterFunc(s, name, f); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.Register(ask.Handler(func(context.Context, *struct{ C chan int }) (*reply, error) { return &reply{}, nil }))
	c := dial(t, target)
	for name, want := range map[string]string{
		"test/any":  "result 1 of /test/any cannot be carried",
		"test/text": "result 2 of /test/text cannot be carried",
		"test/take": "parameter 1 of /test/take: this text is not one of its values",
		"test/ask":  "codec msgpack cannot carry the messages of this method",
	} {
		request := []any{"x"}
		if name == "test/any" || name == "test/text" {
			request = []any{}
		}
		err := c.Invoke(soon(t), unary(name), request, new(any), trunkcall.CallCodec(codefirst.MessagePack))
		if status := trunkcall.StatusOf(err); status.Message != want {
			t.Errorf("%s ends with %v, want %q", name, status, want)
		}
	}
	c.Close()
	s.Close()
	wantsText(t, strings.Join(strings.Fields(log.String()), " "), "/test/any", "chan int", "a secret")
}

// columns is a codec of one's own: what a codec has to know of arguments.
type columns struct{ trunkcall.Codec }

func (columns) Name() string  { return "columns" }
func (columns) Number() uint8 { return 9 }

func (c columns) Append(dst []byte, message any) ([]byte, error) {
	switch m := message.(type) {
	case *codefirst.Arguments:
		message = m.Values()
	case *codefirst.Results:
		message = m.Values()
	}
	return c.Codec.Append(dst, message)
}

func (c columns) Decode(data []byte, message any) error {
	var pointers []any
	switch m := message.(type) {
	case *codefirst.Arguments:
		pointers = m.Pointers()
	case *codefirst.Results:
		pointers = m.Pointers()
	}
	var all []int64
	if err := c.Codec.Decode(data, &all); err != nil || len(all) != len(pointers) {
		return errors.New("not so many numbers")
	}
	for i, p := range pointers {
		*p.(*int64) = all[i]
	}
	return nil
}

func TestACodecOfOnesOwnCarriesArguments(t *testing.T) {
	codec := columns{codefirst.JSON}
	s, target := serve(t, serverOptions{trunkcall.WithCodecs(codec)})
	if err := codefirst.RegisterService(s, "calc", calculator{}, everyMethod(calculator{})); err != nil {
		t.Fatal(err)
	}
	q, r, err := codefirst.Func[divides](dial(t, target, trunkcall.WithCodec(codec)), div)(soon(t), 7, 2)
	if q != 3 || r != 1 || err != nil {
		t.Errorf("7 / 2 is %d, %d, %v", q, r, err)
	}
}

// question and reply are messages without code-first.
type (
	question struct{ Text string }
	reply    struct{ Answer []string }
)

func TestStructsAreMessagesInBothCodecs(t *testing.T) {
	ask := trunkcall.Unary[question, reply]("/test.Oracle/Ask")
	_, target := serve(t, serverOptions{trunkcall.WithCodecs(codefirst.MessagePack, codefirst.JSON)}, ask.Handler(func(_ context.Context, q *question) (*reply, error) {
		return &reply{Answer: strings.Fields(q.Text)}, nil
	}))
	for _, codec := range []trunkcall.Codec{codefirst.MessagePack, codefirst.JSON} {
		c := dial(t, target, trunkcall.WithCodec(codec))
		got, err := ask.Call(soon(t), c, &question{Text: "a b"})
		if err != nil || !reflect.DeepEqual(got.Answer, []string{"a", "b"}) {
			t.Errorf("%s: %v, %v", codec.Name(), got, err)
		}
		err = c.Invoke(soon(t), unary("/test.Oracle/Ask"), map[string]any{"text": 7}, &reply{})
		s := wants(t, err, trunkcall.InvalidArgument, trunkcall.Refused)
		wantsText(t, s.Message, codec.Name(), "at .text: want text, got")
	}
}

func TestProtobufMessagesHaveTheirOwnJSON(t *testing.T) {
	c := dial(t, func() string { _, target := serve(t, nil, echo.Handler(serveEcho)); return target }(), trunkcall.WithCodec(codefirst.JSON))
	if out, err := echo.Call(soon(t), c, text("as JSON")); err != nil || string(out.Value) != "as JSON" {
		t.Fatal(out, err)
	}
	_, err := echo.Call(soon(t), c, text("x"), trunkcall.CallCodec(codefirst.MessagePack))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent).Message, "is a Protobuf message")
}

func TestAServerCallsItsClientCodeFirst(t *testing.T) {
	s, c := join(t)
	if err := codefirst.RegisterService(c, "calc", calculator{}, everyMethod(calculator{})); err != nil {
		t.Fatal(err)
	}
	if err := codefirst.RegisterFunc(c, "calc/twice", func(n int) int { return 2 * n }); err != nil {
		t.Fatal(err)
	}
	conn := connected(t, s)
	div := codefirst.Func[func(context.Context, int, int) (int, int, error)](conn, "calc/div")
	if q, r, err := div(soon(t), 7, 2); err != nil || q != 3 || r != 1 {
		t.Error(q, r, err)
	}
	twice := codefirst.Func[func(int) (int, error)](conn, "calc/twice")
	if n, err := twice(4); err != nil || n != 8 {
		t.Error(n, err)
	}
}
