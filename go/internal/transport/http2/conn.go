package http2

import (
	"bytes"
	"crypto/tls"
	"net"
	"sync"
	"syscall"
	"time"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Conn is one connection of a peer that speaks HTTP/2. Its methods are safe for
// concurrent use.
type Conn struct {
	// Owner is what Serve was given, for the layer above.
	Owner any

	config        *Config
	socket        net.Conn
	raw           syscall.RawConn // nil where progress cannot be read exactly: TLS, memory
	local, remote net.Addr

	mu     sync.Mutex
	closed bool  // nothing is taken in or answered any more
	cause  error // why

	readFault, writeFault error // of the socket, when that is why

	roles roles.Roles // who reads, who writes, who runs what was read

	// Reading.
	in           []byte
	inPool       *sync.Pool        // that in comes from
	start, end   int               // of what was read and not taken in
	bulk         bool              // the last read filled its buffer
	untaken      bool              // there is input that came before the session
	parked       *transport.Parked // nobody need read: a poller waits for input
	parkedRead   int64             // lastRead when it was parked last
	readFD       func(fd uintptr) bool
	readN        int
	readErr      error
	source       bytes.Reader // what the framer reads from
	framer       *h2.Framer
	decoder      *hpack.Decoder
	block        headerBlock
	preface      int   // bytes of the client's preface that have come
	greeted      bool  // its SETTINGS have come
	greetBy      int64 // when they are overdue
	lastRead     int64 // when there was input last
	frameBegan   int64 // when a frame began to come that is not whole, 0: there is none
	frameBy      int64 // when it must be
	recvWindow   int64
	recvOwed     int64
	path         path
	promised     int64  // bytes of messages being put together, by their lengths
	assembling   int64  // memory of those
	held         int64  // bytes of those that nobody has taken, and memory of answers without a place
	holdings     uint64 // how often a stream has begun to hold something
	share        wire.Share
	spare        spare
	recentlyShut shutStreams
	late         []late // oldest first

	// Streams.
	streams    map[uint32]*Stream
	lastID     uint32 // the highest that the peer has opened
	orphans    int    // handlers that run though their streams are gone
	quietSince int64  // when the last stream ended

	// Writing.
	out        []byte
	outBuffer  *transport.Buffer
	writing    []byte // what the flusher has taken
	taken      *transport.Buffer
	wroteAt    int64 // when the socket last took something while flushing
	writeFD    func(fd uintptr) bool
	wroteN     int
	wroteErr   error
	answersOut int // control frames in out that the peer has us send
	sendWindow int64
	sending    []*Stream // that have something to send, in turn
	peer       peerSettings
	encoder    *hpack.Encoder
	encoded    bytes.Buffer // what encoder writes
	inserts    uint32       // additions to encoder's table
	blocks     [8]knownBlock
	nextBlock  int

	// Ends.
	goingAway   int8   // 0; 1: the first step was sent; 2: the second
	goAwayBy    int64  // when the second is sent although the peer has not answered the first
	acceptUpTo  uint32 // the highest stream that is served
	lingering   bool   // the peer is to read what was written, then the socket closes
	lingered    bool
	pingSent    int64
	timer       *time.Timer
	timerAt     int64
	nextTimeout int64 // the earliest deadline of a stream, 0: none
}

// peerSettings are what the peer has said (RFC 9113 6.5.2).
type peerSettings struct {
	window     int64
	frame      int
	headerList uint32 // 0: not said
}

// Serve is Prepare and Start.
func Serve(socket net.Conn, prefix []byte, config *Config, owner any) *Conn {
	c := Prepare(socket, prefix, config, owner)
	c.Start()
	return c
}

// Prepare makes a connection, which is served from Start on. prefix are bytes of it that were read
// already.
func Prepare(socket net.Conn, prefix []byte, config *Config, owner any) *Conn {
	if !config.completed {
		config = config.complete()
	}
	c := &Conn{
		Owner: owner, config: config, socket: socket,
		local: socket.LocalAddr(), remote: socket.RemoteAddr(),
		streams:    map[uint32]*Stream{},
		acceptUpTo: maxStreamID,
		recvWindow: int64(config.ConnWindow),
		path:       path{stream: int64(config.Window), conn: int64(config.ConnWindow), told: int64(config.Window), unacked: 1, every: leastMeasured},
		sendWindow: initialWindow,
		peer:       peerSettings{window: initialWindow, frame: maxFrame},
	}
	transport.GiveUpAfter(socket, config.KeepaliveInterval, config.KeepaliveTimeout)
	c.roles.Init((*roleConn)(c), &c.mu, config.Pool)
	c.spare.left = config.Spare
	c.share.Budget = config.Budget
	c.share.Shed = func() { go c.shed() }
	if raw := transport.RawOf(socket); raw != nil {
		c.raw, c.readFD, c.writeFD = raw, c.readOnce, c.writeOnce
	}
	c.framer = h2.NewFramer((*output)(c), &c.source)
	c.framer.SetMaxReadFrameSize(maxFrame)
	c.framer.SetReuseFrames()
	c.decoder = hpack.NewDecoder(4096, c.field)
	c.decoder.SetMaxStringLength(blockFactor * int(config.HeaderBytes))
	c.encoder = hpack.NewEncoder(&c.encoded)
	c.takePrefix(prefix)
	return c
}

// Start begins to serve the connection in the background. Config.Handler.Closed is
// told when it is over.
func (c *Conn) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	config, now := c.config, roles.Clock()
	c.lastRead, c.quietSince, c.spare.since = now, now, now
	// At once: clients may wait for it before their first request.
	_ = c.framer.WriteSettings(
		h2.Setting{ID: h2.SettingMaxConcurrentStreams, Val: config.Streams},
		h2.Setting{ID: h2.SettingInitialWindowSize, Val: config.Window},
		h2.Setting{ID: h2.SettingMaxHeaderListSize, Val: config.HeaderBytes},
	)
	if more := config.ConnWindow - initialWindow; more > 0 {
		_ = c.framer.WriteWindowUpdate(0, more)
	}
	if c.greetBy == 0 {
		c.greetBy = now + int64(config.Handshake)
	}
	c.armLocked(c.greetBy)
	c.roles.StartLocked()
}

// GreetBy sets when the peer's preface must have come, before Start.
func (c *Conn) GreetBy(by time.Time) { c.greetBy = roles.Clock() + int64(time.Until(by)) }

// Remote is the peer's address.
func (c *Conn) Remote() net.Addr { return c.remote }

// Local is this side's address.
func (c *Conn) Local() net.Addr { return c.local }

// TLS returns the state of the connection's TLS, nil without.
func (c *Conn) TLS() *tls.ConnectionState {
	if secure, ok := c.socket.(*tls.Conn); ok {
		state := secure.ConnectionState()
		return &state
	}
	return nil
}

// Err returns why the connection is over, nil while it is not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// Faults returns the failure of the socket that ended the connection: of reading,
// or of writing, or neither.
func (c *Conn) Faults() (read, write error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readFault, c.writeFault
}

// Running is the number of requests that are open, with the handlers that still
// run though their streams were reset.
func (c *Conn) Running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams) + c.orphans
}

// armLocked has tick called at a time, unless it is called earlier anyway.
func (c *Conn) armLocked(at int64) {
	if at == 0 || c.closed || c.timerAt != 0 && c.timerAt <= at {
		return
	}
	c.timerAt = at
	wait := max(time.Duration(at-roles.Clock()), minTick)
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, c.tick)
	} else {
		c.timer.Reset(wait)
	}
}

// minTick keeps many deadlines close together from costing a tick each.
const minTick = time.Millisecond
