package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// failing answers with whatever the test wants at the time.
func failing(with *error) []trunkcall.Handler {
	return []trunkcall.Handler{
		block.Handler(func(context.Context, *payload) (*payload, error) { return nil, *with }),
		trunkcall.Bidi[payload, payload]("/test.Service/FailStream").Handler(
			func(_ context.Context, s *trunkcall.BidiStream[payload, payload]) error {
				_ = s.Send(text("first"))
				return *with
			}),
	}
}

func failUnary(t *testing.T, c *trunkcall.Client) error {
	_, err := block.Call(soon(t), c, text(""))
	return err
}

func failStream(t *testing.T, c *trunkcall.Client) error {
	t.Helper()
	s, err := trunkcall.OpenStream(soon(t), c, trunkcall.NewMethod("/test.Service/FailStream", trunkcall.KindBidiStream))
	if err != nil {
		t.Fatal(err)
	}
	if first := s.Receive(&payload{}); first != nil {
		t.Fatal(first)
	}
	return s.Receive(&payload{})
}

// failBoth makes both calls of failing and checks that they fail alike.
func failBoth(t *testing.T, c *trunkcall.Client) error {
	t.Helper()
	err, again := failUnary(t, c), failStream(t, c)
	if fmt.Sprint(err) != fmt.Sprint(again) {
		t.Fatalf("unary %v, stream %v", err, again)
	}
	return err
}

func TestEveryCodeArrivesWithMessageAndDetails(t *testing.T) {
	var with error
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		for code := trunkcall.Canceled; code <= trunkcall.Unauthenticated; code++ {
			message := fmt.Sprintf("message of %v, with ünïcode", code)
			detail := &errdetails.ErrorInfo{Reason: "R", Domain: "d", Metadata: map[string]string{"k": "v"}}
			with = trunkcall.Status{Code: code, Message: message}.WithDetails(detail, &errdetails.RequestInfo{RequestId: "7"}).Err()
			s := wants(t, failBoth(t, c), code, trunkcall.Executed)
			if s.Message != message || len(s.Details) != 2 {
				t.Fatalf("%v: %q, details %v", code, s.Message, s.Details)
			}
			got := &errdetails.ErrorInfo{}
			if s.Details[0].TypeURL != "type.googleapis.com/google.rpc.ErrorInfo" ||
				proto.Unmarshal(s.Details[0].Value, got) != nil || !proto.Equal(got, detail) {
				t.Fatalf("%v: detail %v", code, s.Details[0])
			}
		}
	}, failing(&with)...)
}

// failID finds the id of an error whose text only the log tells.
var failID = regexp.MustCompile(`^the handler (failed|panicked) \(error ([0-9a-f]{16}) in the log of the (server|client)\)$`)

func TestWhatAForeignErrorSaysIsForTheLog(t *testing.T) {
	var log logged
	var with error
	_, target := serve(t, serverOptions{log.option()}, failing(&with)...)
	c := dial(t, target)
	for _, tried := range []struct {
		err  error
		code trunkcall.Code
		says string // "": an id
	}{
		{errors.New("a secret 1"), trunkcall.Unknown, ""},
		{fmt.Errorf("a secret 2: %w", context.DeadlineExceeded), trunkcall.DeadlineExceeded, ""},
		{fmt.Errorf("a secret 3: %w", context.Canceled), trunkcall.Canceled, ""},
		{context.DeadlineExceeded, trunkcall.DeadlineExceeded, ""}, // of contexts of its own: the call goes on
		{context.Canceled, trunkcall.Canceled, ""},
		{io.EOF, trunkcall.Unknown, ""},
		{fmt.Errorf("a secret: %w", trunkcall.Errorf(trunkcall.NotFound, "inner")), trunkcall.NotFound, "inner"},
		{trunkcall.Errorf(99, "no such code"), trunkcall.Unknown, "no such code"},
	} {
		with = tried.err
		for _, err := range []error{failUnary(t, c), failStream(t, c)} {
			s := wants(t, err, tried.code, trunkcall.Executed)
			if errors.Unwrap(err) != nil {
				t.Errorf("%v: the caller's context seems to have ended: %v", tried.err, errors.Unwrap(err))
			}
			if tried.says != "" {
				if s.Message != tried.says {
					t.Errorf("%v becomes %v", tried.err, s)
				}
				continue
			}
			id := failID.FindStringSubmatch(s.Message)
			if id == nil {
				t.Fatalf("%v becomes %v", tried.err, s)
			}
			eventually(t, "the log has the text beside the id", func() bool { return log.has("id="+id[2], tried.err.Error()) })
		}
	}
}

