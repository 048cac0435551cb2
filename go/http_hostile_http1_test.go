package trunkcall_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	stockgzip "google.golang.org/grpc/encoding/gzip"

	"github.com/trunkcall/trunkcall/go"
)

// Attacks over HTTP/1.1 and WebSockets, and those that all protocols of HTTP have in
// common.

// holds opens connections on each of which something was said, and nothing more comes.
func (a *attacked) holds(count int, said string) (closeAll func()) {
	a.t.Helper()
	var all []net.Conn
	for range count {
		socket, err := net.Dial("tcp", a.target)
		if err != nil {
			a.t.Fatal(err)
		}
		_, _ = io.WriteString(socket, said)
		all = append(all, socket)
	}
	return func() {
		for _, socket := range all {
			_ = socket.Close()
		}
	}
}

func TestConnectionsThatSayLittleCostLittle(t *testing.T) {
	const (
		count = 500
		head  = "POST /test.Service/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		chat  = "POST /test.Service/Chat HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+proto\r\nTransfer-Encoding: chunked\r\n\r\n"
	)
	for name, c := range map[string]struct {
		said  string
		bound int64 // for each
	}{
		"nothing":          {"", 16 << 10},
		"half a preface":   {"PRI * HTTP/2.0\r\n", 16 << 10},
		"half a method":    {"P", 16 << 10},
		"half a head":      {head, 40 << 10},
		"half a body":      {head + "Content-Length: 60000000\r\n\r\n{", 56 << 10},
		"half a chunk":     {head + "Transfer-Encoding: chunked\r\n\r\nffffff\r\n{", 56 << 10},
		"half a message":   {chat + "6\r\n\x00\x03\x00\x00\x00x\r\n", 56 << 10},
		"a stream":         {chat, 60 << 10},
		"idle HTTP/1.1":    {head + "Content-Length: 2\r\n\r\n{}", 40 << 10},
		"idle HTTP/2":      {http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00", 40 << 10},
		"half a frame":     {http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x40\x00\x00", 72 << 10},
		"half a TLS hello": {"\x16\x03\x01\x02\x00", 16 << 10},
		"a WebSocket":      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: trunk\r\n\r\n", 80 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			a := attack(t)
			a.costs(count*c.bound, func() func() { return a.holds(count, c.said) })
		})
	}
}

// A frame of a WebSocket that lies about its length gets what has come of it, one
// that no client may send ends the connection.
func TestFramesOfWebSocketsThatLie(t *testing.T) {
	const opening = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: trunk\r\n\r\n"
	const mask = "\x00\x00\x00\x00"
	for name, frame := range map[string]string{
		"longer than there is memory": "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff" + mask + "\xf5TK1",
		"of a negative length":        "\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff" + mask + "\xf5TK1",
		"a long PING":                 "\x89\xfe\x0f\xff" + mask + strings.Repeat("x", 0xfff),
		"not masked":                  "\x82\x04\xf5TK1",
		"of an unknown kind":          "\x83\x84" + mask + "\xf5TK1",
		"reserved bits":               "\xf2\x84" + mask + "\xf5TK1",
		"a message never ended":       "\x02\x84" + mask + "\xf5TK1" + strings.Repeat("\x00\x80"+mask, 1000),
	} {
		t.Run(name, func(t *testing.T) {
			a := attack(t)
			a.costs(100*(80<<10), func() func() { return a.holds(100, opening+frame) })
		})
	}
}

// zipped is so many zero bytes as gzip has them.
func zipped(t *testing.T, size int64) string {
	t.Helper()
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if _, err := io.CopyN(w, nought{}, size); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	return packed.String()
}

type nought struct{}

