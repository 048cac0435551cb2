package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// HandshakeTimeout is how long a peer may take until its protocol is known and
// its TLS handshake done (spec/limits.md).
const HandshakeTimeout = 10 * time.Second

// ErrNothingSaid is wrapped in what Listener.Refused is given for a connection that was closed, or
// timed out, without a byte, as port scans and TCP probes do.
var ErrNothingSaid = errors.New("nothing was said")

// Listener accepts connections and finds out by the first bytes what each
// speaks.
type Listener struct {
	Socket net.Listener
	// TLS, if set, is offered on the port, with NextProtos as it stands; cleartext is then refused unless
	// AllowClear.
	TLS        *tls.Config
	AllowClear bool
	// Proxied says that each connection begins with a header of the PROXY
	// protocol, which says whose it is.
	Proxied bool
	// Limits, if set, counts the connections; whoever serves a connection calls Leave at its end.
	Limits *ConnLimits
	// Patience is used in place of HandshakeTimeout unless it is 0.
	Patience time.Duration
	// Protocols are those that are served, in the order in which they are asked.
	Protocols []Protocol
	// Refused is told of each connection that was closed for what it sent or
	// did not send; it may be nil.
	Refused func(remote net.Addr, err error)
	// Accepting, if set, is told once that connections cannot be accepted and
	// why, and with nil when they can again.
	Accepting func(err error)

	mu      sync.Mutex
	opening map[net.Conn]bool // sockets whose protocol is not known yet; true: it is turned away
	closed  bool
	ended   context.Context // with closed; nil before Serve
	end     context.CancelFunc
	done    sync.WaitGroup
}

// Listen opens a listening socket: HOST:PORT, where PORT may be 0 for any, unix:PATH or mem:NAME. A Unix
// socket that nobody listens on any more is replaced.
func Listen(where string) (net.Listener, error) {
	network, name, _ := strings.Cut(where, ":")
	switch {
	case (network == "mem" || network == "unix") && name == "":
		return nil, cannotListen(where, "there is nothing behind "+network+":")
	case network == "mem":
		return ListenMemory(name)
	case network == "unix":
		return listenUnix(name)
	}
	if _, _, why := splitHostPort(where, 0); why != "" {
		return nil, cannotListen(where, why)
	}
	return net.Listen("tcp", where)
}

func cannotListen(where, why string) error {
	return fmt.Errorf("cannot listen on %q: %s: want HOST:PORT, unix:PATH or mem:NAME", where, why)
}

func listenUnix(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err == nil {
		return l, nil
	}
	if probe, dialErr := net.Dial("unix", path); dialErr == nil {
		_ = probe.Close()
		return nil, err
	}
	if info, statErr := os.Lstat(path); statErr != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, err // not a socket: not ours to remove
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}

// Serve accepts until Close or Drain and then returns nil. If somebody else closes the listening
// socket, it returns that error.
func (l *Listener) Serve() error {
	l.mu.Lock()
	l.ended, l.end = context.WithCancel(context.Background())
	if l.closed {
		l.end()
	}
	l.mu.Unlock()
	var pause time.Duration
	for l.ended.Err() == nil {
		socket, err := l.Socket.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) && !l.isClosed() {
				return fmt.Errorf("accept: %w", err)
			}
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			// Out of descriptors, or the peer was gone already: running calls
			// go on, and accepting recovers.
			if pause == 0 {
				l.accepting(fmt.Errorf("accept: %w", err))
			}
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			l.rest(pause)
			continue
		}
		if pause > 0 {
			l.accepting(nil)
			pause = 0
		}
		if by, open := l.track(socket); open {
			go l.open(socket, by)
		}
	}
	return nil
}

func (l *Listener) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *Listener) accepting(err error) {
	if l.Accepting != nil {
		l.Accepting(err)
	}
}

// rest waits, but not beyond the listener's end.
func (l *Listener) rest(pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.ended.Done():
	}
}

// track remembers a socket whose protocol is not known yet, so that Close drops it, and returns by
// when its protocol must be known.
func (l *Listener) track(socket net.Conn) (by time.Time, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = socket.Close()
		return time.Time{}, false
	}
	by = time.Now().Add(l.patience())
	_ = socket.SetDeadline(by)
	if l.opening == nil {
		l.opening = map[net.Conn]bool{}
	}
	l.opening[socket] = false
	l.done.Add(1)
	return by, true
}

// parts notes that a socket is turned away, so that closing the listener does not wait for it. It
// reports whether the listener is still open.
func (l *Listener) parts(socket net.Conn) (goesOn bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening[socket] = true
	return !l.closed
}

// forget is the end of track.
func (l *Listener) forget(socket net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.opening, socket)
}

// Close stops accepting and drops the connections whose protocol is not known
// yet.
func (l *Listener) Close() {
	l.stop(func(socket net.Conn) { _ = socket.Close() })
}

// farewellTime is how long connections whose protocol is not known yet may take
// while a listener drains.
const farewellTime = 200 * time.Millisecond

// Drain is Close for a server that loses no call: connections that have just
// been accepted are still given to their protocol, which can tell them to go elsewhere.
func (l *Listener) Drain() {
	l.stop(func(socket net.Conn) { _ = socket.SetDeadline(time.Now().Add(farewellTime)) })
}

func (l *Listener) stop(opening func(socket net.Conn)) {
	l.mu.Lock()
	l.closed = true
	if l.end != nil {
		l.end()
	}
	for socket, turnedAway := range l.opening {
		if turnedAway {
			_ = socket.Close()
		} else {
			opening(socket)
		}
	}
	l.mu.Unlock()
	_ = l.Socket.Close()
	l.done.Wait()
}
