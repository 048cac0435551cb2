package web_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"

	"github.com/trunkcall/trunkcall/go/internal/transport/web"
)

// opensHTTP1 returns a connection to a server over HTTP/1.1 that has these methods.
func opensHTTP1(t *testing.T, protocol *web.HTTP) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	peer, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	socket, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	server := &web.HTTP1{Handler: protocol, OnOpen: func(*web.HTTP1Conn) {}, OnClosed: func(*web.HTTP1Conn, error) { close(closed) }}
	server.Serve(server.Prepare(socket, nil))
	t.Cleanup(func() {
		_ = peer.Close()
		<-closed
		server.Close()
	})
	_ = peer.SetDeadline(time.Now().Add(5 * time.Second))
	return peer
}

// A request that is answered early does not wait for the rest of its body without end.
func TestABodyThatNobodyWantsIsNotWaitedForWithoutEnd(t *testing.T) {
	s := &repeater{}
	for name, c := range map[string]struct{ head, want string }{
		"no such method": {"/none HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", "HTTP/1.1 404 "},
		"a form":         {"/unary HTTP/1.1\r\nContent-Type: application/xml\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{", "HTTP/1.1 415 "},
		"a bad field":    {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nA-Bin: *\r\nContent-Length: 9\r\n\r\n{", "HTTP/1.1 400 "},
	} {
		t.Run(name, func(t *testing.T) { wantsStalled(t, s, c.head, c.want) })
	}
}

func wantsStalled(t *testing.T, s *repeater, head, want string) {
	t.Helper()
	peer := opensHTTP1(t, &web.HTTP{Dialects: dialects, Server: s, Catalog: s, Stall: 50 * time.Millisecond, Panicked: func(v any, st []byte) { t.Errorf("%v %s", v, st) }})
	path, rest, _ := strings.Cut(head, "\r\n")
	_, _ = io.WriteString(peer, "POST "+path+"\r\nHost: x\r\n"+rest)
	all, err := io.ReadAll(peer)
	if err != nil || !strings.Contains(string(all), want) {
		t.Errorf("%q, %v", all, err)
	}
}

// A request whose body stands still is answered, and its connection closes,
// whichever way its length was told.
func TestABodyThatStandsStillEndsItsConnection(t *testing.T) {
	s := &repeater{}
	for name, c := range map[string]struct{ head, want string }{
		"a length":                       {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", `"code":"resource_exhausted"`},
		"a length, and nothing":          {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n", `"code":"resource_exhausted"`},
		"chunks":                         {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{", `"code":"resource_exhausted"`},
		"a length, with a deadline":      {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nConnect-Timeout-Ms: 60000\r\nContent-Length: 9\r\n\r\n{", `"code":"resource_exhausted"`},
		"a stream, within a message":     {"/stream HTTP/1.1\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\x00\x00\x00\x00\x09\r\n", `"error":{`},
		"a stream that tells a length":   {"/stream HTTP/1.1\r\nContent-Type: application/connect+json\r\nContent-Length: 9\r\n\r\n\x00\x00\x00\x00\x09", `"error":{`},
		"gRPC-Web that tells its length": {"/unary HTTP/1.1\r\nContent-Type: application/grpc-web\r\nContent-Length: 9\r\n\r\n\x00\x00\x00\x00\x09", "grpc-status: 8\r\n"},
	} {
		t.Run(name, func(t *testing.T) { wantsStalled(t, s, c.head, c.want) })
	}
}

// opensHTTP2 returns the URL of a server over HTTP/2 in the clear that has these methods.
func opensHTTP2(t *testing.T, protocol *web.HTTP) (url string, client *http.Client) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed, served, pool := make(chan struct{}, 10), make(chan int), &roles.Pool{}
	config := &http2.Config{Pool: pool, KeepaliveInterval: -1, Handler: &web.HTTP2{
		Other: web.OverHTTP2(protocol), OnClosed: func(*http2.Conn, error) { closed <- struct{}{} },
	}}
	go func() {
		n := 0
		for {
			socket, err := listener.Accept()
			if err != nil {
				served <- n
				return
			}
			http2.Serve(socket, nil, config, nil)
			n++
		}
	}()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = listener.Close()
		for range <-served {
			<-closed
		}
		pool.Close()
	})
	return "http://" + listener.Addr().String(), &http.Client{Transport: transport, Timeout: time.Minute}
}

// dripping is a body of which a byte comes every 10 ms, for far longer than any limit below
// allows.
type dripping struct {
	rest  string
	every time.Duration
	over  chan struct{}
}

func drips(start string) *dripping {
	return &dripping{start + strings.Repeat(" ", 1000), 10 * time.Millisecond, make(chan struct{})}
}

func (d *dripping) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.every):
	case <-d.over:
		return 0, io.ErrUnexpectedEOF
	}
	if d.rest == "" {
		return 0, io.ErrUnexpectedEOF
	}
	p[0], d.rest = d.rest[0], d.rest[1:]
	return 1, nil
}

func (d *dripping) Close() error {
	select {
	case <-d.over:
	default:
		close(d.over)
	}
	return nil
}

func TestABodyThatDripsIsNotReadForEver(t *testing.T) {
	s := &repeater{}
	protocol := &web.HTTP{Dialects: dialects, Server: s, Catalog: s, Stall: 100 * time.Millisecond}
	for name, c := range map[string]struct{ path, kind, start, want string }{
		"Connect":                   {"/unary", "application/json", "{", `"code":"resource_exhausted"`},
		"a stream within a message": {"/stream", "application/connect+json", "\x00\x00\x00\x03\xe8", `"code":"resource_exhausted"`},
		"gRPC-Web":                  {"/unary", "application/grpc-web", "\x00\x00\x00\x03\xe8", "grpc-status: 8\r\n"},
	} {
		t.Run(name+" over HTTP/1.1", func(t *testing.T) {
			peer := opensHTTP1(t, protocol)
			_ = peer.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(peer, "POST "+c.path+" HTTP/1.1\r\nHost: x\r\nContent-Type: "+c.kind+"\r\nContent-Length: 1005\r\n\r\n")
			body := drips(c.start)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.Copy(peer, body)
				_ = peer.Close()
			}()
			all, err := io.ReadAll(peer)
			_ = body.Close()
			<-done
			if !strings.Contains(string(all), c.want) {
				t.Errorf("%q, %v", all, err)
			}
		})
		t.Run(name+" over HTTP/2", func(t *testing.T) {
			url, client := opensHTTP2(t, protocol)
			body := drips(c.start)
			defer body.Close()
			r, _ := http.NewRequest(http.MethodPost, url+c.path, body)
			r.Header.Set("Content-Type", c.kind)
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			all, err := io.ReadAll(answer.Body)
			if !strings.Contains(string(all), c.want) {
				t.Errorf("%q, %v", all, err)
			}
			delivery := answer.Header.Get("Trunk-Delivery") + string(all)
			if refused := strings.Contains(delivery, "refused"); refused != (c.path == "/unary") {
				t.Errorf("delivery: %q", delivery)
			}
		})
	}
}
