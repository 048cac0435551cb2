package transport

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

type opened struct {
	socket net.Conn
	prefix []byte
}

// listening serves a loopback port.
func listening(t *testing.T, change ...func(*Listener)) (where string, native chan opened, refused chan error) {
	t.Helper()
	socket, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	native, refused = make(chan opened, 10), make(chan error, 10)
	l := &Listener{
		Socket: socket, Patience: long,
		Protocols: []Protocol{Native(func(s net.Conn, prefix []byte, _ time.Time) { native <- opened{s, prefix} })},
		Refused:   func(_ net.Addr, err error) { refused <- err },
	}
	for _, f := range change {
		f(l)
	}
	served := make(chan struct{})
	go func() { _ = l.Serve(); close(served) }()
	t.Cleanup(func() {
		l.Close()
		receive(t, served, "end of Serve")
	})
	return socket.Addr().String(), native, refused
}

func connect(t *testing.T, where string) net.Conn {
	t.Helper()
	s, err := net.Dial("tcp", where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	_ = s.SetDeadline(time.Now().Add(long))
	return s
}

// readToEnd reads until the listener closes the connection.
func readToEnd(t *testing.T, s net.Conn) string {
	t.Helper()
	b, err := io.ReadAll(s)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection was not closed after %q", b)
	}
	return string(b)
}

func TestSilentPeersAreClosedInTime(t *testing.T) {
	where, _, refused := listening(t, func(l *Listener) { l.TLS, l.Patience = &tls.Config{}, 50*time.Millisecond })
	for name, b := range map[string][]byte{
		"nothing": nil, "one byte": wire.Magic[:1], "three bytes": wire.Magic[:3],
		"the start of a TLS handshake": {tlsHandshakeRecord}, "half a TLS record": {tlsHandshakeRecord, 3, 1, 0, 50, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, where)
			began := time.Now()
			_, _ = s.Write(b)
			readToEnd(t, s)
			// 50 ms are allowed; seconds would mean that nobody looks.
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("closed after %v", took)
			}
			if err := receive(t, refused, "report"); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestAPanicOfATLSConfigTurnsOneConnectionAway(t *testing.T) {
	where, native, refused := listening(t, func(l *Listener) {
		l.AllowClear = true
		l.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { panic("no certificate today") }}
	})
	s := tls.Client(connect(t, where), &tls.Config{InsecureSkipVerify: true})
	if s.Handshake() == nil {
		t.Error("shook hands")
	}
	if err := receive(t, refused, "report"); !strings.Contains(err.Error(), "no certificate today") {
		t.Error(err)
	}
	_, _ = connect(t, where).Write(wire.Magic[:])
	_ = receive(t, native, "connection").socket.Close()
}

func TestTheFirstBytesDecide(t *testing.T) {
	where, native, refused := listening(t)
	s := connect(t, where)
	for i := range wire.Magic {
		_, _ = s.Write(wire.Magic[i : i+1])
	}
	got := receive(t, native, "connection")
	defer got.socket.Close()
	if !bytes.Equal(got.prefix, wire.Magic[:]) {
		t.Fatalf("% x", got.prefix)
	}
	// The time for the handshake does not go on after it.
	_, _ = s.Write([]byte("rest"))
	if b, err := io.ReadAll(io.LimitReader(got.socket, 4)); err != nil || string(b) != "rest" {
		t.Fatal(b, err)
	}
	for _, other := range []string{"GET / HTTP/1.1\r\n\r\n", "\x00", "\xf5TK2", "\xf5x"} {
		s := connect(t, where)
		_, _ = s.Write([]byte(other))
		readToEnd(t, s)
		if err := receive(t, refused, "report"); !strings.Contains(err.Error(), "no protocol served here") {
			t.Errorf("%q: %v", other, err)
		}
	}
	s = connect(t, where)
	_, _ = s.Write([]byte{tlsHandshakeRecord, 3, 1})
	if said := readToEnd(t, s); !strings.Contains(said, "does not speak TLS") {
		t.Errorf("to a TLS client: %q", said)
	}
	if err := receive(t, refused, "report"); !strings.Contains(err.Error(), "TLS") {
		t.Error(err)
	}
}

func TestCloseDropsConnectionsThatHaveNotSaidAnything(t *testing.T) {
	socket, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Listener{Socket: socket}
	served := make(chan struct{})
	go func() { _ = l.Serve(); close(served) }()
	s := connect(t, socket.Addr().String())
	eventually(t, "the connection is known", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.opening) == 1
	})
	l.Close()
	readToEnd(t, s)
	receive(t, served, "end of Serve")
}

// failing is a listener that is out of descriptors for a while.
type failing struct {
	net.Listener
	failures int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.failures > 0 {
		f.failures--
		return nil, errors.New("too many open files")
	}
	return f.Listener.Accept()
}

func TestAcceptingRecovers(t *testing.T) {
	accepting := make(chan error, 10)
	where, native, refused := listening(t, func(l *Listener) {
		l.Socket = &failing{l.Socket, 3}
		l.Accepting = func(err error) { accepting <- err }
	})
	s := connect(t, where)
	_, _ = s.Write(wire.Magic[:])
	_ = receive(t, native, "connection").socket.Close()
	if err := receive(t, accepting, "report"); err == nil || !strings.Contains(err.Error(), "too many open files") {
		t.Fatal(err)
	}
	if err := receive(t, accepting, "report"); err != nil {
		t.Fatalf("told once more: %v", err)
	}
	if len(accepting)+len(refused) > 0 {
		t.Fatal("told more than that it fails and that it recovers")
	}
}

