package rawframe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Patience bounds every wait of a Peer, so that a peer that says nothing fails
// its test instead of hanging it.
const Patience = 2 * time.Minute

// Peer is one end of a connection in the hands of a test. One goroutine may
// send while another reads.
type Peer struct {
	net.Conn
	// Remote is the preface of the other side, once it was read.
	Remote wire.Preface

	t       testing.TB
	pending []byte
	greeted bool
	ended   bool
}

// New puts a connection into a test's hands and closes it when the test ends.
func New(t testing.TB, socket net.Conn) *Peer {
	t.Cleanup(func() { _ = socket.Close() })
	return &Peer{Conn: socket, t: t}
}

// Dial connects to a TCP address, or to a Unix socket given as unix:PATH.
func Dial(t testing.TB, target string) *Peer {
	t.Helper()
	network := "tcp"
	if path, ok := cutUnix(target); ok {
		network, target = "unix", path
	}
	socket, err := net.DialTimeout(network, target, Patience)
	if err != nil {
		t.Fatal(err)
	}
	return New(t, socket)
}

func cutUnix(target string) (string, bool) {
	const prefix = "unix:"
	if len(target) > len(prefix) && target[:len(prefix)] == prefix {
		return target[len(prefix):], true
	}
	return "", false
}

// Listener hands the connections that it accepts to the test.
type Listener struct {
	net.Listener
	t testing.TB
}

// Listen listens on a free port of the loopback.
func Listen(t testing.TB) *Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &Listener{l, t}
}

// Target is the address as clients take it.
func (l *Listener) Target() string { return l.Addr().String() }

// Next waits for the next connection.
func (l *Listener) Next() *Peer {
	l.t.Helper()
	if tcp, ok := l.Listener.(*net.TCPListener); ok {
		_ = tcp.SetDeadline(time.Now().Add(Patience))
	}
	socket, err := l.Listener.Accept()
	if err != nil {
		l.t.Fatalf("no connection came: %v", err)
	}
	return New(l.t, socket)
}

