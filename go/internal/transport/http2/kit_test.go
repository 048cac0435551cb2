package http2

import (
	"bytes"
	"net"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is far beyond what anything here takes, so that a hang fails its test.
const long = 2 * time.Minute

// hello answers each whole request with "hello", except that those to /wait and
// /held wait until they are stopped and take nothing, those to /sends after they have sent "hello", and those to /piece for one piece.
// Those to /yield yield before they answer. The bodies of /framed, /held and
// /message are messages. Those to /upload and /message may be large.
type hello struct {
	pace   roles.Pace
	closed chan error
}

type helloCall struct {
	stream  Stream
	path    string
	stopped chan wire.Code
}

var (
	helloHead = NewBlock(Field{":status", "200"}, Field{"content-type", "text/plain"})
	helloTail = NewBlock(Field{"x-end", "yes"})
)

func (h *hello) Accept(_ *Conn, r *Request) (*Stream, *Answer) {
	if r.TooLarge != "" {
		return nil, &Answer{HeadFields: []Field{{":status", "431"}}}
	}
	x := &helloCall{path: r.Path, stopped: make(chan wire.Code, 1)}
	x.stream.Init(x)
	x.stream.Whole = r.Path != "/wait" && r.Path != "/held" && r.Path != "/piece" && r.Path != "/sends"
	x.stream.Framed = r.Path == "/framed" || r.Path == "/held" || r.Path == "/message"
	switch r.Path {
	case "/framed", "/held":
		x.stream.MaxMessage = 1000
	case "/upload", "/message":
		x.stream.MaxMessage = 1 << 30
	default:
		x.stream.MaxMessage = 8 << 20
	}
	x.stream.Pace = &h.pace
	return &x.stream, nil
}

func (h *hello) Serve(_ *roles.Worker, s *Stream) {
	x := s.Owner.(*helloCall)
	if x.path == "/piece" {
		s.conn.mu.Lock()
		_ = s.conn.framer.WritePing(false, [8]byte{}) // the reader writes it, and more, meanwhile
		s.conn.mu.Unlock()
		m, _ := s.Receive()
		m.Free()
	}
	if x.path == "/sends" {
		_ = s.SendAfter(helloHead, nil, &transport.Buffer{B: []byte("hello")})
	}
	if x.path == "/yield" {
		runtime.Gosched()
	}
	if !s.Whole {
		<-x.stopped
		return
	}
	if x.path == "/exit" {
		runtime.Goexit()
	}
	body := []byte("hello")
	switch x.path {
	case "/large":
		body = bytes.Repeat([]byte("0123456789"), 1<<20/10)
	case "/roomy": // in memory that had more room than it took
		body = append(make([]byte, 0, 1<<20), body...)
	}
	s.Finish(&Answer{Head: helloHead, Body: body, Tail: helloTail})
}

func (h *hello) Dropped(*Stream) {}

func (h *hello) Stopped(s *Stream, why *wire.Refusal) *Answer {
	s.Owner.(*helloCall).stopped <- why.Code
	return &Answer{HeadFields: []Field{{":status", "500"}, {"code", why.Code.String()}}}
}

func (h *hello) Closed(_ *Conn, err error) { h.closed <- err }

// peer is a client that can say anything.
type peer struct {
	t      *testing.T
	conn   net.Conn
	frames *h2.Framer
	block  bytes.Buffer
	enc    *hpack.Encoder
	server *Conn
	hello  *hello
}

func connect(t *testing.T, config Config, before ...func(*Conn)) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	socket, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	client.SetDeadline(time.Now().Add(long))
	p := &peer{t: t, conn: client, frames: h2.NewFramer(client, client), hello: &hello{closed: make(chan error, 1)}}
	p.enc = hpack.NewEncoder(&p.block)
	p.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	pool := &roles.Pool{}
	config.Handler, config.Pool = p.hello, pool
	p.server = Prepare(socket, nil, &config, nil)
	for _, f := range before {
		f(p.server)
	}
	p.server.Start()
	t.Cleanup(func() {
		client.Close()
		select {
		case <-p.hello.closed:
		case <-time.After(long):
			t.Error("the connection never ended")
		}
		pool.Close()
	})
	return p
}

// greet sends the preface and SETTINGS.
func (p *peer) greet(settings ...h2.Setting) *peer {
	p.conn.Write([]byte(h2.ClientPreface))
	p.frames.WriteSettings(settings...)
	return p
}

func (p *peer) fields(method, path string, more ...string) []byte {
	p.block.Reset()
	all := append([]string{":method", method, ":path", path, ":scheme", "http", ":authority", "h"}, more...)
	for i := 0; i < len(all); i += 2 {
		p.enc.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return p.block.Bytes()
}

func (p *peer) open(id uint32, end bool, path string, more ...string) {
	p.frames.WriteHeaders(h2.HeadersFrameParam{
		StreamID: id, BlockFragment: p.fields("POST", path, more...), EndStream: end, EndHeaders: true,
	})
}

// until reads frames until one is what is wanted.
func (p *peer) until(what string, wanted func(f h2.Frame) bool) {
	p.t.Helper()
	for {
		f, err := p.frames.ReadFrame()
		if err != nil {
			p.t.Fatalf("no %s: %v", what, err)
		}
		if wanted(f) {
			return
		}
	}
}

func (p *peer) untilGoAway(code h2.ErrCode) {
	p.t.Helper()
	p.until("GOAWAY "+code.String(), func(f h2.Frame) bool {
		g, ok := f.(*h2.GoAwayFrame)
		if ok && g.ErrCode != code {
			p.t.Fatalf("GOAWAY %v %q, want %v", g.ErrCode, g.DebugData(), code)
		}
		return ok
	})
}

func (p *peer) untilReset(id uint32, code h2.ErrCode) {
	p.t.Helper()
	p.until("RST_STREAM "+code.String(), func(f h2.Frame) bool {
		r, ok := f.(*h2.RSTStreamFrame)
		if ok && r.StreamID == id && r.ErrCode != code {
			p.t.Fatalf("RST_STREAM %v, want %v", r.ErrCode, code)
		}
		return ok && r.StreamID == id
	})
}

// untilHello reads the answer to a request.
func (p *peer) untilHello(id uint32) {
	p.t.Helper()
	p.until("answer", func(f h2.Frame) bool {
		m, ok := f.(*h2.MetaHeadersFrame)
		return ok && m.StreamID == id && m.StreamEnded()
	})
}
