package trunkcall_test

import (
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Targets of several addresses: which of them gets the calls.

// everyone is a listener that does the same to everybody who connects.
func everyone(t *testing.T, answer func(net.Conn)) (target string, connected *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected = &atomic.Int32{}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			connected.Add(1)
			answer(s)
			_ = s.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return l.Addr().String(), connected
}

func TestAnAddressThatAcceptsAndDoesNotServeLeadsToTheNext(t *testing.T) {
	for name, answer := range map[string]func(net.Conn){
		"closes without a greeting": func(net.Conn) {},
		"resets":                    func(s net.Conn) { _ = s.(*net.TCPConn).SetLinger(0) },
		"speaks something else":     func(s net.Conn) { _, _ = s.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) },
		"serves nobody": func(s net.Conn) {
			_, _ = s.Write(append(rawframe.Preface(), rawframe.GoAway(wire.GoAwayNotServed, "use TLS")...))
		},
		"is draining": func(s net.Conn) {
			_, _ = s.Write(append(append(rawframe.Preface(), rawframe.GoAway(0, "bye")...), rawframe.GoAwayAck()...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bad, connected := everyone(t, answer)
			_, good := serve(t, nil, standard()...)
			c := newClient(t, bad+","+good, trunkcall.WithBalancer(trunkcall.First()))
			defer c.Close()
			for range 3 { // no WaitForReady: not even the first may fail
				mustEcho(t, c, "x")
			}
			checkBidi(t, c)
			if connected.Load() == 0 {
				t.Fatal("the first address was never tried")
			}
		})
	}
}

func TestWhyEachAddressDidNotServeIsTold(t *testing.T) {
	closes := answering(t, nil)
	declines := answering(t, append(rawframe.Preface(), rawframe.GoAway(wire.GoAwayNotServed, "no room")...))
	c := newClient(t, closes+","+declines)
	defer c.Close()
	_, err := echo.Call(soon(t), c, text("x"))
	s := wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
	wantsText(t, s.Message, closes, declines, "no room")
}

// Servers behind one client that fall away and come back.
func TestAddressesThatFallAwayAndComeBack(t *testing.T) {
	var l load
	servers := make([]*trunkcall.Server, 3)
	where := make([]string, 3)
	for i := range servers {
		servers[i], where[i] = serve(t, nil, l.handler())
	}
	c := dial(t, where[0]+","+where[1]+","+where[2], trunkcall.WithConnections(2))
	l.begin(t, c)
	for round := range 6 {
		down := []int{round % 3, (round + 1) % 3}
		for _, i := range down {
			if err := servers[i].Stop(soon(t)); err != nil {
				t.Error(err)
			}
			l.progress(t)
		}
		for _, i := range down {
			servers[i], _ = start(t, where[i], nil, l.handler())
		}
		l.progress(t)
	}
	l.end()
}

// On a reconnection nothing is sent before the server has greeted: what is
// lost with it is provably not run.
func TestAReconnectionWaitsForTheGreeting(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	connected := make(chan error, 1)
	go func() { connected <- c.Connect(soon(t)) }()
	p := l.Next()
	p.Greet()
	if err := receive(t, connected, "connection"); err != nil {
		t.Fatal(err)
	}
	p.Send(rawframe.GoAway(0, "bye"), rawframe.GoAwayAck())
	for p.Await(wire.GoAway).Flags&wire.FlagAck == 0 {
	}
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(soon(t), c, text("x"))
		ended <- err
	}()
	p = l.Next()
	p.ReadPreface()
	_ = p.Close()
	wants(t, receive(t, ended, "status"), trunkcall.Unavailable, trunkcall.NotSent)
}

// Servers that restart in turn: while a client turns from one to the next, the former may
// come back and the latter stop.
func TestAnAddressThatRefusedIsTriedAgainWhenTheNextTurnsAway(t *testing.T) {
	for name, first := range map[string]func(t *testing.T, path string){
		"nobody listens": func(*testing.T, string) {},
		"left behind": func(t *testing.T, path string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			_ = l.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			first(t, path)
			var back sync.Once
			stops, _ := everyone(t, func(s net.Conn) {
				back.Do(func() { start(t, "unix:"+path, nil, standard()...) })
				_, _ = s.Write(append(rawframe.Preface(), rawframe.GoAway(wire.GoAwayNotServed, "the server is stopping")...))
				_, _ = io.Copy(io.Discard, s)
			})
			c := newClient(t, "unix:"+path+","+stops)
			defer c.Close()
			mustEcho(t, c, "x")
		})
	}
}

// relay has s speak with the server at to, until it is closed.
func relay(t *testing.T, s net.Conn, to string) {
	server, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	go func() {
		_, _ = io.Copy(server, s)
		_ = server.Close()
	}()
	_, _ = io.Copy(s, server)
}

func TestAnAddressThatTurnedAwayIsTriedAgainWhenTheNextRefuses(t *testing.T) {
	says := func(frames ...[]byte) func(net.Conn) {
		return func(s net.Conn) {
			_, _ = s.Write(slices.Concat(frames...))
			_, _ = io.Copy(io.Discard, s)
		}
	}
	for name, answer := range map[string]func(net.Conn){
		"draining":   says(rawframe.Preface(), rawframe.GoAway(wire.GoAwayDraining, "bye"), rawframe.GoAwayAck()),
		"not served": says(rawframe.Preface(), rawframe.GoAway(wire.GoAwayNotServed, "no room")),
		"closed":     func(net.Conn) {},
		"reset":      func(s net.Conn) { _ = s.(*net.TCPConn).SetLinger(0) },
	} {
		t.Run(name, func(t *testing.T) {
			_, good := serve(t, nil, standard()...)
			var first atomic.Bool
			restarts, _ := everyone(t, func(s net.Conn) {
				if first.CompareAndSwap(false, true) {
					answer(s)
					return
				}
				relay(t, s, good)
			})
			c := newClient(t, restarts+",unix:"+filepath.Join(t.TempDir(), "nobody"))
			defer c.Close()
			mustEcho(t, c, "x")
		})
	}
}
