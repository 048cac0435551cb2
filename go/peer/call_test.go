package peer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

const userService = "trunkcall.example.v1.UserService/"

// Failures as call prints them.
const (
	badUser  = `{"code":"INVALID_ARGUMENT","message":"user_id must be at least 1","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"user_id","description":"must be at least 1"}]}],"delivery":"executed"}` + "\n"
	badCount = `{"code":"INVALID_ARGUMENT","message":"count must not be negative","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"count","description":"must not be negative"}]}],"delivery":"executed"}` + "\n"
	noUser   = `{"code":"NOT_FOUND","message":"there is no user 1000000000","details":[{"@type":"type.googleapis.com/google.rpc.ResourceInfo","resourceType":"user","resourceName":"1000000000","description":"ids end at 999999999"}],"delivery":"executed"}` + "\n"
)

func TestCallsEveryMethod(t *testing.T) {
	users := func(ids ...int) (lines string) {
		for _, id := range ids {
			lines += fmt.Sprintf(`{"name":"user-%d","email":"user-%[1]d@example.com"}`+"\n", id)
		}
		return lines
	}
	for _, codec := range codecs {
		target := serve(t, "--listen", "127.0.0.1:0", "--codec", codec).address
		for _, c := range []struct {
			method, json string
			want         outcome
		}{
			{"GetUser", `{"user_id":7}`, outcome{stdout: users(7)}},
			{"GetUser", `{"userId":"999999999"}`, outcome{stdout: users(999999999)}},
			{"GetUser", `{}`, outcome{1, "", badUser}},
			{"GetUser", `{"userId":1000000000}`, outcome{1, "", noUser}},
			{"ListUsers", `{"count":3}`, outcome{stdout: users(1, 2, 3)}},
			{"ListUsers", `{}`, outcome{}},
			{"ListUsers", `{"count":-1}`, outcome{1, "", badCount}},
			{"ImportUsers", `[]`, outcome{stdout: "{}\n"}},
			{"ImportUsers", `[{},{"name":"Ada"}]`, outcome{stdout: `{"count":"2"}` + "\n"}},
			{"WatchUsers", `[]`, outcome{}},
			{"WatchUsers", `[{"userId":2},{"userId":1}]`, outcome{stdout: users(2, 1)}},
			{"WatchUsers", `[{"userId":2},{"userId":0},{"userId":1}]`, outcome{1, users(2), badUser}},
		} {
			t.Run(codec+" "+c.method+" "+c.json, func(t *testing.T) {
				run("call", "--target", target, userService+c.method, c.json).want(t, c.want)
			})
		}
		t.Run(codec+" GetDictionary", func(t *testing.T) {
			run("call", "--target", target, "trunkcall.bench.v1.BenchService/GetDictionary", "{}").
				want(t, outcome{stdout: `{"entries":{"a":"1","b":"2","c":"3"}}` + "\n"})
		})
	}
}

func TestCallTakesItsArgumentsInAnyOrder(t *testing.T) {
	target := serve(t, "--listen", "127.0.0.1:0").address
	for _, args := range [][]string{
		{"--target", target, "/" + userService + "GetUser", `{"userId":7}`},
		{userService + "GetUser", `{"userId":7}`, "--target=" + target, "--timeout", "20s"},
		{"--timeout", "20s", userService + "GetUser", "--target", target, `{"userId":7}`, "--metadata", "a=b"},
	} {
		run(append([]string{"call"}, args...)...).want(t, outcome{stdout: user7})
	}
}

func TestCallSendsAndReceivesMoreThanFitsInBetween(t *testing.T) {
	target := serve(t, "--listen", "127.0.0.1:0").address
	const many = 20_000
	got := run("call", "--target", target, userService+"WatchUsers", "["+strings.Repeat(`{"userId":7},`, many-1)+`{"userId":7}]`)
	got.want(t, outcome{stdout: strings.Repeat(user7, many)})
}

func TestCallTurnsDownWhatItCannotDo(t *testing.T) {
	to := func(more ...string) []string { return append([]string{"call", "--target", "127.0.0.1:1"}, more...) }
	get := func(more ...string) []string { return to(append([]string{userService + "GetUser"}, more...)...) }
	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"call", userService + "GetUser", "{}"}, "--target is needed"},
		{to(), "METHOD and JSON are needed"},
		{get(), "METHOD and JSON are needed"},
		{get("{}", "{}"), "nothing to do with"},
		{get("{}", "--nope"), "-nope"},
		{get("{}", "--timeout", "soon"), `"soon" for flag -timeout: want a time such as 2s or 250ms`},
		{get("{}", "--timeout", "0"), "--timeout must be above 0"},
		{get("{}", "--metadata", "key"), "want KEY=VALUE"},
		{get("{}", "--metadata", "k-bin=!"), "base64"},
		{get("{}", "--tls-cert", "x", "--tls-key", "y"), "--tls-cert needs --tls-ca"},
		{get("{}", "--tls-ca", "nofile"), "nofile: no such file"},
	} {
		run(c.args...).wantUsage(t, c.words)
	}
}

