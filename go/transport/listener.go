package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/wire"
)

// HandshakeTimeout is how long a peer may take until its protocol is known and
// its TLS handshake done (spec/limits.md).
const HandshakeTimeout = 10 * time.Second

// ErrNothingSaid is given to Listener.Refused for a connection that was closed
// without a byte, as by those who only look whether the port is open.
var ErrNothingSaid = errors.New("closed without a byte")

// Listener accepts connections and finds out by the first bytes what each
// speaks.
type Listener struct {
	Socket net.Listener
	// TLS, if set, is offered on the port, with NextProtos as it stands; cleartext is then refused unless
	// AllowClear.
	TLS        *tls.Config
	AllowClear bool
	// Patience is used in place of HandshakeTimeout unless it is 0.
	Patience time.Duration
	// Native is given each connection that speaks Trunkcall, with the bytes
	// that were read already.
	Native func(socket net.Conn, prefix []byte)
	// Refused is told of each connection that was closed for what it sent or
	// did not send; it may be nil.
	Refused func(remote net.Addr, err error)
	// Accepting, if set, is told once that connections cannot be accepted and
	// why, and with nil when they can again.
	Accepting func(err error)

	mu      sync.Mutex
	opening map[net.Conn]struct{} // sockets whose protocol is not known yet
	closed  bool
	ended   context.Context // with closed; nil before Serve
	end     context.CancelFunc
	done    sync.WaitGroup
}

// Listen opens a listening socket: HOST:PORT, unix:PATH or mem:NAME. A Unix
// socket that nobody listens on any more is replaced.
func Listen(where string) (net.Listener, error) {
	if name, ok := strings.CutPrefix(where, "mem:"); ok {
		return ListenMemory(name)
	}
	path, ok := strings.CutPrefix(where, "unix:")
	if !ok {
		return net.Listen("tcp", where)
	}
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

// Serve accepts until Close or Drain.
func (l *Listener) Serve() {
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
			if errors.Is(err, net.ErrClosed) {
				return
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
		if l.track(socket) {
			go l.open(socket)
		}
	}
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

func (l *Listener) track(socket net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = socket.Close()
		return false
	}
	_ = socket.SetDeadline(time.Now().Add(l.patience()))
	if l.opening == nil {
		l.opening = map[net.Conn]struct{}{}
	}
	l.opening[socket] = struct{}{}
	l.done.Add(1)
	return true
}

// open finds out what the peer speaks and passes it on.
func (l *Listener) open(socket net.Conn) {
	defer l.done.Done()
	prefix, final, err := l.identify(socket)
	l.mu.Lock()
	delete(l.opening, socket)
	l.mu.Unlock()
	if err != nil {
		l.refuse(socket.RemoteAddr(), err)
		_ = socket.Close()
		return
	}
	l.Native(final, prefix)
}

func (l *Listener) refuse(remote net.Addr, err error) {
	if l.Refused != nil {
		l.Refused(remote, err)
	}
}

func (l *Listener) patience() time.Duration { return cmp.Or(l.Patience, HandshakeTimeout) }

const tlsHandshakeRecord = 0x16

func (l *Listener) identify(socket net.Conn) (prefix []byte, final net.Conn, err error) {
	if prefix, err = readMagic(socket); err != nil {
		return nil, nil, err
	}
	if prefix[0] == tlsHandshakeRecord {
		if l.TLS == nil {
			// What a TLS client makes of this is that there is no TLS here.
			sayGoodbye(socket, "this port does not speak TLS")
			return nil, nil, errors.New("a TLS handshake on a port without TLS")
		}
		secure, err := l.secure(socket, prefix)
		if err != nil {
			return nil, nil, err
		}
		if prefix, err = readMagic(secure); err != nil {
			return nil, nil, err
		}
		final = secure
	} else {
		final = socket
	}
	if !bytes.Equal(prefix, wire.Magic[:]) {
		return nil, nil, fmt.Errorf("the first bytes %q are no protocol served here", prefix)
	}
	if final == socket && l.TLS != nil && !l.AllowClear {
		sayGoodbye(socket, "cleartext is refused on this port: use TLS")
		return nil, nil, errors.New("cleartext on a port with TLS")
	}
	return prefix, final, socket.SetDeadline(time.Time{})
}

func (l *Listener) secure(socket net.Conn, prefix []byte) (net.Conn, error) {
	secure := tls.Server(&prefixed{Conn: socket, prefix: prefix}, l.TLS)
	ctx, cancel := context.WithTimeout(context.Background(), l.patience())
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secure, nil
}

// readMagic reads just enough to know the protocol: a first byte that cannot
// begin ours is not waited for the rest.
func readMagic(socket net.Conn) ([]byte, error) {
	prefix := make([]byte, 0, len(wire.Magic))
	for len(prefix) < len(wire.Magic) {
		n, err := socket.Read(prefix[len(prefix):cap(prefix)])
		prefix = prefix[:len(prefix)+n]
		if len(prefix) > 0 && !bytes.HasPrefix(wire.Magic[:], prefix) {
			return prefix, nil
		}
		if len(prefix) == 0 && errors.Is(err, io.EOF) {
			return nil, ErrNothingSaid
		}
		if err != nil {
			return nil, fmt.Errorf("no protocol after %d bytes: %w", len(prefix), err)
		}
	}
	return prefix, nil
}

// Decline tells a peer that speaks Trunkcall that none of its calls was or will
// be started, and closes the socket.
func Decline(socket net.Conn, text string) {
	sayGoodbye(socket, text)
	_ = socket.Close()
}

// sayGoodbye tells a peer that speaks Trunkcall why it is not served.
func sayGoodbye(socket net.Conn, text string) {
	b := wire.AppendPreface(nil, &wire.Preface{Version: wire.Version, Highest: wire.Version, Settings: wire.DefaultSettings()})
	b = wire.AppendGoAway(b, wire.GoAwayNotServed, text)
	_ = socket.SetDeadline(time.Now().Add(lingerTime))
	_, _ = socket.Write(b)
	linger(socket)
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
// been accepted are still given to Native, which can tell them to go elsewhere.
func (l *Listener) Drain() {
	l.stop(func(socket net.Conn) { _ = socket.SetDeadline(time.Now().Add(farewellTime)) })
}

func (l *Listener) stop(opening func(socket net.Conn)) {
	l.mu.Lock()
	l.closed = true
	if l.end != nil {
		l.end()
	}
	for socket := range l.opening {
		opening(socket)
	}
	l.mu.Unlock()
	_ = l.Socket.Close()
	l.done.Wait()
}

// prefixed gives back bytes that were read ahead.
type prefixed struct {
	net.Conn
	prefix []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.prefix) > 0 {
		n := copy(b, p.prefix)
		p.prefix = p.prefix[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
