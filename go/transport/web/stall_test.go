package web

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// opensHTTP1 returns a connection to a server over HTTP/1.1 that has these methods.
func opensHTTP1(t *testing.T, door *HTTP) net.Conn {
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
	server := &HTTP1{Handler: door, OnOpen: func(*HTTP1Conn) {}, OnClosed: func(*HTTP1Conn, error) { close(closed) }}
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
	peer := opensHTTP1(t, &HTTP{Server: s, Catalog: s, Stall: 50 * time.Millisecond, Panicked: func(v any, st []byte) { t.Errorf("%v %s", v, st) }})
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
		"a length":                       {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", `"code":"canceled"`},
		"a length, and nothing":          {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n", `"code":"canceled"`},
		"chunks":                         {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{", `"code":"canceled"`},
		"a length, with a deadline":      {"/unary HTTP/1.1\r\nContent-Type: application/json\r\nConnect-Timeout-Ms: 60000\r\nContent-Length: 9\r\n\r\n{", `"code":"canceled"`},
		"a stream, within a message":     {"/stream HTTP/1.1\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\x00\x00\x00\x00\x09\r\n", `"error":{`},
		"a stream that tells a length":   {"/stream HTTP/1.1\r\nContent-Type: application/connect+json\r\nContent-Length: 9\r\n\r\n\x00\x00\x00\x00\x09", `"error":{`},
		"gRPC-Web that tells its length": {"/unary HTTP/1.1\r\nContent-Type: application/grpc-web\r\nContent-Length: 9\r\n\r\n\x00\x00\x00\x00\x09", "grpc-status: 1\r\n"},
	} {
		t.Run(name, func(t *testing.T) { wantsStalled(t, s, c.head, c.want) })
	}
}