func TestAHandlerThatEndsWithItsCallIsNoFailure(t *testing.T) {
	var log logged
	ended := make(chan error, 2)
	s, target := serve(t, serverOptions{log.option()}, block.Handler(func(ctx context.Context, _ *payload) (*payload, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}))
	c := dial(t, target)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := block.Call(ctx, c, text(""))
	if code := trunkcall.StatusOf(err).Code; code != trunkcall.DeadlineExceeded {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = block.Call(ctx, c, text(""))
	if code := trunkcall.StatusOf(err).Code; code != trunkcall.Canceled {
		t.Fatal(err)
	}
	if err := s.Stop(soon(t)); err != nil {
		t.Fatal(err)
	}
	if log.has("handler failed") {
		t.Errorf("logged after %v", <-ended)
	}
}

func TestAPanicIsInternalAndTheLogHasItBesideAnID(t *testing.T) {
	var log logged
	_, target := serve(t, serverOptions{log.option()}, block.Handler(func(context.Context, *payload) (*payload, error) { panic("a secret") }))
	_, err := block.Call(soon(t), dial(t, target), text(""))
	id := failID.FindStringSubmatch(wants(t, err, trunkcall.Internal, trunkcall.Executed).Message)
	if id == nil || id[1] != "panicked" || id[3] != "server" {
		t.Fatal(err)
	}
	eventually(t, "the log has the text beside the id", func() bool { return log.has("id="+id[2], "a secret") })
}

// The end of a call must fit one frame: details go first, then the message is
// cut, at a character's boundary.
func TestAStatusTooLargeForItsFrameIsStripped(t *testing.T) {
	var with error
	_, c := join(t, failing(&with)...)
	with = trunkcall.Status{Code: trunkcall.Aborted, Message: "short"}.
		WithDetails(&errdetails.RequestInfo{RequestId: strings.Repeat("x", 70_000)}).Err()
	if s := wants(t, failBoth(t, c), trunkcall.Aborted, trunkcall.Executed); s.Message != "short" || len(s.Details) != 0 {
		t.Fatalf("%d bytes of message, %d details", len(s.Message), len(s.Details))
	}
	with = trunkcall.Errorf(trunkcall.Aborted, "%s", strings.Repeat("é", 50_000))
	s := wants(t, failBoth(t, c), trunkcall.Aborted, trunkcall.Executed)
	if len(s.Message) < 60_000 || strings.Trim(s.Message, "é") != "" {
		t.Fatalf("%d bytes of message", len(s.Message))
	}
}

func TestMessageThatIsNotUTF8IsRepaired(t *testing.T) {
	var with error = trunkcall.Errorf(trunkcall.Aborted, "a\xffb")
	_, c := join(t, failing(&with)...)
	if s := wants(t, failBoth(t, c), trunkcall.Aborted, trunkcall.Executed); s.Message != "a\ufffdb" {
		t.Fatalf("%q", s.Message)
	}
}

func TestAStatusPrintsItsCodeMessageAndDelivery(t *testing.T) {
	s := trunkcall.StatusOf(trunkcall.Errorf(trunkcall.NotFound, "no user %d", 7))
	for delivery, want := range map[trunkcall.Delivery]string{
		trunkcall.DeliveryUnknown: "NOT_FOUND: no user 7 (delivery unknown)",
		trunkcall.NotSent:         "NOT_FOUND: no user 7 (not sent)",
		trunkcall.Refused:         "NOT_FOUND: no user 7 (refused)",
		trunkcall.Executed:        "NOT_FOUND: no user 7",
	} {
		s.Delivery = delivery
		if s.Err().Error() != want || s.String() != want {
			t.Errorf("%q and %q, want %q", s.Err(), s, want)
		}
	}
	if with := s.WithDetails(&errdetails.RequestInfo{}); len(with.Details) != 1 || len(s.Details) != 0 {
		t.Error("WithDetails changed its receiver")
	}
}

// A Status that nobody has filled in is a success; with a code alone, a failure with an unknown delivery.
func TestTheZeroValuesOfAStatus(t *testing.T) {
	var none trunkcall.Status
	if none.Err() != nil || none.String() != "OK" || trunkcall.StatusOf(nil).Code != trunkcall.OK {
		t.Errorf("%v, %v", none, none.Err())
	}
	var delivery trunkcall.Delivery
	if delivery != trunkcall.DeliveryUnknown || trunkcall.StatusOf(trunkcall.Errorf(trunkcall.Aborted, "")).Delivery != delivery {
		t.Errorf("the zero value of a delivery is %v", delivery)
	}
	if err := trunkcall.Errorf(trunkcall.OK, "all is well"); trunkcall.StatusOf(err).Code != trunkcall.Unknown {
		t.Errorf("an error that says OK: %v", err)
	}
}

func TestAWrappedStatusIsFound(t *testing.T) {
	err := fmt.Errorf("while booking: %w", trunkcall.Status{Code: trunkcall.Aborted, Message: "m", Delivery: trunkcall.Refused}.Err())
	s := wants(t, err, trunkcall.Aborted, trunkcall.Refused)
	if s.Message != "m" || trunkcall.StatusOf(err).Message != "m" {
		t.Errorf("%v", s)
	}
	for cause, code := range map[error]trunkcall.Code{
		context.DeadlineExceeded: trunkcall.DeadlineExceeded, context.Canceled: trunkcall.Canceled, io.EOF: trunkcall.Unknown,
	} {
		s := trunkcall.StatusOf(fmt.Errorf("w: %w", cause))
		if s.Code != code || s.Message != "w: "+cause.Error() || s.Delivery != trunkcall.DeliveryUnknown || !errors.Is(s.Err(), cause) {
			t.Errorf("%v becomes %v", cause, s)
		}
	}
}

// quota is an error of a user's own that says which status it is.
type quota struct{ code trunkcall.Code }

func (quota) Error() string { return "a secret" }
func (q quota) Status() trunkcall.Status {
	return trunkcall.Status{Code: q.code, Message: "no more today"}
}

func TestAnErrorOfTheUsersOwnMayBeAStatus(t *testing.T) {
	var with error
	_, c := join(t, failing(&with)...)
	for _, tried := range []struct{ code, want trunkcall.Code }{
		{trunkcall.ResourceExhausted, trunkcall.ResourceExhausted}, {trunkcall.OK, trunkcall.Unknown}, {99, trunkcall.Unknown},
	} {
		with = quota{tried.code}
		if s := wants(t, failBoth(t, c), tried.want, trunkcall.Executed); s.Message != "no more today" {
			t.Errorf("%v", s)
		}
	}
}

func TestAResultThatIsAStatusIsNotServed(t *testing.T) {
	s := newServer(t)
	for _, function := range []any{
		func(int) trunkcall.Status { return trunkcall.Status{} }, func(int) *trunkcall.Status { return nil },
	} {
		err := codefirst.RegisterFunc(s, "test/check", function)
		if err == nil {
			t.Fatal("a failure would be served as a result")
		}
		wantsText(t, err.Error(), "result 1 of /test/check", "error")
	}
}

func TestADetailIsFoundByTheTypeOfItsMessage(t *testing.T) {
	_, c := join(t, block.Handler(func(context.Context, *payload) (*payload, error) {
		return nil, trunkcall.Status{Code: trunkcall.Aborted, Message: "no"}.WithDetails(
			wrapperspb.String("first"), wrapperspb.Int64(7), wrapperspb.String("second")).Err()
	}))
	_, err := block.Call(soon(t), c, text(""))
	s := trunkcall.StatusOf(err)
	name, number, none := wrapperspb.String("old"), &wrapperspb.Int64Value{}, wrapperspb.Bool(true)
	if !s.Detail(name) || name.Value != "first" || !s.Detail(number) || number.Value != 7 {
		t.Error(name, number)
	}
	if s.Detail(none) || !none.Value {
		t.Error("found what is not there:", none)
	}
	s.Details = []trunkcall.Detail{{TypeURL: "google.protobuf.StringValue", Value: []byte{0xff}}, {TypeURL: "x/google.protobuf.StringValue", Value: nil}}
	if !s.Detail(name) || name.Value != "" {
		t.Error("one that cannot be read hides the next:", name)
	}
}
