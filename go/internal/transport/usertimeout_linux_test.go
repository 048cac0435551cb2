package transport

import (
	"math"
	"net"
	"syscall"
	"testing"
	"time"
)

// The system gives a connection up no sooner than keepalive and our own bound of unread output, at the
// latest after the longest time that it can be told, and as the socket's maker has said if that has.
func TestWhenTheSystemGivesAConnectionUp(t *testing.T) {
	const most = math.MaxInt32 * time.Millisecond
	for _, c := range []struct{ interval, timeout, before, want time.Duration }{
		{20 * time.Second, 20 * time.Second, 0, time.Minute},
		{2 * time.Minute, 30 * time.Second, 0, 150 * time.Second},
		{0, 20 * time.Second, 0, 0},
		{60 * 24 * time.Hour, 20 * time.Second, 0, most},
		{math.MaxInt64, math.MaxInt64, 0, most},
		{20 * time.Second, 20 * time.Second, 7 * time.Second, 7 * time.Second},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		socket, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := socket.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if c.before > 0 {
			_ = raw.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(c.before.Milliseconds()))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		GiveUpAfter(socket, c.interval, c.timeout)
		var got int
		_ = raw.Control(func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout) })
		if err != nil || time.Duration(got)*time.Millisecond != c.want {
			t.Errorf("keepalive %v and %v, set to %v before: %d ms, %v, want %v", c.interval, c.timeout, c.before, got, err, c.want)
		}
		_ = socket.Close()
		_ = l.Close()
	}
}
