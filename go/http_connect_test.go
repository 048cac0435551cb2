package trunkcall_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// Calls of plain HTTP and of Connect, over HTTP/1.1 and HTTP/2.

// overHTTP returns stock clients of HTTP/1.1 and of HTTP/2 in the clear.
func overHTTP(t testing.TB) map[string]*http.Client {
	t.Helper()
	all := map[string]*http.Client{}
	for name, protocols := range map[string]func(*http.Protocols){
		"http/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"h2":       func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		transport := &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}
		protocols(transport.Protocols)
		t.Cleanup(transport.CloseIdleConnections)
		all[name] = &http.Client{Transport: transport, Timeout: long}
	}
	return all
}

// replied is what a request of HTTP got.
type replied struct {
	status int
	header http.Header
	body   string
}

func requests(t testing.TB, c *http.Client, method, url, kind, body string, fields ...string) replied {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return replied{response.StatusCode, response.Header, string(all)}
}

func posts(t testing.TB, c *http.Client, url, kind, body string, fields ...string) replied {
	t.Helper()
	return requests(t, c, http.MethodPost, url, kind, body, fields...)
}

// wantsError fails unless an answer is an error of Connect.
func (a replied) wantsError(t testing.TB, status int, code string, parts ...string) {
	t.Helper()
	var e struct{ Code, Message string }
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || a.status != status || e.Code != code ||
		a.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s %q, want %d %s", a.status, a.header, a.body, status, code)
	}
	wantsText(t, e.Message, parts...)
}

// wantsRefusal fails unless an answer is one of HTTP, which Connect takes for no
// error of its own.
func (a replied) wantsRefusal(t testing.TB, status int, parts ...string) {
	t.Helper()
	if a.status != status || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Errorf("got %d %s %q, want %d", a.status, a.header, a.body, status)
	}
	wantsText(t, strings.TrimSuffix(a.body, "\n"), parts...)
}

func (a replied) wants(t testing.TB, body string) {
	t.Helper()
	if a.status != http.StatusOK || a.body != body {
		t.Errorf("got %d %q, want %q", a.status, a.body, body)
	}
}

// calculator is served as it is.
type calculator struct{}

func (calculator) Div(_ context.Context, a, b int64) (quotient, remainder int64, err error) {
	if b == 0 {
		return 0, 0, trunkcall.Errorf(trunkcall.InvalidArgument, "division by zero")
	}
	return a / b, a % b, nil
}

// serveCalculator serves the usual methods, and /calc/div.
func serveCalculator(t testing.TB, options serverOptions, more ...trunkcall.Handler) (s *trunkcall.Server, url string) {
	t.Helper()
	s, target := serve(t, options, append(standard(), more...)...)
	if err := codefirst.RegisterService(s, "calc", calculator{}, codefirst.Methods("Div")); err != nil {
		t.Fatal(err)
	}
	return s, "http://" + target
}

func TestCurlCallsAFunction(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	_, url := serveCalculator(t, nil)
	for _, flags := range [][]string{{"--http1.1"}, {"--http2-prior-knowledge"}} {
		out, err := exec.CommandContext(soon(t), curl, append(flags, "-sS", "--json", "[7,2]", url+"/calc/div")...).CombinedOutput()
		if err != nil || string(out) != "[3,1]" {
			t.Errorf("%v: %s %v", flags, out, err)
		}
	}
}

func TestUnaryMethodsAnswerHTTP(t *testing.T) {
	_, url := serveCalculator(t, nil)
	message, _ := proto.Marshal(text("hello"))
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			posts(t, c, url+"/calc/div", "application/json", "[7,2]").wants(t, "[3,1]")
			posts(t, c, url+"/calc/div", "application/json; charset=utf-8", " [ 7 , 2 ] ").wants(t, "[3,1]")
			posts(t, c, url+"/test.Service/Echo", "application/proto", string(message)).wants(t, string(message))
			a := posts(t, c, url+"/test.Service/Echo", "application/json", `{"data":"aGVsbG8=","nobody":"knows"}`, "Connect-Protocol-Version", "1")
			a.wants(t, `{"data":"aGVsbG8="}`)
			if kind := a.header.Get("Content-Type"); kind != "application/json" {
				t.Error(kind)
			}
			large, _ := proto.Marshal(noise(3 << 20))
			posts(t, c, url+"/test.Service/Echo", "application/proto", string(large)).wants(t, string(large))
		})
	}
}

