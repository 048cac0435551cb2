package trunkcall_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// lines is a protocol as a user would write it: requests and answers are lines of JSON, one call after the other.
type lines struct {
	calls   *trunkcall.Calls
	started atomic.Int64
	stopped atomic.Int64
	alpn    []string
	failing error // of Start
	serving func(ctx context.Context, conn *trunkcall.PortConn)
}

func (p *lines) Name() string   { return "lines" }
func (p *lines) ALPN() []string { return p.alpn }

func (p *lines) Start(calls *trunkcall.Calls) error {
	p.calls = calls
	p.started.Add(1)
	return p.failing
}

func (p *lines) Stop(context.Context) error {
	p.stopped.Add(1)
	return nil
}

func (p *lines) Recognize(first []byte) trunkcall.Recognition {
	if first[0] == '{' {
		return trunkcall.Recognized
	}
	return trunkcall.NotRecognized
}

// asked is a call as a line has it, told what comes back: any number of messages, then one with an end.
type asked struct {
	Method      string
	Metadata    map[string]string `json:",omitempty"`
	TimeoutMs   int64             `json:",omitempty"`
	Compression string            `json:",omitempty"`
	Compressed  bool              `json:",omitempty"`
	Codec       string            `json:",omitempty"`
	Messages    []json.RawMessage `json:",omitempty"`
}

type told struct {
	Header  map[string]string `json:",omitempty"`
	Message json.RawMessage   `json:",omitempty"`
	End     *toldEnd          `json:",omitempty"`
}

type toldEnd struct {
	Code, Message, Delivery string
	RetryAfterMs            int64
	Details                 int
	Trailer                 map[string]string
}

func toMap(m trunkcall.Metadata) map[string]string {
	all := map[string]string{}
	for _, pair := range m {
		all[pair.Key] = pair.Value
	}
	return all
}

func (p *lines) ServeConn(ctx context.Context, conn *trunkcall.PortConn) {
	if p.serving != nil {
		p.serving(ctx, conn)
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var call asked
		if json.Unmarshal(in.Bytes(), &call) != nil {
			return
		}
		p.serve(conn, json.NewEncoder(conn), &call)
	}
}

func (p *lines) serve(conn *trunkcall.PortConn, out *json.Encoder, call *asked) {
	in := &trunkcall.IncomingCall{Method: call.Method, Codec: "json", Compression: call.Compression, Conn: conn}
	if call.Codec != "" {
		in.Codec = call.Codec
	}
	for key, value := range call.Metadata {
		in.Metadata.Add(key, value)
	}
	if call.TimeoutMs > 0 {
		in.Deadline = time.Now().Add(time.Duration(call.TimeoutMs) * time.Millisecond)
	}
	accepted, err := p.calls.Accept(in)
	var trailer trunkcall.Metadata
	if err == nil {
		trailer, err = accepted.Serve(context.Background(), &lineExchange{call: call, out: out})
	}
	s := trunkcall.StatusOf(err)
	_ = out.Encode(told{End: &toldEnd{
		Code: s.Code.String(), Message: s.Message, Delivery: s.Delivery.String(), RetryAfterMs: s.RetryAfter.Milliseconds(), Details: len(s.Details), Trailer: toMap(trailer),
	}})
}

type lineExchange struct {
	call *asked
	out  *json.Encoder
}

func (x *lineExchange) Receive(context.Context) ([]byte, bool, error) {
	if len(x.call.Messages) == 0 {
		return nil, false, io.EOF
	}
	m := x.call.Messages[0]
	x.call.Messages = x.call.Messages[1:]
	return m, x.call.Compressed, nil
}

func (x *lineExchange) SendHeader(_ context.Context, header trunkcall.Metadata) error {
	return x.out.Encode(told{Header: toMap(header)})
}

func (x *lineExchange) Send(_ context.Context, message []byte, _ bool) error {
	return x.out.Encode(told{Message: message})
}

