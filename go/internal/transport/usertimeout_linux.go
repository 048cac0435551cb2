package transport

import (
	"net"
	"syscall"
	"time"
)

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT; package syscall has no name for it

// setUserTimeout has the system give up a connection whose peer acknowledges nothing for that long.
func setUserTimeout(socket net.Conn, after time.Duration) {
	tcp, _ := socket.(*net.TCPConn)
	if tcp == nil || after <= 0 {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(after.Milliseconds()))
		})
	}
}