func TestErrorsAreThoseOfConnect(t *testing.T) {
	info := &errdetails.ErrorInfo{Reason: "because"}
	_, url := serveCalculator(t, nil, block.Handler(func(ctx context.Context, _ *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		_ = call.SetHeader(trunkcall.Metadata{{Key: "ahead", Value: "1"}})
		_ = call.SetTrailer(trunkcall.Metadata{{Key: "behind-bin", Value: "\x00\xff"}})
		detail, _ := proto.Marshal(info)
		return nil, trunkcall.Status{Code: trunkcall.FailedPrecondition, Message: "größer", Details: []trunkcall.Detail{
			{TypeURL: "type.googleapis.com/google.rpc.ErrorInfo", Value: detail},
		}}.Err()
	}))
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			a := posts(t, c, url+"/test.Service/Block", "application/json", "{}")
			a.wantsError(t, 400, "failed_precondition", "größer")
			var e struct {
				Details []struct{ Type, Value string }
			}
			_ = json.Unmarshal([]byte(a.body), &e)
			if len(e.Details) != 1 || e.Details[0].Type != "google.rpc.ErrorInfo" {
				t.Fatal(a.body)
			}
			value, err := base64.RawStdEncoding.DecodeString(e.Details[0].Value)
			got := &errdetails.ErrorInfo{}
			if err != nil || proto.Unmarshal(value, got) != nil || !proto.Equal(got, info) {
				t.Error(err, got)
			}
			if a.header.Get("Ahead") != "1" || a.header.Get("Trailer-Behind-Bin") != "AP8" || a.header.Get("Trunk-Delivery") != "" {
				t.Error(a.header)
			}
			posts(t, c, url+"/calc/div", "application/json", "[7,0]").wantsError(t, 400, "invalid_argument", "division by zero")
		})
	}
}

func TestWhatIsNoCallIsRefusedAsHTTPDoes(t *testing.T) {
	_, url := serveCalculator(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 1000})})
	const echoes = "/test.Service/Echo"
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			posts(t, c, url+"/test.Service/None", "application/json", "{}").wantsError(t, 404, "unimplemented", "/test.Service/None")
			requests(t, c, "GET", url+"/favicon.ico", "", "").wantsError(t, 404, "unimplemented")
			a := requests(t, c, "PUT", url+echoes, "application/json", "{}")
			a.wantsRefusal(t, 405, "PUT")
			if a.header.Get("Allow") != "POST" {
				t.Error(a.header)
			}
			if a = requests(t, c, "HEAD", url+echoes, "", ""); a.status != 405 || a.body != "" {
				t.Error("HEAD:", a)
			}
			for _, kind := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "", "application/json; charset=latin1"} {
				a = posts(t, c, url+echoes, kind, "a=b")
				a.wantsRefusal(t, 415, echoes, "only application/json")
				if !strings.Contains(a.header.Get("Accept-Post"), "application/json") {
					t.Error(a.header)
				}
			}
			posts(t, c, url+echoes, "application/thrift", "{}").wantsRefusal(t, 415, "thrift", "json")
			for path, kinds := range map[string][2]string{
				echoes:      {"application/msgpack", "application/json, application/proto"},
				"/calc/div": {"application/proto", "application/json, application/msgpack"},
			} {
				a = posts(t, c, url+path, kinds[0], "")
				a.wantsRefusal(t, 415, kinds[0], "only "+kinds[1])
				if got := a.header.Get("Accept-Post"); got != kinds[1] {
					t.Errorf("%s takes %s", path, got)
				}
			}
			posts(t, c, url+echoes, "application/json", `{"data":`).wantsError(t, 400, "invalid_argument")
			posts(t, c, url+echoes, "application/json", "{\"data\":\"\xff\"}").wantsError(t, 400, "invalid_argument")
			posts(t, c, url+echoes, "application/proto", "\xff").wantsError(t, 400, "invalid_argument")
			a = posts(t, c, url+echoes, "application/proto", strings.Repeat("x", 1001))
			a.wantsError(t, 429, "resource_exhausted", "max_message 1000")
			if a.header.Get("Trunk-Delivery") != "refused" {
				t.Error(a.header)
			}
			posts(t, c, url+echoes, "application/json", "{}", "Connect-Protocol-Version", "2").wantsError(t, 400, "invalid_argument", "version")
			posts(t, c, url+echoes, "application/json", "{}", "Connect-Timeout-Ms", "soon").wantsError(t, 400, "invalid_argument", "connect-timeout-ms")
			posts(t, c, url+echoes, "application/json", "{}", "K-Bin", "???").wantsError(t, 400, "invalid_argument", "k-bin", "base64")
			posts(t, c, url+echoes, "application/json", "{}", "K", strings.Repeat("x", 17<<10)).wantsError(t, 429, "resource_exhausted", "16384")
			posts(t, c, url+echoes, "application/json", "{}", "Content-Encoding", "br").wantsError(t, 501, "unimplemented", "br", "gzip")
			if name == "http/1.1" { // by HTTP/2 the client is told the limit, and sends nothing
				if a = posts(t, c, url+echoes, "application/json", "{}", "K", strings.Repeat("x", 40<<10)); a.status != 431 {
					t.Error(a)
				}
			}
			posts(t, c, url+echoes, "application/json", "{}").wants(t, "{}") // others are served
		})
	}
}