// asksLines makes one call over a connection.
func asksLines(t testing.TB, conn net.Conn, call asked) (all []told, end toldEnd) {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(long))
	if err := json.NewEncoder(conn).Encode(call); err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(conn)
	for {
		var one told
		if err := in.Decode(&one); err != nil {
			t.Fatal(err)
		}
		if one.End != nil {
			return all, *one.End
		}
		all = append(all, one)
	}
}

func connectTo(t testing.TB, target string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func messagesOf(texts ...string) (all []json.RawMessage) {
	for _, one := range texts {
		m, _ := json.Marshal(map[string][]byte{"data": []byte(one)})
		all = append(all, m)
	}
	return all
}

// byLines is a caller of the table of all protocols.
func byLines(target string) caller {
	return func(t *testing.T, s said) (out ending) {
		call := asked{Method: s.method, Metadata: map[string]string{"k": s.k}, TimeoutMs: s.timeout.Milliseconds(), Messages: messagesOf(s.data)}
		all, end := asksLines(t, connectTo(t, target), call)
		for _, one := range all {
			if one.Header != nil {
				out.header = one.Header["h"]
				continue
			}
			var m struct{ Data []byte }
			_ = json.Unmarshal(one.Message, &m)
			out.data = string(m.Data)
		}
		out.trailer, out.seen, out.message = end.Trailer["t"], end.Trailer["seen"], end.Message
		if end.Code != "OK" {
			out.code = strings.ToLower(end.Code)
			if out.delivery = end.Delivery; out.delivery == "executed" {
				out.delivery = ""
			}
		}
		return out
	}
}

func serveLines(t testing.TB, p *lines, options ...trunkcall.ServerOption) (*trunkcall.Server, string) {
	return serve(t, append(options, trunkcall.WithProtocol(p)), standard()...)
}

func TestAProtocolOfTheUsersIsServedBesideTheOthers(t *testing.T) {
	s, target := serveLines(t, &lines{})
	conn := connectTo(t, target)
	for _, one := range []struct {
		method string
		in     []string
		want   string
	}{
		{"Echo", []string{"a"}, "a"}, {"Produce", []string{"abc"}, "a,b,c"}, {"Collect", []string{"ab", "c"}, "abc"}, {"Chat", []string{"x", "y"}, "x,y"},
	} {
		all, end := asksLines(t, conn, asked{Method: "/test.Service/" + one.method, Messages: messagesOf(one.in...)})
		var got []string
		for _, m := range all {
			var data struct{ Data []byte }
			_ = json.Unmarshal(m.Message, &data)
			got = append(got, string(data.Data))
		}
		if strings.Join(got, ",") != one.want || end.Code != "OK" {
			t.Error(one.method, got, end)
		}
	}
	mustEcho(t, dial(t, target), "native")
	if _, err := stockEcho(soon(t), stock(t, target), "/test.Service/Echo", text("x")); err != nil {
		t.Error(err)
	}
	found := false
	for _, c := range s.Connections() {
		found = found || c.Protocol() == "lines"
	}
	if !found || s.Running() != 0 {
		t.Error("the connection is not known, or calls run:", found, s.Running())
	}
}

func TestACallByAProtocolOfTheUsersIsCheckedLikeAnyOther(t *testing.T) {
	s, target := serveLines(t, &lines{}, trunkcall.WithLogger(slog.New(slog.DiscardHandler)))
	conn := connectTo(t, target)
	for want, call := range map[string]asked{
		"UNIMPLEMENTED: is not served by this server": {Method: "/test.Service/None"},
		"UNIMPLEMENTED: none was sent":                {Method: "/test.Service/Echo"},
		"UNIMPLEMENTED: more were sent":               {Method: "/test.Service/Echo", Messages: messagesOf("a", "b")},
		"UNIMPLEMENTED: codec \"x\" is not known":     {Method: "/test.Service/Echo", Codec: "x"},
		"UNIMPLEMENTED: the compression \"x\"":        {Method: "/test.Service/Echo", Compression: "x"},
		"INTERNAL: does not say how":                  {Method: "/test.Service/Echo", Messages: messagesOf("a"), Compressed: true},
		"INVALID_ARGUMENT: ":                          {Method: "/test.Service/Echo", Messages: []json.RawMessage{json.RawMessage(`"x"`)}},
		"INVALID_ARGUMENT: metadata":                  {Method: "/test.Service/Echo", Metadata: map[string]string{"a key": "x"}},
		"INVALID_ARGUMENT: name is too long":          {Method: "/" + strings.Repeat("x", 1100) + "/y"},
	} {
		code, part, _ := strings.Cut(want, ": ")
		_, end := asksLines(t, conn, call)
		if end.Code != code || end.Delivery != "refused" || !strings.Contains(end.Message, part) {
			t.Errorf("%s: %+v", want, end)
		}
	}
	if s.Running() != 0 {
		t.Error("calls that were refused run")
	}
	if _, end := asksLines(t, conn, asked{Method: "/test.Service/Echo", Messages: messagesOf("a")}); end.Code != "OK" {
		t.Error(end)
	}
}

func TestAProtocolOfTheUsersIsNegotiatedOrRecognisedInsideOfTLS(t *testing.T) {
	a := newAuthority(t)
	cert := a.certificate(t, x509.ExtKeyUsageServerAuth)
	_, target := serveLines(t, &lines{alpn: []string{"lines/1"}}, trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{cert}}))
	for _, protos := range [][]string{{"lines/1"}, nil} {
		conn, err := tls.Dial("tcp", target, &tls.Config{RootCAs: a.pool, NextProtos: protos})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, end := asksLines(t, conn, asked{Method: "/test.Service/Echo", Messages: messagesOf("a")}); end.Code != "OK" {
			t.Error(protos, end)
		}
	}
	plain := connectTo(t, target)
	_ = plain.SetDeadline(time.Now().Add(long))
	_, _ = io.WriteString(plain, "{}\n")
	if n, err := plain.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("cleartext is served where TLS is wanted")
	}
}

