package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
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

// failBoth makes both calls of failing and checks that they fail alike.
func failBoth(t *testing.T, c *trunkcall.Client) error {
	t.Helper()
	_, err := block.Call(soon(t), c, text(""))
	s, openErr := c.NewStream(soon(t), "/test.Service/FailStream", trunkcall.KindBidiStream)
	if openErr != nil {
		t.Fatal(openErr)
	}
	if first := s.Receive(&payload{}); first != nil {
		t.Fatal(first)
	}
	again := s.Receive(&payload{})
	if errors.Is(again, io.EOF) && err == nil {
		return nil
	}
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
			with = trunkcall.Errorf(code, "%s", message).WithDetails(detail, &errdetails.RequestInfo{RequestId: "7"})
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

func TestErrorsThatAreNoStatusBecomeOne(t *testing.T) {
	var with error
	_, c := join(t, failing(&with)...)
	for _, tried := range []struct {
		err  error
		code trunkcall.Code
	}{
		{errors.New("plain"), trunkcall.Unknown},
		{fmt.Errorf("wrapped: %w", trunkcall.Errorf(trunkcall.NotFound, "inner")), trunkcall.NotFound},
		{fmt.Errorf("w: %w", context.DeadlineExceeded), trunkcall.DeadlineExceeded},
		{context.Canceled, trunkcall.Canceled},
		{io.EOF, trunkcall.Internal},
		{trunkcall.Errorf(99, "no such code"), trunkcall.Unknown},
		{trunkcall.Errorf(trunkcall.OK, "an error that says OK"), trunkcall.Unknown},
	} {
		with = tried.err
		s := wants(t, failBoth(t, c), tried.code, trunkcall.Executed)
		if s.Unwrap() != nil {
			t.Errorf("%v: the caller's context seems to have ended: %v", tried.err, s.Unwrap())
		}
	}
}

// The end of a call must fit one frame: details go first, then the message is
// cut, at a character's boundary.
func TestAStatusTooLargeForItsFrameIsStripped(t *testing.T) {
	var with error
	_, c := join(t, failing(&with)...)
	with = trunkcall.Errorf(trunkcall.Aborted, "short").WithDetails(&errdetails.RequestInfo{RequestId: strings.Repeat("x", 70_000)})
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
	s := trunkcall.Errorf(trunkcall.NotFound, "no user %d", 7)
	if s.Error() != "NOT_FOUND: no user 7" {
		t.Error(s.Error())
	}
	s.Delivery = trunkcall.Refused
	if s.Error() != "NOT_FOUND: no user 7 (refused)" {
		t.Error(s.Error())
	}
	if with := s.WithDetails(&errdetails.RequestInfo{}); len(with.Details) != 1 || len(s.Details) != 0 {
		t.Error("WithDetails changed its receiver")
	}
	if trunkcall.StatusOf(nil) != nil {
		t.Error("a nil error is a failure")
	}
}
