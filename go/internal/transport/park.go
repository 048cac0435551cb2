package transport

import "syscall"

// Parked is the socket of a connection that is likely to stay idle: a poller waits for it instead
// of a goroutine. Unlike a polled socket (poll.go) it still belongs to package net, so that it can
// be written and closed as usual. The price is that both pollers, package net's and ours, notice
// when input comes, which is rare for such a connection.
type Parked struct {
	fd     int
	poller *poller
	wake   func()
}

// Park has wake called once the socket is readable, or has been when it was parked,
// on a goroutine that is not to be held up. It may be called late: when the socket
// was taken back already. Park returns nil where it cannot be done.
func Park(socket syscall.RawConn, wake func()) *Parked {
	var parked *Parked
	_ = socket.Control(func(fd uintptr) {
		p := &Parked{fd: int(fd), wake: wake}
		if park(p) {
			parked = p
		}
	})
	return parked
}

// Unpark takes the socket back, before it is read or closed.
func (p *Parked) Unpark() { p.poller.remove(p.fd) }
