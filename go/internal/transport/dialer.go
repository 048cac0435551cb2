package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"
)

// ALPN is the protocol name in TLS's application-layer negotiation
// (section 11).
const ALPN = "trunk"

// Defaults of dialling (spec/limits.md).
const (
	DialTimeout        = 10 * time.Second       // for all addresses of a target together
	DialAddressTimeout = 3 * time.Second        // for each, when there are several, or several targets
	dialStagger        = 250 * time.Millisecond // from the try of one to that of the next
)

// Target is one instance of a service, and how to reach it.
type Target struct {
	// Addresses lead to it: HOST:PORT, unix:PATH, mem:NAME, ws://HOST:PORT/PATH or
	// wss://HOST:PORT/PATH. A host name stands for all its addresses.
	Addresses []string
	// ServerName is what its certificate is to show; by default the address's host.
	ServerName string
	// TLS is used if it is not nil, and by wss:// always. A server name in it
	// comes before all others.
	TLS *tls.Config
	// Several says that the caller can try other targets.
	Several bool
	// Open opens byte streams in place of the system, if it is not nil. It is given
	// HOST:PORT, unix:PATH or mem:NAME.
	Open func(ctx context.Context, address string) (net.Conn, error)
	// Handshakes is told of each handshake of TLS, if it is not nil.
	Handshakes *Handshakes
	// Lookup finds the addresses of a host; by default the system's resolver does.
	Lookup func(ctx context.Context, host string) ([]string, error)
}

// Join takes over a socket that Dial has opened and waits until the server has greeted. It is
// called for several sockets at once and takes at most one; it closes the others and returns an
// error. several says that there are other addresses or targets, so that no call may be sent before
// the server has greeted.
type Join func(ctx context.Context, socket net.Conn, several bool) error

// Dial races the addresses of a target (client.md 9.4) until join takes a socket. When all have
// failed, addresses whose servers may be restarting are tried once more. The error names every
// address and why it failed.
func Dial(ctx context.Context, target *Target, join Join) error {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	addresses, failed := target.resolve(ctx)
	if len(addresses) == 0 {
		return failed
	}
	r := race{target: target, join: join, several: target.Several || len(addresses) > 1}
	errs := r.run(ctx, addresses)
	if errs == nil {
		return nil
	}
	// Servers are restarted in turn: one that was down may be back by the time that another stops.
	var again []address
	var which []int
	for i, err := range errs[:len(errs)-1] {
		if Restarts(err) {
			again, which = append(again, addresses[i]), append(which, i)
		}
	}
	if len(again) > 0 && ctx.Err() == nil {
		more := r.run(ctx, again)
		if more == nil {
			return nil
		}
		for i, err := range more {
			if err != nil {
				errs[which[i]] = err
			}
		}
	}
	for i, err := range errs {
		if err != nil { // else time ran out before it was tried
			failed = append(failed, failure{addresses[i].text, err})
		}
	}
	return failed
}

// failures is why each address of a target failed.
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

// TurnedAway is the error of a server that accepted the connection and then ended it, or takes no
// more calls.
type TurnedAway struct{ Text string }

func (e TurnedAway) Error() string { return e.Text }

// Restarts reports whether err is one that a server gives while it restarts.
func Restarts(err error) bool {
	return errors.As(err, new(TurnedAway)) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, fs.ErrNotExist)
}

// race tries addresses one after the other. If one takes long, the next is tried beside it.
type race struct {
	target  *Target
	join    Join
	several bool
}

// run returns nil once an address was joined, else the error of each. It returns when no attempt is
// under way any more.
func (r *race) run(ctx context.Context, addresses []address) []error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type end struct {
		i   int
		err error
	}
	errs := make([]error, len(addresses))
	ends := make(chan end)
	began, underWay, won := 0, 0, false
	stagger := time.NewTimer(dialStagger)
	defer stagger.Stop()
	begin := func() {
		if began == len(addresses) || ctx.Err() != nil {
			return
		}
		i := began
		began++
		underWay++
		stagger.Reset(dialStagger)
		go func() { ends <- end{i, r.try(ctx, addresses[i])} }()
	}
	for begin(); underWay > 0; {
		select {
		case <-stagger.C:
			begin()
		case e := <-ends:
			underWay--
			if errs[e.i] = e.err; e.err == nil {
				won = true
				cancel() // the others give up, and close what they have
			} else if e.i == began-1 {
				begin()
			}
		}
	}
	if won {
		return nil
	}
	if began == 0 {
		errs[0] = ctx.Err()
	}
	return errs
}

// try tries one address, until the server has answered if there are several.
func (r *race) try(ctx context.Context, a address) error {
	if r.several {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DialAddressTimeout)
		defer cancel()
	}
	socket, err := r.target.reach(ctx, a)
	if err != nil {
		return err
	}
	return r.join(ctx, socket, r.several)
}

// reach opens the connection on which the session runs, with TLS and WebSocket where they are
// wanted.
func (t *Target) reach(ctx context.Context, a address) (net.Conn, error) {
	config, protocol := t.TLS, ALPN
	if a.webSocket != nil {
		protocol = ALPNHTTP1
		switch secure := a.webSocket.Scheme == "wss"; {
		case secure && config == nil:
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		case !secure && config != nil:
			return nil, errors.New("ws:// is cleartext, and TLS is configured: use wss://")
		}
	}
	socket, err := t.open(ctx, a)
	private := a.network == "mem" && t.Open == nil // nobody else can listen in: TLS would add nothing
	if err == nil && config != nil && !private {
		socket, err = t.secured(ctx, socket, config, a.serverName, protocol)
	}
	if err != nil || a.webSocket == nil {
		return socket, err
	}
	return upgrade(ctx, socket, a.webSocket)
}

// open opens a byte stream.
func (t *Target) open(ctx context.Context, a address) (net.Conn, error) {
	switch {
	case t.Open != nil:
		return t.openElse(ctx, a)
	case a.network == "mem":
		return dialMemory(ctx, a.where)
	default:
		return (&net.Dialer{}).DialContext(ctx, a.network, a.where)
	}
}

// openElse has the user's dialer open a byte stream. A dialer that does not return in time is left
// alone, and what it opens later is closed.
func (t *Target) openElse(ctx context.Context, a address) (net.Conn, error) {
	type result struct {
		socket net.Conn
		err    error
	}
	results := make(chan result)
	go func() {
		var r result
		defer func() {
			if value := recover(); value != nil {
				r = result{nil, fmt.Errorf("the dialer panicked: %v", value)}
			}
			select {
			case results <- r:
			case <-ctx.Done():
				if r.socket != nil {
					_ = r.socket.Close()
				}
			}
		}()
		r.socket, r.err = t.Open(ctx, a.asked())
	}()
	select {
	case r := <-results:
		if r.err == nil && r.socket == nil {
			r.err = errors.New("the dialer has opened nothing")
		}
		return r.socket, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the dialer has opened nothing in time: %w", ctx.Err())
	}
}

// secured does the handshake of TLS.
func (t *Target) secured(ctx context.Context, socket net.Conn, config *tls.Config, serverName, protocol string) (net.Conn, error) {
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
	began := time.Now()
	defer t.Handshakes.begin(socket)()
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
		if ctx.Err() != nil {
			return nil, fmt.Errorf("TLS: %s: %w", Silence(time.Since(began)), ctx.Err())
		}
		return nil, fmt.Errorf("TLS: %s", Describe(err))
	}
	return secure, nil
}
