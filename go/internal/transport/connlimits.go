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

// Enter counts a connection, or returns an error if there are too many. If its address is not known
// yet, remote is nil: it counts in all, and Name counts it by address later.
func (l *ConnLimits) Enter(remote net.Addr) error {
	address := addressOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Most > 0 && l.all >= l.Most {
		return fmt.Errorf("connections have reached their limit of %d", l.Most)
	}
	if err := l.fullLocked(address); err != nil {
		return err
	}
	l.countLocked(address, 1)
	return nil
}

// Name counts a connection by its address, after Enter without one. It returns an error if there
// are too many of that address.
func (l *ConnLimits) Name(remote net.Addr) error {
	address := addressOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fullLocked(address); err != nil {
		return err
	}
	l.countLocked(address, 1)
	l.all--
	return nil
}

func (l *ConnLimits) fullLocked(address netip.Prefix) error {
	if l.MostPerAddress > 0 && l.byAddress[address] >= l.MostPerAddress {
		return fmt.Errorf("connections from %v have reached their limit of %d", address, l.MostPerAddress)
	}
	return nil
}

// Again counts a connection once more, as the WebSocket that it became.
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

// mostTold is how many connections beyond the limits are told so at a time. Others are closed
// without a word.
const mostTold = 64

// tellTime is how long they may take to send their first bytes, which decide the protocol in which
// they are told. Tests change it.
var tellTime = time.Second

var told atomic.Int32

// turnAway closes a connection of which there are too many.
func (l *Listener) turnAway(accepted net.Conn, many *tooMany) {
	goesOn := l.parts(accepted)
	l.refuse(many.socket.RemoteAddr(), many.error)
	if told.Add(1) <= mostTold && goesOn {
		l.tell(many)
	}
	told.Add(-1)
	_ = many.socket.Close()
	l.forget(accepted)
}

// tell tells a peer in its own protocol why it is turned away. One that wants TLS is not told.
func (l *Listener) tell(many *tooMany) {
	socket := many.socket
	_ = socket.SetDeadline(time.Now().Add(tellTime))
	if many.proxy {
		if _, err := readProxy(socket); err != nil {
			return
		}
	}
	spoken, _, err := l.readStart(socket, true)
	if err == nil && spoken != nil && spoken.Decline != nil {
		spoken.Decline(socket, many.Error())
	}
}