func TestABodyOfUnknownLengthIsBounded(t *testing.T) {
	_, url := serveCalculator(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 1000})})
	for name, c := range overHTTP(t) {
		for size, status := range map[int]int{1000: 200, 1001: 429} {
			body := struct{ io.Reader }{strings.NewReader(`{"data":"` + strings.Repeat("A", size-11) + `"}`)}
			r, _ := http.NewRequestWithContext(soon(t), "POST", url+"/test.Service/Echo", body)
			r.Header.Set("Content-Type", "application/json")
			response, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if size == 1000 && response.StatusCode == 400 {
				response.StatusCode = 200 // whether that is base64 is not the question
			}
			if response.StatusCode != status {
				t.Errorf("%s: %d bytes: %s", name, size, response.Status)
			}
		}
	}
}

func TestMessagesMayBeCompressedByGzip(t *testing.T) {
	_, url := serveCalculator(t, nil)
	message := `{"data":"` + strings.Repeat("AAAA", 5000) + `"}`
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(message))
	_ = w.Close()
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			a := posts(t, c, url+"/test.Service/Echo", "application/json", packed.String(), "Content-Encoding", "gzip", "Accept-Encoding", "gzip;q=0.5, br")
			if a.header.Get("Content-Encoding") != "gzip" {
				t.Fatal(a.status, a.header)
			}
			r, err := gzip.NewReader(strings.NewReader(a.body))
			if err != nil {
				t.Fatal(err)
			}
			if plain, err := io.ReadAll(r); err != nil || string(plain) != message {
				t.Error(err, len(plain))
			}
			a = posts(t, c, url+"/test.Service/Echo", "application/json", packed.String(), "Content-Encoding", "gzip", "Accept-Encoding", "identity")
			a.wants(t, message)
		})
	}
}

func TestACallerThatGoesAwayIsNoticed(t *testing.T) {
	g := newGate(t)
	s, url := serveCalculator(t, nil, g.handler())
	for name, c := range overHTTP(t) {
		ctx, cancel := context.WithCancel(soon(t))
		r, _ := http.NewRequestWithContext(ctx, "POST", url+"/test.Service/Block", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		go func() {
			if response, err := c.Do(r); err == nil {
				_ = response.Body.Close()
			}
		}()
		handler := g.await(t)
		cancel()
		ends(t, handler)
		t.Log(name)
	}
	g.open()
	eventually(t, "no call is left", func() bool { return s.Running() == 0 })
}

func TestHTTPIsServedOverTLSAndRefusedInTheClearThere(t *testing.T) {
	a := newAuthority(t)
	withTLS := trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}})
	_, url := serveCalculator(t, serverOptions{withTLS})
	for _, h2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool}, ForceAttemptHTTP2: h2}
		c := &http.Client{Transport: transport, Timeout: long}
		posts(t, c, "https"+strings.TrimPrefix(url, "http")+"/calc/div", "application/json", "[7,2]").wants(t, "[3,1]")
		transport.CloseIdleConnections()
	}
	got := posts(t, overHTTP(t)["http/1.1"], url+"/calc/div", "application/json", "[7,2]")
	if got.status != 400 || !strings.Contains(got.body, "TLS") {
		t.Error(got)
	}
}

func TestStopLosesNoHTTPCall(t *testing.T) {
	g := newGate(t)
	s, url := serveCalculator(t, nil, g.handler())
	clients := overHTTP(t)
	got := make(chan replied, len(clients))
	for _, c := range clients {
		posts(t, c, url+"/calc/div", "application/json", "[7,2]")
		go func() { got <- posts(t, c, url+"/test.Service/Block", "application/json", "{}") }()
		g.await(t)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(soon(t)) }()
	eventually(t, "nobody listens", func() bool { return len(s.Addrs()) == 0 })
	g.open()
	for range clients {
		receive(t, got, "answer").wants(t, "{}")
	}
	if err := receive(t, stopped, "end of Stop"); err != nil {
		t.Error(err)
	}
}