func TestCallFailsForWhatItCannotSend(t *testing.T) {
	call := func(method, json string) outcome { return run("call", "--target", "127.0.0.1:1", method, json) }
	get := func(json string) outcome { return call(userService+"GetUser", json) }
	watch := func(json string) outcome { return call(userService+"WatchUsers", json) }
	const invalid, unknown = "INVALID_ARGUMENT", "UNIMPLEMENTED"
	for _, c := range []struct {
		outcome
		code, words string
	}{
		{call("GetUser", "{}"), invalid, "want package.Service/Method"},
		{call("example.Nobody/GetUser", "{}"), unknown, "there is no service example.Nobody"},
		{call("trunkcall.example.v1.GetUserRequest/GetUser", "{}"), unknown, "there is no service trunkcall.example.v1.GetUserRequest"},
		{call(userService+"SetUser", "{}"), unknown, "has GetUser, ListUsers, ImportUsers, WatchUsers only"},
		{get(`{"userId":`), invalid, "the JSON is no trunkcall.example.v1.GetUserRequest"},
		{get(`{"name":1}`), invalid, `(line 1:2): unknown field "name"`},
		{get(`{"userId":"x"}`), invalid, `(line 1:11)`},
		{get(`[{}]`), invalid, "(line 1:1)"},
		{watch(`{"userId":1}`), invalid, "takes a JSON array of trunkcall.example.v1.GetUserRequest"},
		{watch(`null`), invalid, "takes a JSON array"},
		{watch(`[{}`), invalid, "at byte 3"},
		{watch(`[{},{"name":1}]`), invalid, "message 2 of 2: "},
		{call("calc/div", "[7,"), invalid, "the arguments are no JSON array"},
		{call("calc/div", "7"), invalid, "its arguments are a JSON array"},
		{call("div", "[7,2]"), invalid, "want package.Service/Method"},
	} {
		c.wantFailure(t, c.code, "not_sent", c.words)
	}
}

// serveFunc serves GetUser by a function, over a server of the test's own.
func serveFunc(
	t *testing.T, get func(context.Context, *examplev1.GetUserRequest) (*examplev1.GetUserResponse, error),
) (target string) {
	t.Helper()
	return serveHandler(t, getUser.Handler(get))
}

func serveHandler(t *testing.T, handler trunkcall.Handler) (target string) {
	t.Helper()
	server := madeServer(t)
	t.Cleanup(server.Close)
	if err := server.Register(handler); err != nil {
		t.Fatal(err)
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return address.String()
}

func TestCallSendsMetadata(t *testing.T) {
	got := make(chan trunkcall.Metadata, 1)
	target := serveFunc(t, func(ctx context.Context, _ *examplev1.GetUserRequest) (*examplev1.GetUserResponse, error) {
		got <- slices.Clone(trunkcall.CallFromContext(ctx).Metadata)
		return &examplev1.GetUserResponse{}, nil
	})
	run("call", "--target", target, userService+"GetUser", "{}",
		"--metadata", "Key=a=b", "--metadata", "key=", "--metadata", "raw-bin=AP8=", "--metadata", "raw-bin=AP8").want(t, outcome{stdout: "{}\n"})
	want := trunkcall.Metadata{{Key: "key", Value: "a=b"}, {Key: "key"}, {Key: "raw-bin", Value: "\x00\xff"}, {Key: "raw-bin", Value: "\x00\xff"}}
	if m := <-got; !slices.Equal(m, want) {
		t.Errorf("got %q, want %q", m, want)
	}
}

func TestCallPassesItsTimeoutOn(t *testing.T) {
	target := serveFunc(t, func(ctx context.Context, _ *examplev1.GetUserRequest) (*examplev1.GetUserResponse, error) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the handler has no deadline")
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	got := outcome{}
	for _, timeout := range []string{"50ms", "500ms", "5s"} { // connecting is part of it
		if got = run("call", "--target", target, userService+"GetUser", "{}", "--timeout", timeout); strings.Contains(got.stderr, "unknown") {
			break
		}
	}
	got.wantFailure(t, "DEADLINE_EXCEEDED", "unknown", "deadline")
}

// madeServer is a server that is to be stopped or closed by the test.
func madeServer(t testing.TB, options ...trunkcall.ServerOption) *trunkcall.Server {
	t.Helper()
	s, err := trunkcall.NewServer(options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