func TestDrainingWaitsForTheCallsOfAProtocolAndEndsItsConnections(t *testing.T) {
	p, g := &lines{}, newGate(t)
	s, target := serve(t, serverOptions{trunkcall.WithProtocol(p)}, append(standard(), g.handler())...)
	idle := connectTo(t, target)
	asksLines(t, idle, asked{Method: "/test.Service/Echo", Messages: messagesOf("a")})
	busy, ended := connectTo(t, target), make(chan toldEnd, 1)
	go func() {
		_, end := asksLines(t, busy, asked{Method: "/test.Service/Block", Messages: messagesOf("a")})
		ended <- end
	}()
	g.await(t)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(soon(t)) }()
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error("the idle connection is not closed:", err)
	}
	if _, err := p.calls.Accept(&trunkcall.IncomingCall{Method: "/test.Service/Echo", Codec: "json"}); err == nil {
		t.Error("a call is accepted while the server stops")
	} else {
		wants(t, err, trunkcall.Unavailable, trunkcall.Refused)
	}
	select {
	case err := <-stopped:
		t.Error("Stop does not wait:", err)
	default:
	}
	g.open()
	if end := receive(t, ended, "the answer"); end.Code != "OK" {
		t.Error(end)
	}
	if err := receive(t, stopped, "Stop"); err != nil || p.stopped.Load() != 1 || p.started.Load() != 1 {
		t.Error(err, p.started.Load(), p.stopped.Load())
	}
}