func (nought) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// A message that decompresses to more than there may be is refused when it gets
// there, over every protocol.
func TestABombStopsAtTheLimitOverEveryProtocol(t *testing.T) {
	computes(t)
	bomb := zipped(t, 256<<20)
	a := attack(t, trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 1 << 20}))
	enclosed := "\x01" + enveloped(bomb)[1:]
	url := "http://" + a.target
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rounds := 0
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			posts(t, c, url+"/test.Service/Echo", "application/proto", bomb, "Content-Encoding", "gzip").
				wantsError(t, 429, "resource_exhausted", "max_message 1048576 when decompressed")
			reply := posts(t, c, url+"/test.Service/Chat", "application/connect+proto", enclosed, "Connect-Content-Encoding", "gzip")
			if got, _ := envelopes(t, reply.body); len(got) != 1 || !strings.Contains(got[0], "resource_exhausted") || !strings.Contains(got[0], "max_message") {
				t.Errorf("Connect's stream: %q", got)
			}
			for _, method := range []string{"Echo", "Chat"} {
				reply = posts(t, c, url+"/test.Service/"+method, "application/grpc-web", enclosed, "Grpc-Encoding", "gzip")
				if got, _ := envelopes(t, reply.body); len(got) != 1 || !strings.Contains(got[0], "grpc-status: 8\r\n") {
					t.Errorf("gRPC-Web's %s: %q", method, got)
				}
			}
			reply = posts(t, c, url+"/test.Service/Echo", "application/grpc-web-text", base64.StdEncoding.EncodeToString([]byte(enclosed)), "Grpc-Encoding", "gzip")
			if plain, _ := base64.StdEncoding.DecodeString(reply.body); !strings.Contains(string(plain), "grpc-status: 8\r\n") {
				t.Errorf("gRPC-Web in text: %q", plain)
			}
			rounds += 5
		})
	}
	r := a.raid(false)
	id, _ := r.asks(false, "/test.Service/Echo", "grpc-encoding", "gzip")
	for rest := enclosed; rest != ""; {
		n := min(16384, len(rest))
		_ = r.frames.WriteData(id, n == len(rest), []byte(rest[:n]))
		rest = rest[n:]
	}
	eventually(t, "gRPC's is refused", func() bool {
		f, err := r.frames.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		h, ok := f.(*http2.HeadersFrame)
		return ok && h.StreamEnded()
	})
	runtime.ReadMemStats(&after)
	if allocated := int64(after.TotalAlloc - before.TotalAlloc); allocated > int64(rounds+1)*(8<<20) {
		t.Errorf("%d MiB were allocated for %d messages", allocated>>20, rounds+1)
	}
	a.check()
}

// A stream whose handler takes nothing holds up its own sender, and holds a window
// at most.
func TestAnEndlessBodyThatNobodyTakesHoldsAWindow(t *testing.T) {
	t.Run("gRPC", func(t *testing.T) {
		a := attack(t)
		a.costs(20*(1<<20), func() func() {
			var streams []grpc.ClientStream
			c := stock(t, a.target)
			for range 20 {
				s := stockStream(t, c, "/test.Service/Deaf", grpc.UseCompressor(stockgzip.Name))
				go func() {
					for s.SendMsg(noise(1000)) == nil {
					}
				}()
				streams = append(streams, s)
			}
			eventually(t, "windows are full", func() bool { return a.Gauges().WithheldCredit >= int64(len(streams))*200_000 })
			return func() { _ = c.Close() }
		})
	})
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			a := attack(t)
			a.costs(20*(1<<20), func() func() {
				body, feed := io.Pipe()
				ctx, cancel := context.WithCancel(soon(t))
				request, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.target+"/test.Service/Deaf", body)
				request.Header.Set("Content-Type", "application/connect+proto")
				done := make(chan struct{})
				go func() {
					defer close(done)
					if response, err := c.Do(request); err == nil {
						_ = response.Body.Close()
					}
				}()
				sent := make(chan int, 1<<16)
				go func() {
					for message := []byte(enveloped(strings.Repeat("x", 1000))); ; sent <- len(message) {
						if _, err := feed.Write(message); err != nil {
							return
						}
					}
				}()
				for stuck := false; !stuck; { // all that goes has gone
					select {
					case <-sent:
					case <-time.After(200 * time.Millisecond):
						stuck = true
					}
				}
				return func() {
					cancel()
					_ = body.Close()
					<-done
				}
			})
		})
	}
}
