package peer

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// wantFailure expects a failed call: one line of JSON on stderr, whose message
// has the given words in it.
func (o outcome) wantFailure(t *testing.T, code, delivery, words string) {
	t.Helper()
	var f failure
	err := json.Unmarshal([]byte(o.stderr), &f)
	if err != nil || o.status != exitFailed || o.stdout != "" || strings.Count(o.stderr, "\n") != 1 || f.Details == nil ||
		f.Code != code || f.Delivery != delivery || !strings.Contains(f.Message, words) || strings.Contains(f.Message, "\n") {
		t.Errorf("got %+v, want a failure %s, %s with %q", o, code, delivery, words)
	}
}

func TestFailureShowsDetailsOfAnyType(t *testing.T) {
	target := serveFunc(t, func(context.Context, *examplev1.GetUserRequest) (*examplev1.GetUserResponse, error) {
		return nil, trunkcall.Status{
			Code: trunkcall.Aborted, Message: `a "<b>" & c`,
			Details: []trunkcall.Detail{
				{TypeURL: "type.googleapis.com/google.rpc.ErrorInfo", Value: []byte("\n\x01x")},
				{TypeURL: "type.googleapis.com/nobody.Knows", Value: []byte{1, 2, 255}},
				{TypeURL: "type.googleapis.com/google.rpc.ErrorInfo", Value: []byte{255}},
				{TypeURL: ""},
			},
		}.Err()
	})
	run("call", "--target", target, userService+"GetUser", "{}").want(t, outcome{1, "", `{"code":"ABORTED","message":"a \"<b>\" & c","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"x"},` +
		`{"@type":"type.googleapis.com/nobody.Knows","value":"AQL/"},` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","value":"/w=="},` +
		`{"@type":"","value":""}` +
		`],"delivery":"executed"}` + "\n"})
}

func TestFailureWithoutDetailsHasAnEmptyList(t *testing.T) {
	target := serveHandler(t, say.Handler(services.Bench{}.Say))
	run("call", "--target", target, "/"+userService+"GetUser", "{}").want(t, outcome{1, "", `{"code":"UNIMPLEMENTED",` +
		`"message":"method /trunkcall.example.v1.UserService/GetUser is not served by this server","details":[],"delivery":"refused"}` + "\n"})
}

func TestMetadataThatCannotBeSentFailsTheCall(t *testing.T) {
	target := serve(t, "--listen", "127.0.0.1:0").address
	for _, method := range []string{"GetUser", "ListUsers"} {
		run("call", "--target", target, userService+method, "{}", "--metadata", "a b=c").
			wantFailure(t, "INVALID_ARGUMENT", "not_sent", `"a b"`)
	}
}

func TestClientStreamNeedsExactlyOneAnswer(t *testing.T) {
	for _, c := range []struct {
		answers  int
		delivery string
		words    string
	}{{0, "executed", "without a message"}, {2, "unknown", "several messages"}} {
		target := serveHandler(t, trunkcall.Handler{
			Method: trunkcall.Method{Name: userService + "ImportUsers", Kind: trunkcall.KindClientStream},
			Stream: func(_ context.Context, stream trunkcall.Stream) error {
				for range c.answers {
					if err := stream.Send(&examplev1.ImportUsersResponse{}); err != nil {
						return err
					}
				}
				return nil
			},
		})
		run("call", "--target", target, userService+"ImportUsers", "[{}]").wantFailure(t, "UNIMPLEMENTED", c.delivery, c.words)
	}
}

func TestRequestOverTheLimitIsNamed(t *testing.T) {
	server := madeServer(t, trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 10_000}))
	t.Cleanup(server.Close)
	if err := server.Register(nativeHandlers()...); err != nil {
		t.Fatal(err)
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const bench = "trunkcall.bench.v1.BenchService/"
	large := `{"data":"` + strings.Repeat("AAAA", 100_000) + `"}`
	run("call", "--target", address.String(), bench+"Echo", large).wantFailure(t, "RESOURCE_EXHAUSTED", "not_sent", "10000")
	run("call", "--target", address.String(), bench+"EchoStream", "["+large+"]").wantFailure(t, "RESOURCE_EXHAUSTED", "unknown", "10000")
}
