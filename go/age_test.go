package trunkcall_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
)

// countedListener counts the connections that come.
type countedListener struct {
	net.Listener
	accepted atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

// byHTTP1 makes calls as requests of HTTP/1.1.
func byHTTP1(t *testing.T, target string) func(ctx context.Context, in *payload) (*payload, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	t.Cleanup(client.CloseIdleConnections)
	return func(ctx context.Context, in *payload) (*payload, error) {
		body, err := proto.Marshal(in)
		if err != nil {
			return nil, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+target+"/test.Service/Block", bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/proto")
		answer, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		if body, err = io.ReadAll(answer.Body); err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", answer.Status, body)
		}
		out := &payload{}
		if err == nil {
			err = proto.Unmarshal(body, out)
		}
		return out, err
	}
}

// Connections end at their age under load, and nobody notices but by the number of connections.
func TestConnectionsThatReachTheirMaximumAgeLoseNoCall(t *testing.T) {
	t.Parallel() // it waits more than it computes
	native := func(prefix string) func(*testing.T, string) func(context.Context, *payload) (*payload, error) {
		return func(t *testing.T, target string) func(context.Context, *payload) (*payload, error) {
			c := dial(t, prefix+target)
			return func(ctx context.Context, in *payload) (*payload, error) { return block.Call(ctx, c, in) }
		}
	}
	for name, client := range map[string]func(*testing.T, string) func(context.Context, *payload) (*payload, error){
		"native":    native(""),
		"WebSocket": native("ws://"),
		"gRPC": func(t *testing.T, target string) func(context.Context, *payload) (*payload, error) {
			c := stock(t, target)
			return func(ctx context.Context, in *payload) (*payload, error) {
				return stockEcho(ctx, c, "/test.Service/Block", in)
			}
		},
		"HTTP/1.1": byHTTP1,
	} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			s := newServer(t, trunkcall.WithMaxConnectionAge(20*time.Millisecond))
			t.Cleanup(s.Close)
			if err := s.Register(l.handler()); err != nil {
				t.Fatal(err)
			}
			listener := &countedListener{Listener: listenTCP(t)}
			if err := s.Start(listener); err != nil {
				t.Fatal(err)
			}
			call := client(t, listener.Addr().String())
			var ids, failed atomic.Int64
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for listener.accepted.Load() < 30 && failed.Load() == 0 {
						id := int(ids.Add(1)) & 0xffff
						l.runs[id].Store(0)
						out, err := call(soon(t), ledgerRequest(id))
						if err == nil {
							err = l.judge(id, out, nil)
						}
						if err != nil {
							failed.Add(1)
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}

func TestACallOutlivesTheMaximumAgeOfItsConnection(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, serverOptions{trunkcall.WithMaxConnectionAge(time.Millisecond)}, append(standard(), g.handler())...)
	c, h2 := dial(t, target), stock(t, target)
	answered := make(chan error, 2)
	go func() {
		_, err := block.Call(soon(t), c, text("native"))
		answered <- err
	}()
	go func() {
		_, err := stockEcho(soon(t), h2, "/test.Service/Block", text("gRPC"))
		answered <- err
	}()
	first, second := g.await(t), g.await(t)
	old := []*trunkcall.Connection{
		trunkcall.CallFromContext(first).Connection(), trunkcall.CallFromContext(second).Connection(),
	}
	for range 100 { // on a busy machine a connection may be too old before its first call, and the next a while away
		if _, err := echo.Call(soon(t), c, text("beside it"), trunkcall.WaitForReady()); err != nil {
			t.Fatal(err)
		}
	}
	g.open()
	for range old {
		if err := receive(t, answered, "an answer"); err != nil {
			t.Error(err)
		}
	}
	for _, conn := range old {
		eventually(t, "the old connection is over", func() bool { return conn.Err() != nil })
	}
	if s.Running() > 0 {
		t.Error("calls run")
	}
}

func TestConnectionsHaveNoAgeUnlessOneIsGiven(t *testing.T) {
	if _, err := trunkcall.NewServer(trunkcall.WithMaxConnectionAge(-time.Second)); err == nil {
		t.Error("an age below 0 is taken")
	}
}
