package trunkcall_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go"
)

// Bad input at each protocol where there can be such: a clear error for that call or
// connection alone.

func TestWhatIsNoProtocolIsToldSoOrClosed(t *testing.T) {
	t.Parallel() // it waits more than it computes
	a := newAuthority(t)
	withTLS := trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}})
	_, cleartext := serve(t, nil, standard()...)
	_, secure := serve(t, serverOptions{withTLS}, standard()...)
	get := "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x03\x01\x05\x00\x00\x00\x01\x82\x84\x86" // SETTINGS, GET / by http
	hello := "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
	goAway := string([]byte{0, 0, 0, 0}) // the last stream
	for name, c := range map[string]struct{ target, said, want string }{
		"half a preface, then another method": {cleartext, "PRI * HTTP/2.0\r\n\r\nGET / HTTP/1.1\r\n\r\n", "HTTP/1.1 505 "},
		"a wrong preface":                     {cleartext, "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", "HTTP/1.1 505 "},
		"a preface of another version":        {cleartext, "PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 "},
		"a preface, then no SETTINGS":         {cleartext, http2.ClientPreface + "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", goAway},
		"a preface, then HTTP/1.1":            {cleartext, http2.ClientPreface + "GET / HTTP/1.1\r\n\r\n", goAway},
		"lower case":                          {cleartext, "get / HTTP/1.1\r\n\r\n", ""},
		"nothing known":                       {cleartext, "\x00\x01\x02", ""},
		"no version":                          {cleartext, "GET /\r\n\r\n", "HTTP/1.1 400 "},
		"TLS to a port without":               {cleartext, hello, "does not speak TLS"},
		"HTTP/1.1 to a port with TLS":         {secure, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
		"HTTP/2 to a port with TLS":           {secure, http2.ClientPreface, "use TLS"},
		"a request of HTTP/2 to one":          {secure, http2.ClientPreface + get, "\x00\x00\x00\x01cleartext is refused on this port: use TLS\n"}, // DATA
		"Trunkcall to a port with TLS":        {secure, "\xf5TK1", "use TLS"},
		"a TLS record that is none":           {secure, hello + "GET / HTTP/1.1\r\n\r\n", "\x15\x03"}, // an alert
	} {
		t.Run(name, func(t *testing.T) {
			got := says(t, c.target, c.said)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q is answered by %q", c.said, got)
			}
		})
	}
	mustEcho(t, dial(t, cleartext), "others are served")
}

// What ALPN has chosen is spoken, or nothing is.
func TestALPNHolds(t *testing.T) {
	a := newAuthority(t)
	withTLS := trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}})
	_, target := serve(t, serverOptions{withTLS}, standard()...)
	for name, c := range map[string]struct{ protocol, said, want string }{
		"HTTP/1.1":            {"http/1.1", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 "},
		"HTTP/1.1 as h2":      {"h2", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "preface"},
		"HTTP/1.1 as trunk":   {"trunk", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", ""},
		"HTTP/2 as http/1.1":  {"http/1.1", http2.ClientPreface, ""},
		"Trunkcall as http/1": {"http/1.1", "\xf5TK1", ""},
		"none, HTTP/1.1":      {"", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 "},
		"TLS in TLS":          {"", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := &tls.Config{RootCAs: a.pool, ServerName: "127.0.0.1"}
			if c.protocol != "" {
				config.NextProtos = []string{c.protocol}
			}
			socket, err := tls.DialWithDialer(&net.Dialer{Timeout: long}, "tcp", target, config)
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			_ = socket.SetDeadline(time.Now().Add(long))
			_, _ = io.WriteString(socket, c.said)
			all, _ := io.ReadAll(socket)
			if got := string(all); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("%q", got)
			}
		})
	}
}

