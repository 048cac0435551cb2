package http2

import (
	"cmp"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Handler is what a connection needs of the layer above. Its methods are called
// by several goroutines at once for different connections.
type Handler interface {
	// Accept decides about a request whose header has come. It runs under the
	// connection's lock: it must not block and must not call methods of the Conn
	// that take it. It returns a new stream, prepared by Stream.Init, or the answer that the
	// request gets at once.
	Accept(c *Conn, r *Request) (*Stream, *Answer)
	// Serve runs an accepted request. The answer must be complete when it returns
	// (Stream.Finish); else the stream is reset.
	Serve(w *roles.Worker, s *Stream)
	// Dropped says, under the lock, that an accepted request ended before Serve could start.
	Dropped(s *Stream)
	// Stopped says, under the lock, that a request ended without its handler, and
	// why: at most once, and before Dropped. It returns the answer, which is sent if that can
	// still be; nil has the stream reset.
	Stopped(s *Stream, why *wire.Refusal) *Answer
	// Closed says that the connection is over, once, without the lock.
	Closed(c *Conn, err error)
}

// Config is what connections of one server have in common. Zero values stand
// for the defaults of spec/limits.md.
type Config struct {
	Handler Handler
	Pool    *roles.Pool
	Budget  *wire.Budget // what all connections may hold together; nil: no bound

	Streams     uint32 // requests at once, handlers of reset ones included
	HeaderBytes uint32 // of one header list, 32 for each field included
	Fields      int    // of one header list, pseudo-header fields included
	Window      uint32 // bytes of a stream that nobody has taken yet
	ConnWindow  uint32 // bytes of the connection on their way
	MostWindow  uint32 // what either grows to on a long path (windows.go); not above Window: they stay
	Promised    int64  // bytes of messages being put together, per connection
	Unsent      int    // bytes that wait for the socket, above which senders wait
	Spare       int    // frames without use (spare.go)

	Handshake         time.Duration // until the peer's preface and SETTINGS, and for a header block
	Stall             time.Duration // for a message on its way in either direction, at first (transport.UnderWay)
	KeepaliveInterval time.Duration // without input before a PING; <0: none
	KeepaliveTimeout  time.Duration // after the PING
	Idle              time.Duration // without a request before GOAWAY; <0: none
	DrainAnswer       time.Duration // for the peer to answer the first step of draining

	// Panicked, if set, is told of a panic that ended a connection or a request,
	// and where it was.
	Panicked func(value any, stack []byte)

	NoPollers bool // idle connections keep their goroutine

	completed bool
}

// The defaults.
const (
	DefaultStreams           = 1024
	DefaultHeaderBytes       = 32 << 10
	DefaultFields            = 192
	DefaultWindow            = 256 << 10
	DefaultConnWindow        = 4 << 20
	DefaultMostWindow        = 32 << 20
	DefaultPromised          = 256 << 20
	DefaultUnsent            = 1 << 20
	DefaultSpare             = 4096
	DefaultHandshake         = 10 * time.Second
	DefaultStall             = time.Minute
	DefaultKeepaliveInterval = 20 * time.Second
	DefaultKeepaliveTimeout  = 20 * time.Second
	DefaultIdle              = 15 * time.Minute
	DefaultDrainAnswer       = 10 * time.Second
)

// Complete returns a copy with the defaults filled in, for many connections.
func (c Config) Complete() *Config { return c.complete() }

// complete fills in the defaults.
func (c Config) complete() *Config {
	c.Streams = cmp.Or(c.Streams, DefaultStreams)
	c.HeaderBytes = cmp.Or(c.HeaderBytes, DefaultHeaderBytes)
	c.Fields = cmp.Or(c.Fields, DefaultFields)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.ConnWindow = max(cmp.Or(c.ConnWindow, DefaultConnWindow), initialWindow)
	c.MostWindow = min(cmp.Or(c.MostWindow, DefaultMostWindow), maxWindow/4) // the peer adds up several
	c.Promised = cmp.Or(c.Promised, DefaultPromised)
	c.Unsent = cmp.Or(c.Unsent, DefaultUnsent)
	c.Spare = cmp.Or(c.Spare, DefaultSpare)
	c.Handshake = cmp.Or(c.Handshake, DefaultHandshake)
	c.Stall = cmp.Or(c.Stall, DefaultStall)
	c.KeepaliveInterval = cmp.Or(c.KeepaliveInterval, DefaultKeepaliveInterval)
	c.KeepaliveTimeout = cmp.Or(c.KeepaliveTimeout, DefaultKeepaliveTimeout)
	c.Idle = cmp.Or(c.Idle, DefaultIdle)
	c.DrainAnswer = cmp.Or(c.DrainAnswer, DefaultDrainAnswer)
	c.completed = true
	return &c
}

// What the format fixes (RFC 9113 4.2, 6.5.2, 6.9.1).
const (
	frameHeader   = 9
	initialWindow = 65535
	maxWindow     = 1<<31 - 1
	maxFrame      = 16384 // we take no larger ones
	maxStreamID   = 1<<31 - 1
)
