package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// peers records from which addresses calls came.
func peers(seen *sync.Map) trunkcall.Handler {
	return block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		seen.Store(trunkcall.CallFromContext(ctx).Peer().Remote.String(), true)
		return in, nil
	})
}

func size(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

func TestCallsAreSpreadOverTheConnections(t *testing.T) {
	var seen sync.Map
	var held sync.WaitGroup
	const connections = 4
	held.Add(2 * connections)
	_, target := serve(t, nil, peers(&seen), echo2.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		seen.Store(trunkcall.CallFromContext(ctx).Peer().Remote.String(), true)
		held.Done()
		held.Wait() // all at once
		return in, nil
	}))
	c := dial(t, target, trunkcall.WithConnections(connections))
	var all sync.WaitGroup
	for range 2 * connections {
		all.Go(func() {
			if _, err := echo2.Call(soon(t), c, text("")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := size(&seen); n != connections {
		t.Fatalf("calls came over %d connections", n)
	}
}

func TestStreamsAreSpreadOverTheConnections(t *testing.T) {
	var seen sync.Map
	method := trunkcall.Bidi[payload, payload]("/test.Service/Where")
	_, target := serve(t, nil, method.Handler(func(ctx context.Context, s *trunkcall.BidiStream[payload, payload]) error {
		seen.Store(trunkcall.CallFromContext(ctx).Peer().Remote.String(), true)
		_, err := s.Receive()
		_ = err
		return nil
	}))
	c := dial(t, target, trunkcall.WithConnections(3))
	for range 6 {
		s, err := method.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.CloseSend()
		for err == nil {
			_, err = s.Receive()
		}
	}
	if n := size(&seen); n != 3 {
		t.Fatalf("streams went over %d connections", n)
	}
}

func TestALostConnectionIsReopened(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ended := make(chan error, 1)
	go func() { _ = c.Connect(soon(t)) }()
	for range 3 {
		p := l.Next() // after the first without being asked
		p.Greet()
		go func() {
			_, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady())
			ended <- err
		}()
		f := p.Await(wire.Call)
		p.Send(rawframe.Result(f.Stream, f.Message(t)))
		if err := receive(t, ended, "answer"); err != nil {
			t.Fatal(err)
		}
		p.Reset()
	}
}

// A server that takes connections only to end them is not stormed: pauses grow
// from one attempt to the next.
// A connection may end just as the one that opened it in the background is done.
func TestAConnectionLostAsSoonAsItIsThereIsReopened(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c := dial(t, target)
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		for range 200 {
			trunkcall.LoseOnceOpen(c)
		}
	}()
	receive(t, lost, "next connection")
	if _, err := echo.Call(soon(t), c, text("after them")); err != nil {
		t.Fatal(err)
	}
}

func TestAServerThatGreetsAndClosesIsNotStormed(t *testing.T) {
	t.Parallel() // it waits more than it computes
	for name, end := range map[string]func(net.Conn){
		"greets": func(s net.Conn) { _, _ = s.Write(rawframe.Preface()) },
		"silent": func(net.Conn) {},
		"drains": func(s net.Conn) {
			_, _ = s.Write(append(append(rawframe.Preface(), rawframe.GoAway(0, "no")...), rawframe.GoAwayAck()...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var dials atomic.Int32
			var accepting sync.WaitGroup
			accepting.Go(func() {
				for {
					s, err := l.Accept()
					if err != nil {
						return
					}
					dials.Add(1)
					end(s)
					_ = s.Close()
				}
			})
			c := newClient(t, l.Addr().String(), trunkcall.WithConnections(2))
			var callers sync.WaitGroup
			ctx, cancel := within(700 * time.Millisecond)
			defer cancel()
			for range 8 {
				callers.Go(func() {
					for ctx.Err() == nil {
						_, err := echo.Call(ctx, c, text("x"))
						if err == nil {
							t.Error("who answered?")
						}
						_, err = echo.Call(ctx, c, text("x"), trunkcall.WaitForReady())
						if err == nil {
							t.Error("who answered?")
						}
					}
				})
			}
			callers.Wait()
			c.Close()
			_ = l.Close()
			accepting.Wait()
			// Pauses are drawn from 0 to 100 ms, 200 ms, 400 ms and so on, for
			// each of two connections; without them there would be thousands.
			if n := dials.Load(); n < 1 || n > 60 {
				t.Fatalf("%d connections in 700 ms", n)
			}
		})
	}
}

func TestAddressesAreTriedInTurn(t *testing.T) {
	dead := rawframe.Listen(t)
	_ = dead.Close()
	_, live := serve(t, nil, standard()...)
	c := dial(t, dead.Target()+", unix:"+filepath.Join(t.TempDir(), "nobody")+" ,mem:nobody,"+live)
	mustEcho(t, c, "x")
}

func TestEveryAddressThatFailedIsNamed(t *testing.T) {
	dead := rawframe.Listen(t)
	_ = dead.Close()
	path := filepath.Join(t.TempDir(), "nobody")
	_, err := trunkcall.Dial(soon(t), dead.Target()+",unix:"+path+",mem:nobody")
	if err == nil {
		t.Fatal("connected")
	}
	wantsText(t, err.Error(), dead.Target(), "refused", "unix:"+path, "no such file", "mem:nobody", "nobody listens")
}

func TestAHangingAddressIsLeftAfterItsTime(t *testing.T) {
	t.Parallel() // it waits more than it computes
	full, fill := swallow(t)
	defer fill()
	_, live := serve(t, nil, standard()...)
	ctx, cancel := within(100 * time.Millisecond)
	defer cancel()
	_, err := trunkcall.Dial(ctx, full)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("dialling an address that swallows: %v", err)
	}
	if testing.Short() {
		return
	}
	mustEcho(t, dial(t, full+","+live), "x") // after 3 s
}

// swallow returns an address that neither takes nor refuses connections: its
// queue of those to accept is full.
func swallow(t *testing.T) (target string, end func()) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = syscall.Listen(fd, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	name, _ := syscall.Getsockname(fd)
	target = fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	var taken []net.Conn
	for range 100 {
		s, err := net.DialTimeout("tcp", target, 100*time.Millisecond)
		if err != nil {
			break
		}
		taken = append(taken, s)
	}
	return target, func() {
		for _, s := range taken {
			_ = s.Close()
		}
		_ = syscall.Close(fd)
	}
}

func TestAUnixSocketThatNobodyListensOnIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	_, target := start(t, "unix:"+path, nil, standard()...)
	mustEcho(t, dial(t, target), "x")

	s := newServer(t)
	t.Cleanup(s.Close)
	if _, err := s.Listen("unix:" + path); err == nil {
		t.Fatal("the socket of a living server was taken away")
	}
	mustEcho(t, dial(t, target), "x")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("unix:" + file); err == nil {
		t.Fatal("listening on a plain file")
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Fatal("the file was touched", err)
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	_, target := serve(t, nil)
	s := newServer(t)
	t.Cleanup(s.Close)
	_, err := s.Listen(target)
	if err == nil {
		t.Fatal("two servers on one port")
	}
	wantsText(t, err.Error(), target, "in use")
	_, where := start(t, "mem:"+t.Name(), nil)
	if _, err := s.Listen(where); err == nil {
		t.Fatal("two servers under one name")
	}
	if _, err := s.Listen("no port"); err == nil {
		t.Fatal("listening nowhere")
	}
}

func TestOneServerListensInSeveralPlaces(t *testing.T) {
	s, target := serve(t, nil, standard()...)
	path := "unix:" + filepath.Join(t.TempDir(), "s")
	if _, err := s.Listen(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("mem:" + t.Name()); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{target, path, "mem:" + t.Name()} {
		mustEcho(t, dial(t, where), "x")
	}
	if len(s.Addrs()) != 3 || s.Port() == 0 {
		t.Fatal(s.Addrs(), s.Port())
	}
}

func TestClosingWhileDialling(t *testing.T) {
	full, end := swallow(t)
	defer end()
	for _, target := range []string{full, "127.0.0.1:1", rawframe.Listen(t).Target()} {
		c := newClient(t, target, trunkcall.WithConnections(3))
		ended := make(chan error, 3)
		go func() { ended <- c.Connect(soon(t)) }()
		for range 2 {
			go func() {
				_, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady())
				ended <- err
			}()
		}
		began := time.Now()
		c.Close()
		if took := time.Since(began); took > tardy {
			t.Fatalf("%s: Close took %v", target, took)
		}
		for range 3 {
			if err := receive(t, ended, "end"); err == nil {
				t.Fatal("it succeeded")
			}
		}
	}
}

func TestConnectReopensWhatIsMissing(t *testing.T) {
	s, target := serve(t, nil, standard()...)
	c := dial(t, target, trunkcall.WithConnections(3))
	s.Close()
	start(t, target, nil, standard()...)
	eventually(t, "connected again", func() bool {
		_, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady())
		return err == nil && c.Connect(soon(t)) == nil
	})
}