// Those who have just connected when a server begins to drain are still
// identified, so that they can be told to go elsewhere; the silent ones are
// dropped soon.
func TestDrainStillTakesInWhoHasJustConnected(t *testing.T) {
	socket, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	native := make(chan net.Conn, 1)
	l := &Listener{Socket: socket, Protocols: []Protocol{Native(func(s net.Conn, _ []byte, _ time.Time) { native <- s })}}
	served := make(chan struct{})
	go func() { _ = l.Serve(); close(served) }()
	late, silent := connect(t, socket.Addr().String()), connect(t, socket.Addr().String())
	eventually(t, "the connections are known", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.opening) == 2
	})
	drained := make(chan struct{})
	go func() { l.Drain(); close(drained) }()
	receive(t, served, "end of Serve")
	if _, err := late.Write(wire.Magic[:]); err != nil {
		t.Fatal(err)
	}
	_ = receive(t, native, "connection").Close()
	readToEnd(t, silent)
	receive(t, drained, "end of Drain")
}

// Load balancers look whether a port is open in each of these ways.
func TestConnectionsThatSayNothingAreToldApart(t *testing.T) {
	for name, end := range map[string]func(c *net.TCPConn){
		"closed": func(c *net.TCPConn) { _ = c.Close() },
		"reset": func(c *net.TCPConn) {
			_ = c.SetLinger(0)
			_ = c.Close()
		},
		"silent": func(*net.TCPConn) {},
	} {
		for _, proxied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, proxied %v", name, proxied), func(t *testing.T) {
				where, _, refused := listening(t, func(l *Listener) {
					l.Proxied = proxied
					if name == "silent" {
						l.Patience = 50 * time.Millisecond
					}
				})
				end(connect(t, where).(*net.TCPConn))
				if err := receive(t, refused, "report"); !errors.Is(err, ErrNothingSaid) {
					t.Error(err)
				}
			})
		}
	}
}

// startsToRead notes when connections are first read from.
type startsToRead struct {
	net.Listener
	at chan time.Time
}

type readOnceNoted struct {
	net.Conn
	once sync.Once
	at   chan time.Time
}

func (l startsToRead) Accept() (net.Conn, error) {
	s, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &readOnceNoted{Conn: s, at: l.at}, nil
}

func (c *readOnceNoted) Read(b []byte) (int, error) {
	c.once.Do(func() { c.at <- time.Now() })
	return c.Conn.Read(b)
}

// What a peer may take counts from when it was accepted, not anew from each thing that it
// does.
func TestTheTimeToBeginCountsFromTheBeginning(t *testing.T) {
	read, begins := make(chan time.Time, 1), make(chan time.Time, 1)
	where, _, _ := listening(t, func(l *Listener) {
		l.Socket = startsToRead{l.Socket, read}
		l.Protocols[0].Serve = func(s net.Conn, _ []byte, by time.Time) {
			begins <- by
			_ = s.Close()
		}
	})
	s := connect(t, where)
	latest := receive(t, read, "first read").Add(long)
	if _, err := s.Write(wire.Magic[:]); err != nil {
		t.Fatal(err)
	}
	if by := receive(t, begins, "connection"); by.After(latest) {
		t.Fatalf("its time ends %v late", by.Sub(latest))
	}
}

// A peer that is told why it is not served, and takes its time to read that, holds up no draining.
func TestDrainingDoesNotWaitForFarewells(t *testing.T) {
	socket, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan struct{})
	l := &Listener{Socket: socket, TLS: &tls.Config{}, Protocols: []Protocol{{
		Recognize: RecognizeHTTP1,
		Decline: func(socket net.Conn, _ string) {
			close(told)
			for {
				_ = socket.SetDeadline(time.Now().Add(time.Second))
				if _, err := socket.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					return
				}
			}
		},
	}}}
	served := make(chan struct{})
	go func() { _ = l.Serve(); close(served) }()
	s := connect(t, socket.Addr().String())
	if _, err := s.Write([]byte("GET / HTTP/1.1\r\n")); err != nil {
		t.Fatal(err)
	}
	receive(t, told, "farewell")
	drained := make(chan struct{})
	go func() { l.Drain(); close(drained) }()
	receive(t, drained, "end of draining")
	receive(t, served, "end of Serve")
}

func TestFirstBytesAreJudgedInTurnHoweverTheyAreCut(t *testing.T) {
	user := func(first []byte) Recognition { return beginsWith("*3\r\n", first) }
	names := map[string]string{
		string(wire.Magic[:]): "native", http2Preface: "h2", "PRINT / HTTP/1.1": "http/1.1", "POST / HTTP/1.1": "http/1.1", "P": "",
		"\x16\x03\x01": "TLS", "*3\r\n$4": "user", "*3": "", "*4\r\n": "none", "\x00": "none", "get /": "none",
	}
	l := &Listener{Protocols: []Protocol{
		{Name: "native", Recognize: RecognizeNative}, {Name: "h2", Recognize: RecognizeHTTP2}, {Name: "http/1.1", Recognize: RecognizeHTTP1},
		{Name: "user", Recognize: user},
	}}
	for said, want := range names {
		got := ""
		for n := 1; n <= len(said) && got == ""; n++ {
			if p, more := l.spoken([]byte(said[:n]), true); p != nil {
				got = p.Name
			} else if !more {
				got = "none"
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
		whole := ""
		if p, more := l.spoken([]byte(said), true); p != nil {
			whole = p.Name
		} else if !more {
			whole = "none"
		}
		if whole != want {
			t.Errorf("%q at once: %q, want %q", said, whole, want)
		}
	}
	if p, _ := l.spoken([]byte("\x16"), false); p != nil {
		t.Error("TLS is looked for inside of TLS")
	}
}
