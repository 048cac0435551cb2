package transport

import (
	"crypto/tls"
	"math"
	"net"
	"syscall"
	"time"
)

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT; package syscall has no name for it

// GiveUpAfter has the system give up a connection with such a keepalive whose peer acknowledges or
// reads nothing: after keepalive, whose error says why, and no sooner than our own bound of output
// that the peer does not read. Where a protocol lets its peer pause for longer it is not to be called. What
// the socket's maker has set stays.
func GiveUpAfter(socket net.Conn, interval, timeout time.Duration) {
	tcp := tcpOf(socket)
	if tcp == nil || interval <= 0 {
		return
	}
	const most = math.MaxInt32 // milliseconds, of the option
	both := min(interval.Milliseconds(), most) + min(timeout.Milliseconds(), most)
	after := int(min(max(both, defaultStall.Milliseconds()), most))
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			if set, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout); err == nil && set == 0 {
				_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, after)
			}
		})
	}
}

// tcpOf is the TCP connection below one; nil if there is none.
func tcpOf(socket net.Conn) *net.TCPConn {
	for {
		switch above := socket.(type) {
		case *net.TCPConn:
			return above
		case *proxied:
			socket = above.Conn
		case *tlsSocket:
			socket = above.Conn
		case *tls.Conn:
			socket = above.NetConn()
		case *WebSocket:
			socket = above.socket
		default:
			return nil
		}
	}
}
