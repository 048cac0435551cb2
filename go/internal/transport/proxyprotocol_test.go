package transport

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// said is a socket that reads from memory.
type said struct {
	net.Conn
	io.Reader
}

func (s said) Read(b []byte) (int, error) { return s.Reader.Read(b) }
func (said) RemoteAddr() net.Addr         { return &net.TCPAddr{IP: net.IPv4(9, 9, 9, 9), Port: 9} }

const (
	blockV4    = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x01\x00\x02\x00"
	blockTLVs  = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0f\x01\x02\x03\x04\x05\x06\x07\x08\x01\x00\x02\x00abc"
	blockLocal = "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x03abc"
)

func TestAProxySaysWhoseConnectionItPassesOn(t *testing.T) {
	for header, want := range map[string]string{
		"PROXY TCP4 1.2.3.4 5.6.7.8 256 512\r\n": "1.2.3.4:256", "PROXY TCP6 ::1 ::2 1 2\r\n": "[::1]:1",
		"PROXY UNKNOWN\r\n": "9.9.9.9:9", "PROXY UNKNOWN what ever\r\n": "9.9.9.9:9",
		blockV4: "1.2.3.4:256", blockTLVs: "1.2.3.4:256", blockLocal: "9.9.9.9:9",
		"\r\n\r\n\x00\r\nQUIT\n\x21\x21\x00\x24" + strings.Repeat("\x00", 15) + "\x01" + strings.Repeat("\x00", 16) + "\x00\x07\x00\x08": "[::1]:7",
	} {
		for _, reader := range []io.Reader{strings.NewReader(header + "rest"), iotest.OneByteReader(strings.NewReader(header + "rest"))} {
			socket, err := readProxy(said{nil, reader})
			if err != nil || socket.RemoteAddr().String() != want {
				t.Errorf("%q: %v %v", header, socket, err)
				continue
			}
			if rest, _ := io.ReadAll(socket); string(rest) != "rest" {
				t.Errorf("%q: %q is left", header, rest)
			}
		}
		for cut := range len(header) {
			if _, err := readProxy(said{nil, strings.NewReader(header[:cut])}); err == nil {
				t.Errorf("%q is taken", header[:cut])
			}
		}
	}
}

func TestWhatIsNoHeaderOfAProxyIsRefused(t *testing.T) {
	for _, header := range []string{
		"GET / HTTP/1.1\r\n\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 256\r\n", "PROXY TCP4 ::1 ::2 1 2\r\n", "PROXY TCP4 1.2.3.4 5.6.7.8 70000 1\r\n",
		"PROXY " + strings.Repeat("x", 200), "PROXYTCP4", "\r\n\r\n\x00\r\nQUIX\n\x21\x11\x00\x0c",
		"\r\n\r\n\x00\r\nQUIT\n\x31\x11\x00\x0c" + strings.Repeat("\x00", 12), "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0b" + strings.Repeat("\x00", 12),
	} {
		if _, err := readProxy(said{nil, strings.NewReader(header)}); err == nil {
			t.Errorf("%q is taken", header)
		}
	}
}

func FuzzTheHeaderOfAProxy(f *testing.F) {
	for _, seed := range []string{blockV4, blockTLVs, blockLocal, "PROXY TCP4 1.2.3.4 5.6.7.8 256 512\r\nrest"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := strings.NewReader(string(b))
		if _, err := readProxy(said{nil, r}); err == nil && len(b)-r.Len() < 15 {
			t.Errorf("%q is a header", b)
		}
	})
}

func TestAPortBehindAProxyLooksAgainAfterItsHeader(t *testing.T) {
	socket, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got, refused := make(chan net.Conn, 1), make(chan error, 1)
	l := &Listener{Socket: socket, Proxied: true, Refused: func(_ net.Addr, err error) { refused <- err }}
	l.Protocols = []Protocol{{Recognize: RecognizeHTTP1, Serve: func(socket net.Conn, _ []byte, _ time.Time) { got <- socket }}}
	go func() { _ = l.Serve() }()
	defer l.Close()
	dial := func(text string) net.Conn {
		c, err := net.Dial("tcp", socket.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(c, text)
		return c
	}
	defer dial("PROXY TCP4 1.2.3.4 5.6.7.8 256 512\r\nGET / HTTP/1.1\r\n\r\n").Close()
	served := <-got
	defer served.Close()
	if served.RemoteAddr().String() != "1.2.3.4:256" {
		t.Error(served.RemoteAddr())
	}
	if canRaw && RawOf(served) == nil {
		t.Error("it cannot be polled")
	}
	defer dial("GET / HTTP/1.1\r\n\r\n").Close()
	if err := <-refused; !errors.Is(err, errNoProxy) {
		t.Error(err)
	}
}
