package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// The PROXY protocol, versions 1 and 2: a line or a block ahead of everything
// else, in which a proxy says whose connection it passes on.

const (
	proxySignature = "\r\n\r\n\x00\r\nQUIT\n" // of version 2
	proxyWord      = "PROXY "                 // of version 1
	proxyLine      = 107                      // bytes of the longest line of version 1
)

// errNoProxy is why a connection is closed that did not come through a proxy.
var errNoProxy = errors.New("there is no header of the PROXY protocol, which this port wants")

// readProxy reads the header, and nothing beyond, and returns the socket with the
// addresses that it says.
func readProxy(socket net.Conn) (net.Conn, error) {
	var start [len(proxySignature)]byte
	n, err := io.ReadFull(socket, start[:len(proxyWord)])
	switch said := string(start[:n]); {
	case n == 0 && err != nil:
		return nil, nothingSaid(err)
	case err != nil:
		return nil, fmt.Errorf("PROXY protocol: %w", err)
	case said == proxyWord:
		return readProxyLine(socket)
	case !strings.HasPrefix(proxySignature, said):
		return nil, errNoProxy
	}
	if _, err := io.ReadFull(socket, start[n:]); err != nil {
		return nil, fmt.Errorf("PROXY protocol: %w", err)
	}
	if string(start[:]) != proxySignature {
		return nil, errNoProxy
	}
	return readProxyBlock(socket)
}

// readProxyLine reads what is left of a line of version 1, byte by byte: what
// follows is not ours.
func readProxyLine(socket net.Conn) (net.Conn, error) {
	line := make([]byte, 0, proxyLine)
	for !strings.HasSuffix(string(line), "\r\n") {
		if len(proxyWord)+len(line) == proxyLine {
			return nil, errors.New("PROXY protocol: the line is too long")
		}
		line = line[:len(line)+1]
		if _, err := io.ReadFull(socket, line[len(line)-1:]); err != nil {
			return nil, fmt.Errorf("PROXY protocol: %w", err)
		}
	}
	words := strings.Split(string(line[:len(line)-2]), " ")
	if words[0] == "UNKNOWN" {
		return socket, nil
	}
	if len(words) == 5 && (words[0] == "TCP4" || words[0] == "TCP6") {
		source, ok := proxyAddress(words[1], words[3])
		target, alsoOK := proxyAddress(words[2], words[4])
		if ok && alsoOK && source.Addr().Is4() == (words[0] == "TCP4") {
			return passedOn(socket, source, target), nil
		}
	}
	return nil, fmt.Errorf("PROXY protocol: malformed line %q", line)
}

func proxyAddress(ip, port string) (netip.AddrPort, bool) {
	a, err := netip.ParseAddr(ip)
	p, portErr := strconv.ParseUint(port, 10, 16)
	return netip.AddrPortFrom(a, uint16(p)), err == nil && portErr == nil
}

// readProxyBlock reads what is left of a header of version 2.
func readProxyBlock(socket net.Conn) (net.Conn, error) {
	var head [4]byte
	if _, err := io.ReadFull(socket, head[:]); err != nil {
		return nil, fmt.Errorf("PROXY protocol: %w", err)
	}
	length := int(binary.BigEndian.Uint16(head[2:]))
	size := map[byte]int{0x11: 4, 0x21: 16}[head[1]] // of an address; other families are passed over
	if head[0] == 0x20 {                             // LOCAL: of the proxy's own
		size = 0
	}
	var addresses [36]byte
	wanted := 0
	if size > 0 {
		wanted = 2*size + 4
	}
	if head[0]&^1 != 0x20 || length < wanted {
		return nil, fmt.Errorf("PROXY protocol: malformed header % x", head)
	}
	if _, err := io.ReadFull(socket, addresses[:wanted]); err != nil {
		return nil, fmt.Errorf("PROXY protocol: %w", err)
	}
	if _, err := io.CopyN(io.Discard, onlyReader{socket}, int64(length-wanted)); err != nil {
		return nil, fmt.Errorf("PROXY protocol: %w", err)
	}
	if size == 0 {
		return socket, nil
	}
	address := func(at, port int) netip.AddrPort {
		ip, _ := netip.AddrFromSlice(addresses[at : at+size])
		return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(addresses[port:]))
	}
	return passedOn(socket, address(0, 2*size), address(size, 2*size+2)), nil
}

// onlyReader keeps io.CopyN from splicing.
type onlyReader struct{ io.Reader }

// proxied is a socket with the addresses that a proxy has said.
type proxied struct {
	net.Conn
	remote, local net.Addr
}

func passedOn(socket net.Conn, source, target netip.AddrPort) net.Conn {
	return &proxied{socket, net.TCPAddrFromAddrPort(source), net.TCPAddrFromAddrPort(target)}
}

func (p *proxied) RemoteAddr() net.Addr { return p.remote }
func (p *proxied) LocalAddr() net.Addr  { return p.local }

// CloseWrite half-closes the socket, if it can.
func (p *proxied) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