func TestTheEndOfTheGraceIsToldToCallersOfAProtocol(t *testing.T) {
	g := newGate(t) // whose handler never heeds its context
	s, target := serve(t, serverOptions{trunkcall.WithProtocol(&lines{})}, g.handler())
	conn, ended := connectTo(t, target), make(chan toldEnd, 1)
	go func() {
		_, end := asksLines(t, conn, asked{Method: "/test.Service/Block", Messages: messagesOf("a")})
		ended <- end
	}()
	g.await(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Stop(ctx); err == nil {
		t.Error("nothing is said of the call that was cut off")
	}
	if end := receive(t, ended, "the end"); end.Code != "UNAVAILABLE" || end.Delivery != "unknown" {
		t.Errorf("%+v", end)
	}
}

func TestTheMaximumAgeEndsConnectionsOfAProtocolBetweenTwoCalls(t *testing.T) {
	_, target := serveLines(t, &lines{}, trunkcall.WithMaxConnectionAge(time.Millisecond))
	conn := connectTo(t, target)
	_ = conn.SetDeadline(time.Now().Add(long))
	_, _ = io.WriteString(conn, "{") // so that it is known what it is
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestAProtocolThatPanicsHarmsItsConnectionOnly(t *testing.T) {
	p := &lines{serving: func(context.Context, *trunkcall.PortConn) { panic("of the protocol") }}
	s, target := serveLines(t, p, trunkcall.WithLogger(slog.New(slog.DiscardHandler)))
	conn := connectTo(t, target)
	_ = conn.SetDeadline(time.Now().Add(long))
	_, _ = io.WriteString(conn, "{}\n")
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection goes on")
	}
	mustEcho(t, dial(t, target), "others")
	if err := s.Stop(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestAProtocolThatCannotStartIsSaid(t *testing.T) {
	p := &lines{failing: errors.New("no broker there")}
	s := newServer(t, trunkcall.WithProtocol(p))
	defer s.Close()
	if err := s.Start(); err == nil || !strings.Contains(err.Error(), "protocol lines: no broker there") {
		t.Error(err)
	}
	p.failing = nil
	if err := s.Start(); err != nil || p.started.Load() != 2 {
		t.Error("it is not tried again:", err)
	}
}

// shadow is a protocol that takes too much for its own.
type shadow struct {
	lines
	name      string
	recognize func(first []byte) trunkcall.Recognition
}

func (p *shadow) Name() string                                 { return p.name }
func (p *shadow) Recognize(first []byte) trunkcall.Recognition { return p.recognize(first) }

func TestAProtocolThatTakesOthersForItsOwnIsNamed(t *testing.T) {
	begins := func(with string) func([]byte) trunkcall.Recognition {
		return func(first []byte) trunkcall.Recognition {
			if strings.HasPrefix(string(first), with) {
				return trunkcall.Recognized
			}
			return trunkcall.NotRecognized
		}
	}
	good := func() *shadow { return &shadow{name: "good", recognize: begins("{")} }
	for want, p := range map[string][]trunkcall.Protocol{
		"protocol all, of what Trunkcall's own protocol begins with": {&shadow{name: "all", recognize: begins("")}},
		"protocol http, of what HTTP/1.1 begins with":                {&shadow{name: "http", recognize: begins("GET")}},
		"protocol tls, of what TLS begins with":                      {&shadow{name: "tls", recognize: begins("\x16")}},
		"panicked":                                                   {&shadow{name: "panics", recognize: func([]byte) trunkcall.Recognition { panic("recognize") }}},
		`the protocol name "grpc" of WithProtocol is empty or taken`: {&shadow{name: "grpc", recognize: begins("{")}},
		`the protocol name "good" of WithProtocol is empty or taken`: {good(), good()},
		`the ALPN name "h2" of protocol lines`:                       {&lines{alpn: []string{"h2"}}},
		"protocol 1 of WithProtocol is nil":                          {nil},
	} {
		if _, err := trunkcall.NewServer(trunkcall.WithProtocol(p...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := trunkcall.NewServer(trunkcall.WithProtocol(good()), trunkcall.WithNativeOnly()); err != nil {
		t.Error(err)
	}
}