func TestTargetsThatMakeNoSense(t *testing.T) {
	for _, target := range []string{"", "nonsense", "127.0.0.1", "127.0.0.1:99999999", "unix:", "http://127.0.0.1:80", "no-such-host.invalid:1"} {
		_, err := trunkcall.Dial(soon(t), target)
		if err == nil {
			t.Fatalf("connected to %q", target)
		}
		wantsText(t, err.Error())
	}
}

// counter is a listener whose connections count what passes through them. They
// embed a TCP connection, as many wrappers do.
type counter struct {
	net.Listener
	read, written atomic.Int64
}

type counted struct {
	*net.TCPConn
	by *counter
}

func (l *counter) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &counted{c.(*net.TCPConn), l}, nil
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.by.read.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	c.by.written.Add(int64(n))
	return n, err
}

func TestAWrappedSocketIsNotBypassed(t *testing.T) {
	s := newServer(t)
	defer s.Close()
	if err := s.Register(standard()...); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := &counter{Listener: l}
	if err := s.Start(seen); err != nil {
		t.Fatal(err)
	}
	c := dial(t, l.Addr().String())
	for range 10 {
		mustEcho(t, c, strings.Repeat("x", 1000))
	}
	// The last answer may be here before the wrapper has counted it.
	eventually(t, "ten calls of 1000 bytes seen by the wrapper, both ways", func() bool {
		return seen.read.Load() >= 10000 && seen.written.Load() >= 10000
	})
}
