package transport

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// ConnLimits bounds how many connections a server has, over all its listeners. It
// counts them from when they are accepted. The zero value has no bounds.
type ConnLimits struct {
	Most           int // in all; 0: no bound
	MostPerAddress int // of one remote address; 0: no bound

	mu        sync.Mutex
	all       int
	byAddress map[netip.Prefix]int
}

// addressOf is what connections are counted by: an address of IPv4, or the 64 bits of an
// address of IPv6 that one host or household has all to itself. It is not valid for sockets
// without such an address.
func addressOf(remote net.Addr) netip.Prefix {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip, _ := netip.AddrFromSlice(tcp.IP)
	bits := 64
	if ip = ip.Unmap(); ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits)
	return prefix
}

// Enter counts a connection, or says why there may be none more.
func (l *ConnLimits) Enter(remote net.Addr) error {
	address := addressOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.Most > 0 && l.all >= l.Most:
		return fmt.Errorf("connections have reached their limit of %d", l.Most)
	case l.MostPerAddress > 0 && l.byAddress[address] >= l.MostPerAddress:
		return fmt.Errorf("connections from %v have reached their limit of %d", address, l.MostPerAddress)
	}
	l.countLocked(address, 1)
	return nil
}

// Again counts a connection that goes on as another: as the WebSocket that it became.
func (l *ConnLimits) Again(remote net.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countLocked(addressOf(remote), 1)
}

// Leave counts the end of a connection.
func (l *ConnLimits) Leave(remote net.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countLocked(addressOf(remote), -1)
}

func (l *ConnLimits) countLocked(address netip.Prefix, n int) {
	l.all += n
	if !address.IsValid() {
		return
	}
	if l.byAddress == nil {
		l.byAddress = map[netip.Prefix]int{}
	}
	if l.byAddress[address] += n; l.byAddress[address] <= 0 {
		delete(l.byAddress, address)
	}
}

// Bounds on what is done for connections beyond the limits.
const (
	mostTold = 64          // at a time: others are just closed
	tellTime = time.Second // for what they begin with, which says how to tell them
)

var told atomic.Int32

// turnAway tells a peer in its own protocol that there are too many connections, and
// closes the socket. One that wants TLS is just closed.
func (l *Listener) turnAway(socket net.Conn, why error) {
	l.refuse(socket.RemoteAddr(), why)
	defer func() { _ = socket.Close() }()
	defer told.Add(-1)
	if told.Add(1) > mostTold {
		return
	}
	_ = socket.SetDeadline(time.Now().Add(tellTime))
	spoken, _, err := readStart(socket)
	if err != nil {
		return
	}
	if door, native := l.door(spoken); native {
		sayGoodbye(socket, why.Error())
	} else if door.Decline != nil {
		door.Decline(socket, why.Error())
	}
}