func TestLengthsThatConflictAndFoldedFieldsAreRefused(t *testing.T) {
	_, url := serveCalculator(t, nil)
	target := strings.TrimPrefix(url, "http://")
	const (
		head  = "POST /calc/div HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		good  = head + "Content-Length: 5\r\n\r\n[7,2]"
		parts = head + "Transfer-Encoding: chunked\r\n\r\n2\r\n[7\r\n3;x=y\r\n,2]\r\n0\r\nContent-Length: 9\r\n\r\n"
	)
	for _, said := range []string{
		head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n[7,2]",
		head + "Content-Length: 5, 6\r\n\r\n[7,2]",
		head + "Content-Length: -1\r\n\r\n",
		head + "Content-Length: +5\r\n\r\n[7,2]",
		head + "Content-Length: 5 5\r\n\r\n[7,2]",
		head + "Content-Length: 18446744073709551621\r\n\r\n[7,2]",
		head + "Content-Length:" + strings.Repeat(" ", 100) + "5\r\n\r\n[7,2]",
		head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		head + "transfer-encoding: chunked\r\nx: y\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
		strings.Replace(head, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		head + "Transfer-Encoding: gzip\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		head + "Fold: a\r\n b\r\nContent-Length: 5\r\n\r\n[7,2]",
		head + "Fold: a\n\tb\nContent-Length: 5\n\n[7,2]",
		head + "Content-Length: 5\r\n\x00: x\r\n\r\n[7,2]",
	} {
		for name, ahead := range map[string]string{"": "", "after another": good, "after chunks": parts} {
			all := ahead + said
			for how, pieces := range map[string][]string{"whole": {all}, "cut": cut(all)} {
				got := says(t, target, pieces...)
				if ahead != "" {
					var first bool
					if _, got, first = strings.Cut(got, "[3,1]"); !first {
						t.Errorf("%q %s %s: the request before is not answered", said, name, how)
					}
				}
				if !strings.HasPrefix(got, "HTTP/1.1 400 ") && !strings.HasPrefix(got, "HTTP/1.1 501 ") || strings.Count(got, "HTTP/1.1 ") != 1 {
					t.Errorf("%q %s %s is replied by %q", said, name, how, got)
				}
			}
		}
	}
	// What is no fault is none, in any order on one connection.
	last := strings.Replace(good, "Host: x", "Host: x\r\nConnection: close", 1)
	for _, pieces := range [][]string{{parts + good + "\r\n" + parts + parts + last}, cut(parts + good + "\r\n" + parts + parts + last)} {
		if got := says(t, target, pieces...); strings.Count(got, "[3,1]") != 5 {
			t.Errorf("five requests are replied by %q", got)
		}
	}
}

// cut cuts bytes to be sent in pieces of three.
func cut(said string) (pieces []string) {
	for ; len(said) > 3; said = said[3:] {
		pieces = append(pieces, said[:3])
	}
	return append(pieces, said)
}

func TestMemoryIsBoundedForHTTPToo(t *testing.T) {
	s, url := serveCalculator(t, serverOptions{trunkcall.WithMemory(1 << 20)})
	message, _ := proto.Marshal(noise(2 << 20))
	a := posts(t, overHTTP(t)["http/1.1"], url+"/test.Service/Echo", "application/proto", string(message))
	a.wantsError(t, 429, "resource_exhausted", "memory 1048576")
	if a.header.Get("Retry-After") != "1" || a.header.Get("Trunk-Delivery") != "refused" {
		t.Error(a.header)
	}
	message, _ = proto.Marshal(noise(300_000))
	for range 10 { // what was drawn is given back
		posts(t, overHTTP(t)["http/1.1"], url+"/test.Service/Echo", "application/proto", string(message)).wants(t, string(message))
	}
	eventually(t, "no handler is left", func() bool { return s.Running() == 0 })
}

func TestObserversAreToldOfHTTPClients(t *testing.T) {
	told := newEvents()
	_, url := serveCalculator(t, serverOptions{told.option()})
	c := overHTTP(t)["http/1.1"]
	posts(t, c, url+"/calc/div", "application/json", "[7,2]").wants(t, "[3,1]")
	if up := receive(t, told.up, "connection"); up.Protocol() != "http/1.1" {
		t.Error(up.Protocol())
	}
	c.CloseIdleConnections()
	told.wants(t, "listening, connected, disconnected")
}
