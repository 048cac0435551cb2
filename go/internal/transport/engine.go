package transport

import (
	"net"
	"syscall"
)

// What the engines of other protocols on the same port share with this one
// (transport/http2).

// RawOf returns what TryRead and TryWrite work on. It returns nil on systems without them, and for
// all types but net.TCPConn and net.UnixConn, also behind a PROXY header. A user's type that embeds
// one of those has their SyscallConn too, but its Read and Write may limit, count or encrypt the
// bytes.
func RawOf(socket net.Conn) syscall.RawConn {
	if !canRaw {
		return nil
	}
	var raw syscall.RawConn
	var err error
	switch socket := socket.(type) {
	case *proxied: // which changes addresses, no bytes
		return RawOf(socket.Conn)
	case *net.TCPConn:
		raw, err = socket.SyscallConn()
	case *net.UnixConn:
		raw, err = socket.SyscallConn()
	}
	if err != nil {
		return nil
	}
	return raw
}

// LingerTime is how long a peer gets to read a farewell. Linger gives it that: it
// half-closes the socket and throws away a bounded amount of what still comes.
const LingerTime = lingerTime

// Linger is described with LingerTime.
func Linger(socket net.Conn) { linger(socket) }

// TryRead makes one attempt to read from the descriptor of a socket, inside
// syscall.RawConn.Read: it never waits. It returns 0 and no error when there is
// nothing to read, and io.EOF at the end.
func TryRead(fd uintptr, b []byte) (int, error) { return tryRead(fd, nil, b) }

// TryWrite makes one attempt to write, inside syscall.RawConn.Write: it never
// waits. It returns 0 and no error when the socket takes nothing.
func TryWrite(fd uintptr, b []byte) (int, error) { return tryWrite(fd, b, nil) }