// Bad calls over gRPC, for which a stock client has no words.
func TestBadCallsOverGRPC(t *testing.T) {
	a := attack(t)
	for name, c := range map[string]struct {
		method string
		fields []string
		body   string
		want   []string // in the answer's fields
	}{
		"-bin is not base64":        {"Echo", []string{"k-bin", "!"}, enveloped(""), []string{"grpc-status: 3", "base64", "refused"}},
		"a timeout that is none":    {"Echo", []string{"grpc-timeout", "1x"}, enveloped(""), []string{"grpc-status: 3", "grpc-timeout", "refused"}},
		"an unknown encoding":       {"Echo", []string{"grpc-encoding", "br"}, enveloped(""), []string{"grpc-status: 12", "br", "grpc-accept-encoding: identity,gzip,zstd"}},
		"compressed, unsaid how":    {"Echo", nil, "\x01\x00\x00\x00\x00", []string{"grpc-status: 13", "grpc-encoding"}},
		"not what it says it is":    {"Echo", []string{"grpc-encoding", "gzip"}, "\x01\x00\x00\x00\x01x", []string{"grpc-status: 3"}},
		"unknown flags":             {"Echo", nil, "\x02\x00\x00\x00\x00", []string{"grpc-status: 13", "flags"}},
		"cut off":                   {"Echo", nil, "\x00\x00\x00\x00\x05x", []string{"grpc-status: 3", "cut off", "refused"}},
		"a prefix cut off":          {"Chat", nil, "\x00\x00", []string{"grpc-status: 3", "cut off"}},
		"nothing":                   {"Echo", nil, "", []string{"grpc-status: 12", "0 were sent", "refused"}},
		"two":                       {"Echo", nil, enveloped("", ""), []string{"grpc-status: 12", "more were sent", "refused"}},
		"malformed JSON":            {"Echo", []string{"content-type", "application/grpc+json"}, enveloped("{"), []string{"grpc-status: 3", "refused"}},
		"JSON of invalid UTF-8":     {"Echo", []string{"content-type", "application/grpc+json"}, enveloped("{\"data\":\"\xff\"}"), []string{"grpc-status: 3", "refused"}},
		"malformed Protobuf":        {"Echo", nil, enveloped("\xff"), []string{"grpc-status: 3", "refused"}},
		"a length that lies":        {"Echo", nil, "\x00\xff\xff\xff\xff", []string{"grpc-status: 8", "max_message 67108864", "refused"}},
		"unknown fields are taken":  {"Echo", []string{"content-type", "application/grpc+json"}, enveloped(`{"nobody":"knows"}`), []string{"grpc-status: 0"}},
		"a name that is too long":   {strings.Repeat("x", 2000), nil, enveloped(""), []string{"grpc-status: 3", "name is too long", "refused"}},
		"metadata that is too long": {"Echo", []string{"k", strings.Repeat("x", 17<<10)}, enveloped(""), []string{"grpc-status: 8", "max_metadata_bytes 16384", "refused"}},
		"a header that is too long": {"Echo", []string{"k", strings.Repeat("x", 40<<10)}, enveloped(""), []string{":status: 431"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := a.raid(false)
			r.frames.ReadMetaHeaders = r.decoder()
			id, _ := r.asksAtLength(c.body == "", "/test.Service/"+c.method, c.fields...)
			if c.body != "" {
				_ = r.frames.WriteData(id, true, []byte(c.body))
			}
			said := ""
			for ended := false; !ended; {
				f, err := r.frames.ReadFrame()
				if err != nil {
					t.Fatalf("after %q: %v", said, err)
				}
				if h, ok := f.(*http2.MetaHeadersFrame); ok {
					for _, field := range h.Fields {
						said += field.Name + ": " + field.Value + "\n"
					}
					ended = h.StreamEnded()
				}
			}
			for _, part := range c.want {
				if !strings.Contains(said, part) {
					t.Errorf("%q does not say %q", said, part)
				}
			}
			if _, err := r.calls("/test.Service/Echo"); err != nil { // the connection goes on
				t.Error(err)
			}
		})
	}
	a.check()
}

// The same at gRPC-Web and Connect's streams, over both versions of HTTP.
func TestBadMessagesOfStreamsOverHTTP(t *testing.T) {
	_, where := serveCalculator(t, nil)
	for name, c := range overHTTP(t) {
		for what, bad := range map[string]struct{ body, web, connect string }{
			"unknown flags":          {"\x04\x00\x00\x00\x00", "grpc-status: 3\r\n", "invalid_argument"},
			"compressed, unsaid how": {"\x01\x00\x00\x00\x00", "grpc-status: 13\r\n", "internal"},
			"cut off":                {"\x00\x00\x00\x00\x05x", "grpc-status: 3\r\n", "invalid_argument"},
			"malformed JSON":         {enveloped("{"), "grpc-status: 3\r\n", "invalid_argument"},
			"invalid UTF-8":          {enveloped("{\"data\":\"\xff\"}"), "grpc-status: 3\r\n", "invalid_argument"},
			"a length that lies":     {"\x00\xff\xff\xff\xff", "grpc-status: 8\r\n", "resource_exhausted"},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				for _, method := range []string{"/test.Service/Chat", "/test.Service/Produce"} {
					got, _ := envelopes(t, posts(t, c, where+method, "application/connect+json", bad.body).body)
					if len(got) != 1 || !strings.Contains(got[0], `"code":"`+bad.connect+`"`) {
						t.Errorf("Connect, %s: %q", method, got)
					}
					got, _ = envelopes(t, posts(t, c, where+method, "application/grpc-web+json", bad.body).body)
					if len(got) != 1 || !strings.Contains(got[0], bad.web) {
						t.Errorf("gRPC-Web, %s: %q", method, got)
					}
					a := posts(t, c, where+method, "application/grpc-web-text+json", base64.StdEncoding.EncodeToString([]byte(bad.body)))
					if plain, _ := base64.StdEncoding.DecodeString(a.body); !strings.Contains(string(plain), bad.web) {
						t.Errorf("gRPC-Web in text, %s: %q", method, plain)
					}
				}
			})
		}
		for field, value := range map[string]string{"K-Bin": "!", "Connect-Timeout-Ms": "x", "Connect-Content-Encoding": "br", "Connect-Protocol-Version": "7"} {
			got, _ := envelopes(t, posts(t, c, where+"/test.Service/Chat", "application/connect+json", "", field, value).body)
			if len(got) != 1 || !strings.Contains(got[0], `"trunk-delivery":["refused"]`) {
				t.Errorf("%s: %q", field, got)
			}
		}
		for field, value := range map[string]string{"K-Bin": "!", "Grpc-Timeout": "x", "Grpc-Encoding": "br"} {
			got, _ := envelopes(t, posts(t, c, where+"/test.Service/Chat", "application/grpc-web+json", "", field, value).body)
			if len(got) != 1 || !strings.Contains(got[0], "trunk-delivery: refused") {
				t.Errorf("%s: %q", field, got)
			}
		}
		posts(t, c, where+"/calc/div", "application/json", "[7,2]").wants(t, "[3,1]")
	}
}

func TestAMalformedBodyIsNotTakenForOneThatIsCutOff(t *testing.T) {
	_, url := serveCalculator(t, nil)
	for _, chunks := range []string{"zz\r\n[7,2]\r\n0\r\n\r\n", "5\r\n[7,2]xx"} {
		got := says(t, strings.TrimPrefix(url, "http://"),
			"POST /calc/div HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks)
		if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, "Connection: close") || !strings.Contains(got, "malformed") {
			t.Errorf("%q", got)
		}
	}
}
