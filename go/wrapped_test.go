package trunkcall_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// maskedConn is a connection of a user's own, which turns every bit of what goes through
// its Read and Write. By what it embeds it has all methods of a *net.TCPConn.
type maskedConn struct{ *net.TCPConn }

func (c maskedConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	mask(b[:n])
	return n, err
}

func (c maskedConn) Write(b []byte) (int, error) {
	turned := append([]byte(nil), b...)
	mask(turned)
	return c.TCPConn.Write(turned)
}

func mask(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

type maskedListener struct{ net.Listener }

func (l maskedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return maskedConn{c.(*net.TCPConn)}, nil
}

// unmask forwards connections to where, turning every bit back.
func unmask(t *testing.T, where string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	forward := func(near net.Conn) {
		far, err := net.Dial("tcp", where)
		if err != nil {
			_ = near.Close()
			return
		}
		running.Go(func() { passOn(near, maskedConn{far.(*net.TCPConn)}) })
		running.Go(func() { passOn(maskedConn{far.(*net.TCPConn)}, near) })
	}
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			forward(near)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// passOn copies through Read and Write alone.
func passOn(to, from net.Conn) {
	_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from})
	_ = to.Close()
	_ = from.Close()
}

func TestEveryByteGoesThroughAUsersOwnConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	where := unmask(t, l.Addr().String())
	s := newServer(t)
	t.Cleanup(s.Close)
	if err := s.Register(standard()...); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(maskedListener{l}); err != nil {
		t.Fatal(err)
	}
	large := noise(1 << 20)
	t.Run("native", func(t *testing.T) {
		c := dial(t, where)
		mustEcho(t, c, "small")
		if out, err := echo.Call(soon(t), c, large); err != nil || string(out.Data) != string(large.Data) {
			t.Error(err)
		}
	})
	t.Run("WebSocket", func(t *testing.T) { mustEcho(t, dial(t, "ws://"+where+"/"), "small") })
	t.Run("gRPC", func(t *testing.T) {
		c := stock(t, where)
		for _, in := range []*payload{text("small"), large} {
			if out, err := stockEcho(soon(t), c, "/test.Service/Echo", in); err != nil || string(out.Data) != string(in.Data) {
				t.Error(err)
			}
		}
	})
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			posts(t, c, "http://"+where+"/test.Service/Echo", "application/json", "{}").wants(t, "{}")
		})
	}
}
