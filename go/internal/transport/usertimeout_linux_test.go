package transport

import (
	"net"
	"syscall"
	"testing"
	"time"
)

func TestTheSystemGivesAConnectionUpNoSoonerThanKeepaliveAndTheStall(t *testing.T) {
	for _, c := range []struct{ interval, timeout, want time.Duration }{
		{20 * time.Second, 20 * time.Second, time.Minute},
		{2 * time.Minute, 30 * time.Second, 150 * time.Second},
		{0, 20 * time.Second, 0},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		socket, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		setUserTimeout(socket, GiveUpAfter(c.interval, c.timeout))
		raw, err := socket.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var got int
		_ = raw.Control(func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout) })
		if err != nil || time.Duration(got)*time.Millisecond != c.want {
			t.Errorf("keepalive %v and %v: %d ms, %v, want %v", c.interval, c.timeout, got, err, c.want)
		}
		_ = socket.Close()
		_ = l.Close()
	}
}