// Send writes bytes as they are.
func (p *Peer) Send(b ...[]byte) {
	p.t.Helper()
	if err := p.Try(b...); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

// Try is Send for a connection that the other side may have closed.
func (p *Peer) Try(b ...[]byte) error {
	_ = p.SetWriteDeadline(time.Now().Add(Patience))
	_, err := p.Write(bytes.Join(b, nil))
	return err
}

// Greet sends a preface, changed as the test likes, and reads the other side's.
func (p *Peer) Greet(change ...func(*wire.Preface)) {
	p.t.Helper()
	p.Send(Preface(change...))
	p.ReadPreface()
}

// ReadPreface reads the other side's preface into Remote.
func (p *Peer) ReadPreface() {
	p.t.Helper()
	for !p.greeted {
		if len(p.pending) >= wire.PrefaceSize {
			preface, n, err := wire.ParsePreface(p.pending)
			if err != nil {
				p.t.Fatalf("preface: %v", err)
			}
			if n > 0 {
				p.Remote, p.pending, p.greeted = preface, p.pending[n:], true
				return
			}
		}
		if err := p.fill(); err != nil {
			p.t.Fatalf("no preface after % x: %v", p.pending, err)
		}
	}
}

func (p *Peer) fill() error {
	if p.ended {
		return io.EOF
	}
	b := make([]byte, 64<<10)
	_ = p.SetReadDeadline(time.Now().Add(Patience))
	n, err := p.Read(b)
	p.pending = append(p.pending, b[:n]...)
	if n > 0 {
		return nil
	}
	p.ended = err != nil
	return err
}

// Next reads one frame; the error is that of the connection, or says that a
// frame was cut off by its end. The preface must have been read.
func (p *Peer) Next() (Frame, error) {
	for {
		if len(p.pending) >= wire.HeaderSize {
			h := wire.ParseHeader(p.pending)
			if size := wire.HeaderSize + int(h.Length); len(p.pending) >= size {
				body := bytes.Clone(p.pending[wire.HeaderSize:size])
				p.pending = p.pending[size:]
				return Frame{h, body}, nil
			}
		}
		if err := p.fill(); err != nil {
			if len(p.pending) > 0 {
				err = fmt.Errorf("%d bytes of a frame, then %w", len(p.pending), err)
			}
			return Frame{}, err
		}
	}
}

// Await reads until a frame of the given type comes and drops those before it.
func (p *Peer) Await(kind wire.Type) Frame {
	p.t.Helper()
	for {
		f, err := p.Next()
		if err != nil {
			p.t.Fatalf("waiting for %v: %v", kind, err)
		}
		if f.Type == kind {
			return f
		}
	}
}

// AwaitResult reads the RESULT of a stream and returns its status.
func (p *Peer) AwaitResult(id wire.StreamID) (Frame, wire.Code, string) {
	p.t.Helper()
	for {
		f := p.Await(wire.Result)
		if f.Stream != id {
			continue
		}
		return f, wire.Code(f.Code), f.StatusText(p.t)
	}
}

// Message is the payload of a CALL, DATA or RESULT with one message, behind
// metadata and an inline name.
func (f *Frame) Message(t testing.TB) []byte {
	t.Helper()
	settings := wire.DefaultSettings()
	b, err := wire.ParseBody(&f.Header, f.Body, f.Flags&wire.FlagMore != 0, &settings)
	if err != nil {
		t.Fatalf("%v: %v", f.Type, err)
	}
	return b.Payload
}

// StatusText is the message of a RESULT that is a failure.
func (f *Frame) StatusText(t testing.TB) string {
	t.Helper()
	if f.Code == 0 {
		return ""
	}
	settings := wire.DefaultSettings()
	b, err := wire.ParseBody(&f.Header, f.Body, false, &settings)
	if err != nil {
		t.Fatalf("RESULT: %v", err)
	}
	message, _, err := wire.ParseStatus(b.Payload)
	if err != nil {
		t.Fatalf("RESULT: %v", err)
	}
	return message
}

// Rest reads everything to the end of the stream, which must come in time; a
// reset counts as an end.
func (p *Peer) Rest() []Frame {
	p.t.Helper()
	var frames []Frame
	for {
		f, err := p.Next()
		var timeout net.Error
		switch {
		case err == nil:
			frames = append(frames, f)
			continue
		case errors.As(err, &timeout) && timeout.Timeout():
			p.t.Fatalf("the connection was not closed; so far %v", frames)
		}
		return frames
	}
}

// ExpectViolation reads to the end and wants a GOAWAY of the given reason whose
// text names the class.
func (p *Peer) ExpectViolation(class wire.Class, reason uint32) {
	p.t.Helper()
	frames := p.Rest()
	for _, f := range frames {
		if f.Type != wire.GoAway || f.Flags&wire.FlagAck != 0 {
			continue
		}
		got, text := wire.ParseGoAway(&f.Header, f.Body)
		if got != reason || !bytes.HasPrefix(f.Body, []byte(class+":")) {
			p.t.Fatalf("GOAWAY reason %d %q, want reason %d for %s", got, text, reason, class)
		}
		return
	}
	p.t.Fatalf("closed without GOAWAY, want %s; frames %v", class, frames)
}

// HalfClose ends this side's sending, unless the other has closed already.
func (p *Peer) HalfClose() {
	p.t.Helper()
	half, ok := p.Conn.(interface{ CloseWrite() error })
	if !ok {
		p.t.Fatalf("%T cannot half-close", p.Conn)
	}
	if err := half.CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
		p.t.Fatal(err)
	}
}

// Reset closes the connection with a TCP reset instead of an orderly end.
func (p *Peer) Reset() {
	if tcp, ok := p.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = p.Close()
}
