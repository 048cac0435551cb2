package trunkcall_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Native connections in WebSockets.

func TestEveryKindOfCallGoesOverWebSockets(t *testing.T) {
	a := newAuthority(t)
	withTLS := trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}})
	for scheme, options := range map[string]struct {
		server serverOptions
		client []trunkcall.ClientOption
	}{
		"ws":  {},
		"wss": {serverOptions{withTLS}, []trunkcall.ClientOption{trunkcall.WithTLS(&tls.Config{RootCAs: a.pool})}},
	} {
		t.Run(scheme, func(t *testing.T) {
			told := newEvents()
			_, target := serve(t, append(options.server, told.option()), standard()...)
			c := dial(t, scheme+"://"+target+"/any/path", options.client...)
			mustEcho(t, c, "hello")
			large := noise(5 << 20) // in many frames and messages
			if got, err := echo.Call(soon(t), c, large); err != nil || string(got.Data) != string(large.Data) {
				t.Error(err)
			}
			stream, err := chat.Open(soon(t), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{"a", "b"} {
				if err := stream.Send(text(s)); err != nil {
					t.Fatal(err)
				}
				if m, err := stream.Receive(); err != nil || string(m.Data) != s {
					t.Error(m, err)
				}
			}
			_ = stream.CloseSend()
			if _, err := stream.Receive(); err != io.EOF {
				t.Error(err)
			}
			if c.Secure() != (scheme == "wss") {
				t.Error("the client is secure:", c.Secure())
			}
			up := receive(t, told.up, "connection")
			if up.Protocol() != "trunk" || up.Secure() != (scheme == "wss") {
				t.Error(up.Protocol(), up.Secure())
			}
			if up.Remote().Network() != "tcp" {
				t.Error(up.Remote())
			}
		})
	}
}

func TestDrainingLosesNoCallOverAWebSocket(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, append(standard(), g.handler())...)
	c := dial(t, "ws://"+target)
	answer := make(chan error, 1)
	go func() {
		_, err := block.Call(soon(t), c, text(""))
		answer <- err
	}()
	g.await(t)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(soon(t)) }()
	eventually(t, "nobody listens", func() bool { return len(s.Addrs()) == 0 })
	g.open()
	if err := receive(t, answer, "answer"); err != nil {
		t.Error(err)
	}
	if err := receive(t, stopped, "end of Stop"); err != nil {
		t.Error(err)
	}
}

// opens asks for a WebSocket as a browser does.
func opens(t *testing.T, target, origin string, protocols ...string) (*websocket.Conn, int) {
	t.Helper()
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	ws, response, err := websocket.Dial(soon(t), "ws://"+target+"/", &websocket.DialOptions{Subprotocols: protocols, HTTPHeader: header})
	if err == nil {
		t.Cleanup(func() { _ = ws.CloseNow() })
	}
	if response == nil {
		t.Fatal(err)
	}
	return ws, response.StatusCode
}

func TestPagesOpenWebSocketsOnlyWhereTheyMay(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithOrigins("https://app.example.com")}, standard()...)
	for origin, want := range map[string]int{
		"": 101, "http://" + target: 101, "https://app.example.com": 101, "https://evil.example.com": 403, "null": 403,
	} {
		if _, got := opens(t, target, origin, "trunk"); got != want {
			t.Errorf("origin %q: %d, want %d", origin, got, want)
		}
	}
	if _, got := opens(t, target, "", "chat"); got != 400 {
		t.Error(got)
	}
}

func TestAWebSocketThatIsNotTrunkcallIsClosed(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	ws, _ := opens(t, target, "", "trunk")
	_ = ws.Write(soon(t), websocket.MessageText, []byte("hello"))
	if got := closedWith(t, ws); got != websocket.StatusUnsupportedData {
		t.Error(got)
	}
	ws, _ = opens(t, target, "", "trunk")
	_ = ws.Write(soon(t), websocket.MessageBinary, []byte("GET / HTTP/1.1\r\n\r\n"))
	if got := closedWith(t, ws); got != websocket.StatusProtocolError {
		t.Error(got)
	}
}

func TestAWebSocketThatSaysNothingEndsWithItsServer(t *testing.T) {
	for name, end := range map[string]func(*trunkcall.Server){
		"Close": (*trunkcall.Server).Close,
		"Stop":  func(s *trunkcall.Server) { _ = s.Stop(soon(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			s, target := serve(t, nil, standard()...)
			ws, _ := opens(t, target, "", "trunk")
			over := make(chan websocket.StatusCode, 1)
			go func() { over <- closedWith(t, ws) }()
			eventually(t, "it is a request no more", func() bool { return s.Gauges().Connections == 0 })
			end(s)
			select {
			case got := <-over:
				if got != websocket.StatusNormalClosure {
					t.Error(got)
				}
			case <-time.After(transport.HandshakeTimeout / 2): // at its end it is closed in any case
				t.Error("it is open still")
			}
		})
	}
}

// closedWith reads until a WebSocket is closed.
func closedWith(t *testing.T, ws *websocket.Conn) websocket.StatusCode {
	for {
		if _, _, err := ws.Read(soon(t)); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestFramesMaySpanTheMessagesOfAWebSocket(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	ws, _ := opens(t, target, "", "trunk")
	hello := wire.AppendPreface(nil, &wire.Preface{Version: wire.Version, Highest: wire.Version, Settings: wire.DefaultSettings()})
	for i := range hello { // one byte in each message
		if err := ws.Write(soon(t), websocket.MessageBinary, hello[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	_, got, err := ws.Read(soon(t))
	if err != nil || !strings.HasPrefix(string(got), string(wire.Magic[:])) {
		t.Errorf("%q %v", got, err)
	}
}

func TestLongFramesAreCut(t *testing.T) {
	const longest = 256 << 10 // limits.md 1
	sent := noise(longest*2 + 1).Data
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if n, err := transport.NewWebSocket(ws, nil, &transport.WebSocketInput{}).Write(sent); n != len(sent) || err != nil {
			t.Error(n, err)
		}
		_ = ws.CloseNow()
	}))
	defer server.Close()
	ws, _, err := websocket.Dial(soon(t), server.URL, nil) //nolint:bodyclose // there is none: it became a WebSocket
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(longest)
	var got []byte
	for len(got) < len(sent) {
		_, message, err := ws.Read(soon(t))
		if err != nil {
			t.Fatal(len(got), err)
		}
		got = append(got, message...)
	}
	if !bytes.Equal(got, sent) {
		t.Error("other bytes arrived")
	}
	_ = ws.CloseNow()
}

func TestAClientIsSecureIfAllItsTargetsAre(t *testing.T) {
	for target, want := range map[string]bool{"wss://a": true, "wss://a, wss://b:1/c": true, "wss://a,ws://b": false, "a:1": false} {
		c := newClient(t, target)
		if c.Secure() != want {
			t.Error(target, c.Secure())
		}
		c.Close()
	}
}

func TestAServerWithoutWebSocketsIsToldApart(t *testing.T) {
	plain := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: long}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = plain.Serve(listener) }()
	t.Cleanup(func() { _ = plain.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	_, err = trunkcall.Dial(ctx, "ws://"+listener.Addr().String())
	wantsText(t, err.Error(), "404 Not Found where a WebSocket was asked for: 404 page not found")
	_, err = trunkcall.Dial(ctx, "ws://"+listener.Addr().String(), trunkcall.WithTLS(&tls.Config{}))
	wantsText(t, err.Error(), "use wss://")
}
