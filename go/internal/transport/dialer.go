package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// ALPN is the protocol name in TLS's application-layer negotiation
// (section 11).
const ALPN = "trunk"

// Defaults of dialling (spec/limits.md).
const (
	DialTimeout        = 10 * time.Second // for all addresses of a target together
	DialAddressTimeout = 3 * time.Second  // for each, when there are several
)

// Join takes over a socket that Dial has opened. several says that there are
// other addresses to try: an error leads to the next.
type Join func(ctx context.Context, socket net.Conn, several bool) error

// Target is one instance of a service, and how to reach it.
type Target struct {
	// Addresses lead to it: HOST:PORT, unix:PATH, mem:NAME, ws://HOST:PORT/PATH or
	// wss://HOST:PORT/PATH. A host name stands for all its addresses.
	Addresses []string
	// ServerName is what its certificate is to show; by default the address's host.
	ServerName string
	// TLS is used if it is not nil, and by wss:// always.
	TLS *tls.Config
}

// Dial opens a socket to one address of target after the other until join takes
// one. Of several, one whose server may be restarting is tried once more when the others
// have failed. The error names every address that was tried and why it failed.
func Dial(ctx context.Context, target *Target, join Join) error {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	addresses, err := resolve(ctx, target)
	if err != nil {
		return err
	}
	tlsConfig := target.TLS
	failures := make(failures, 0, len(addresses))
	var again []int
	for i, a := range addresses {
		err := dialOne(ctx, a, tlsConfig, len(addresses) > 1, join)
		if err == nil {
			return nil
		}
		failures = append(failures, failure{a.text, err})
		if ctx.Err() != nil {
			break
		}
		if i+1 < len(addresses) && Restarts(err) {
			again = append(again, i)
		}
	}
	// Servers are restarted in turn: one that was down may be back by the time that another stops.
	for _, i := range again {
		if ctx.Err() != nil {
			break
		}
		err := dialOne(ctx, addresses[i], tlsConfig, true, join)
		if err == nil {
			return nil
		}
		failures[i].err = err
	}
	return failures
}

// failures is why each address of a target did not do.
type failures []failure

type failure struct {
	address string
	err     error
}

func (f failures) Error() string {
	texts := make([]string, len(f))
	for i, one := range f {
		texts[i] = one.address + ": " + Describe(one.err)
	}
	return strings.Join(texts, "; ")
}

func (f failures) Unwrap() []error {
	all := make([]error, len(f))
	for i, one := range f {
		all[i] = one.err
	}
	return all
}

// TurnedAway is why a server was not joined that took the connection and ended it, or
// takes no more calls.
type TurnedAway struct{ Text string }

func (e TurnedAway) Error() string { return e.Text }

// Restarts reports whether err is what one is met with at a server that is being restarted.
func Restarts(err error) bool {
	return errors.As(err, new(TurnedAway)) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, fs.ErrNotExist)
}

// address is one place to dial.
type address struct {
	network, where string
	serverName     string // for TLS
	text           string
	webSocket      *url.URL // where it is asked for; nil: nowhere
}

// CheckAddress tells of an address that nothing can be reached at, whatever listens where.
func CheckAddress(address string) error {
	_, _, err := parseAddress(address)
	return err
}

// parseAddress reads one address of a target; port is that of a host yet to be looked up.
func parseAddress(part string) (a address, port string, err error) {
	part = strings.TrimSpace(part)
	if network, name, _ := strings.Cut(part, ":"); name != "" && (network == "unix" || network == "mem") {
		return address{network, name, "localhost", part, nil}, "", nil
	}
	u, err := webSocketURL(part)
	if err != nil {
		return a, "", err
	}
	if u != nil {
		part = u.Host
	}
	host, port, err := net.SplitHostPort(part)
	if err != nil || port == "" {
		return a, "", fmt.Errorf("target %q: want HOST:PORT, unix:PATH, mem:NAME or ws://HOST:PORT/PATH", part)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return a, "", fmt.Errorf("target %q: want a port from 1 to 65535, got %q", part, port)
	}
	if host == "" {
		host = "localhost"
	}
	return address{"tcp", part, host, part, u}, port, nil
}

func resolve(ctx context.Context, target *Target) ([]address, error) {
	var all []address
	for _, part := range target.Addresses {
		a, port, err := parseAddress(part)
		if err != nil {
			return nil, err
		}
		if port == "" || net.ParseIP(a.serverName) != nil {
			all = append(all, a)
			continue
		}
		found, err := net.DefaultResolver.LookupHost(ctx, a.serverName)
		if err != nil {
			return nil, fmt.Errorf("target %q: %w", a.text, err)
		}
		for _, ip := range found {
			where := net.JoinHostPort(ip, port)
			all = append(all, address{"tcp", where, a.serverName, where, a.webSocket})
		}
	}
	if target.ServerName != "" {
		for i := range all {
			all[i].serverName = target.ServerName
		}
	}
	return all, nil
}

// dialOne tries one address, until the server has answered if there are several.
func dialOne(ctx context.Context, a address, tlsConfig *tls.Config, several bool, join Join) error {
	if several {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DialAddressTimeout)
		defer cancel()
	}
	socket, err := reach(ctx, a, tlsConfig)
	if err != nil {
		return err
	}
	return join(ctx, socket, several)
}

func reach(ctx context.Context, a address, tlsConfig *tls.Config) (net.Conn, error) {
	if a.network == "mem" {
		return dialMemory(ctx, a.where) // nobody else can listen in: TLS would add nothing
	}
	protocol := ALPN
	if a.webSocket != nil {
		protocol = ALPNHTTP1
		switch secure := a.webSocket.Scheme == "wss"; {
		case secure && tlsConfig == nil:
			tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		case !secure && tlsConfig != nil:
			return nil, errors.New("ws:// is cleartext, and TLS is configured: use wss://")
		}
	}
	socket, err := (&net.Dialer{}).DialContext(ctx, a.network, a.where)
	if err == nil && tlsConfig != nil {
		socket, err = secured(ctx, socket, tlsConfig, a.serverName, protocol)
	}
	if err != nil || a.webSocket == nil {
		return socket, err
	}
	return upgrade(ctx, socket, a.webSocket)
}

// secured does the handshake of TLS.
func secured(ctx context.Context, socket net.Conn, config *tls.Config, serverName, protocol string) (net.Conn, error) {
	config = config.Clone()
	config.NextProtos = []string{protocol}
	if config.ServerName == "" {
		config.ServerName = serverName
	}
	below := socket
	if config.Renegotiation == tls.RenegotiateNever { // else a handshake may come at any time, which waits
		below = &tlsSocket{Conn: socket}
	}
	secure := tls.Client(below, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = socket.Close()
		var record tls.RecordHeaderError
		if errors.As(err, &record) {
			return nil, errors.New("the server does not speak TLS on this port")
		}
		if strings.Contains(err.Error(), "no application protocol") {
			return nil, fmt.Errorf("TLS: the server does not offer the protocol %s: it is none of Trunkcall, or there is a proxy before it; "+
				"through one that passes on WebSockets, dial wss://HOST:PORT/PATH", ALPN)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return nil, TurnedAway{"closed during the TLS handshake: it may be a port without TLS"}
		}
		return nil, fmt.Errorf("TLS: %s", Describe(err))
	}
	return secure, nil
}
