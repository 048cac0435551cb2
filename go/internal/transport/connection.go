package transport

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Handler is what a connection needs of the layer above. Its methods are
// called by several goroutines at once for different connections.
type Handler interface {
	// Accept decides about a call that the peer opens. It runs under the connection's lock: it must
	// not block and must not call the Conn. The stream that it returns is new, with Owner set. For
	// a call with in.Refused no stream is wanted; only a fault of the call itself matters.
	Accept(c *Conn, in *wire.Incoming) (*Stream, *wire.Refusal)
	// Serve runs an accepted call and says how it ended, in w.Ending.
	Serve(w *roles.Worker, st *Stream)
	// Dropped says that an accepted call ended before Serve could start.
	Dropped(st *Stream)
	// Stopped tells that the call ended without its handler, under the lock.
	Stopped(st *Stream, code wire.Code)
	// Unserved tells of a call that was refused, or else cut off, under the lock. For a call that
	// was not accepted st is nil, and method is its name where that is known.
	Unserved(c *Conn, st *Stream, method string, refused bool, code wire.Code, message string)
	// Ready says that the peer's preface has arrived, under the lock.
	Ready(c *Conn, p *wire.Preface)
	// GoesAway says that the peer asked for no more calls, under the lock.
	GoesAway(c *Conn, reason uint32, text string)
	// Closed says that the connection is over, once, without the lock.
	Closed(c *Conn, err error)
}

// Config is what connections of one client or server have in common.
type Config struct {
	Handler           Handler
	Pool              *roles.Pool
	Local             wire.Settings
	Codecs            string        // that the handler knows, for people
	KeepaliveInterval time.Duration // without input before a PING; 0: none
	KeepaliveTimeout  time.Duration // after the PING before the peer is given up
	PollFrom          int           // connections in the process above which idle ones are polled; 0: the default, <0: always
	NoSpinning        bool
	MaxPool           uint32        // what the pool of each may grow to; up to Local.Pool: it stays
	Budget            *wire.Budget  // what all these connections may hold together; nil: no bound
	Stall             time.Duration // how long a peer may read nothing of what is there; 0: the default
	// Panicked, if set, is told of a panic of ours, or of what the layer above
	// called, that ended a connection.
	Panicked func(value any, stack []byte)
	// Slots, if set, is the queue of calls that take a slot of any of these
	// connections; else each has one of its own.
	Slots *SlotQueue
}

// Conn is a session on a socket. Its methods are safe for concurrent use.
type Conn struct {
	// Owner is what NewConn was given, for the layer above.
	Owner any
	// Group is the same for connections that share a Turn.Group. It is set before Start.
	Group any

	config   *Config
	socket   net.Conn   // with raw changes under the lock, when it is given back (poll.go)
	secure   *tlsSocket // what TLS makes of it; nil without TLS, and where socket is what TLS waits for (tls.go)
	local    net.Addr
	remote   net.Addr
	raw      syscall.RawConn // nil when progress cannot be read exactly: memory, sockets that others have wrapped
	acceptor bool

	encrypted interface{ ConnectionState() tls.ConnectionState } // what knows of TLS, nil if nothing does

	mu      sync.Mutex
	session *wire.Session
	closed  bool  // the session is over
	cause   error // why

	readFault, writeFault error // of the socket, when that is why

	roles roles.Roles // who reads, who writes, who runs what was read

	// Reading.
	in          *Buffer // input not parsed yet, nil when there is none
	placed      *placed // a frame whose body goes straight to its message, nil until there is one
	inStart     int
	inEnd       int
	soloRound   uint64  // changes whenever a caller begins or ends to read
	interrupted bool    // a caller that reads is to stop
	bulk        bool    // the last read filled its buffer
	polled      *polled // a poller waits for input (poll.go)
	keepsSocket bool    // it is not to be left to one
	prefixed    bool    // in holds input that came before the session
	spin        spin
	readFD      func(fd uintptr) bool
	readN       int
	readErr     error

	// Writing.
	wroteAt   atomic.Int64 // when it last could, while it may have to wait; else 0
	gathered  *Buffer      // holds the session's outgoing bytes
	passed    uint64       // outgoing bytes that may have reached the peer
	writing   outgoing     // what is being written
	spent     []*Buffer    // messages whose last piece was appended
	writeFD   func(fd uintptr) bool
	wroteN    int
	wroteSome bool // bytes, of whatever
	wroteAll  bool
	wroteErr  error

	wake    wakeList   // calls that ended, their callers not woken yet
	slots   *SlotQueue // callers that wait for a slot, here or on others that share it
	granted int        // slots that were promised to some of them
	letGo   bool       // they were let go, because no more calls are taken
	calls   uint64     // of either side, so far

	accepts atomic.Uint32 // the compressions that the peer lists: bit n says number n

	timer   *time.Timer
	timerAt int64
	ticking bool // the session acts on the time

	shut      chan struct{} // closed when the socket is, if that may take long; else nil
	lingerBy  int64         // when to stop waiting for the peer's end of stream
	drainBy   int64         // when to close although the peer has not answered GOAWAY
	peerCause error         // why the peer says that it ends the connection
	failing   error         // why the session ends once writing has stopped
	closing   bool          // half-closed after draining
	greeted   bool          // the peer's preface has come
	lingering bool          // a violation ended the session, the peer is to be told
	lingered  bool          // some goroutine does that
}

// NewConn begins a session on socket and starts to read at once. prefix are bytes of it that were
// read already.
func NewConn(config *Config, socket net.Conn, acceptor bool, prefix []byte, owner any) *Conn {
	c := Prepare(config, socket, acceptor, prefix)
	c.Owner = owner
	c.Start()
	return c
}

// Prepare is NewConn without the start: the Handler hears nothing of the Conn
// before Start.
func Prepare(config *Config, socket net.Conn, acceptor bool, prefix []byte) *Conn {
	c := &Conn{
		config: config, acceptor: acceptor,
		socket: socket, local: socket.LocalAddr(), remote: socket.RemoteAddr(),
	}
	if c.slots = config.Slots; c.slots == nil {
		c.slots = &SlotQueue{}
	}
	GiveUpAfter(socket, config.KeepaliveInterval, config.KeepaliveTimeout)
	c.encrypted, _ = socket.(interface{ ConnectionState() tls.ConnectionState })
	if s := takeTLSSocket(socket); s != nil {
		c.secure, c.socket = s, s.Conn
	}
	c.roles.Init((*roleConn)(c), &c.mu, config.Pool)
	c.takeRaw()
	openConns.Add(1)
	now := roles.Clock()
	c.session = wire.NewSession((*events)(c), wire.Options{
		Acceptor:          acceptor,
		Local:             config.Local,
		Codecs:            config.Codecs,
		KeepaliveInterval: int64(config.KeepaliveInterval),
		KeepaliveTimeout:  int64(config.KeepaliveTimeout),
		MaxPool:           config.MaxPool,
		Budget:            config.Budget,
		Shed:              func() { go c.shed() },
		Splice:            c.raw != nil,
		Room:              c.outRoom,
		Buffer:            func(n int) []byte { return GetBuffer(n).B },
		Recycle:           func(b []byte) { (&Buffer{B: b}).Free() },
	}, now)
	if len(prefix) > 0 {
		c.in = take(&readBuffers)
		c.inEnd = copy(c.in.B, prefix)
		c.prefixed = true
	}
	return c
}

// GreetBy sets when the peer's preface must have come, before Start.
func (c *Conn) GreetBy(by time.Time) { c.session.GreetBy(roles.Clock() + int64(time.Until(by))) }

// Start begins to read and to watch the time, once.
func (c *Conn) Start() {
	c.mu.Lock()
	c.armLocked(c.session.NextDeadline())
	if interval := c.config.KeepaliveInterval; interval > 0 {
		c.armLocked(roles.Clock() + int64(interval))
	}
	c.roles.StartLocked()
	c.mu.Unlock()
}

// takeRaw has the socket's own system calls used, if that can be done.
func (c *Conn) takeRaw() {
	if raw := RawOf(c.socket); raw != nil {
		c.raw, c.readFD, c.writeFD = raw, c.readOnce, c.writeOnce
	}
}

// outRoom gives the session memory for outgoing bytes; the lock is held. It grows in large steps,
// since bytes pile up while others are being written.
func (c *Conn) outRoom(out []byte, n int) []byte {
	b := c.gathered
	if b == nil && n <= outSize {
		c.gathered = take(&outBuffers)
		return c.gathered.B[:0]
	}
	c.gathered = GetBuffer(max(len(out)+n, 2*cap(out)))
	c.gathered.B = append(c.gathered.B, out...)
	if b != nil {
		b.B = out // it may have grown out of what it lay in
		freeOut(b)
	}
	return c.gathered.B
}

// freeOut gives back what held outgoing bytes.
func freeOut(b *Buffer) {
	if cap(b.B) == outSize {
		outBuffers.Put(b)
	} else {
		b.Free()
	}
}

// Local and Remote are the addresses of the socket.
func (c *Conn) Local() net.Addr { return c.local }

// Remote is the peer's address.
func (c *Conn) Remote() net.Addr { return c.remote }

// TLS returns the state of the TLS connection, nil without TLS.
func (c *Conn) TLS() *tls.ConnectionState {
	if c.encrypted == nil {
		return nil
	}
	state := c.encrypted.ConnectionState()
	if !state.HandshakeComplete {
		return nil // a WebSocket in cleartext
	}
	return &state
}

// PeerLimits returns the limits that the peer stated, or the defaults until it
// has.
func (c *Conn) PeerLimits() wire.Settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.session.Remote()
}

// Accepts returns the compressions that the peer lists, bit n standing for
// number n: none until its preface has come. It takes no lock.
func (c *Conn) Accepts() uint16 { return uint16(c.accepts.Load()) }

// Activity returns how many calls either side has open, and how many there were in all.
func (c *Conn) Activity() (open int, total uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.OpenCalls() + c.session.OpenServed(), c.calls
}

// Counts returns how many calls this side and the peer have open.
func (c *Conn) Counts() (opened, served int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.OpenCalls(), c.session.OpenServed()
}

// Faults returns the failure of the socket that ended the connection: of reading,
// or of writing, or neither.
func (c *Conn) Faults() (read, write error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readFault, c.writeFault
}

// Gauges are what a connection has at the moment.
type Gauges struct {
	Opened, Served int           // calls of this side and of the peer
	Unsent         uint64        // bytes that were not written
	Held           uint64        // bytes held for the peer: messages not whole or not consumed, answers, output
	Withheld       int64         // bytes of credit of streams that the peer lacks for that
	PoolKept       int64         // bytes of the pool that the peer was granted
	PoolHeld       int64         // of those, what lies in messages not consumed
	PoolLeft       int64         // bytes of the peer's pool that this side may still send
	RoundTrip      time.Duration // the shortest of late; 0: none was measured
}

// Gauges reads them.
func (c *Conn) Gauges() Gauges {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return Gauges{}
	}
	s := c.session
	pool := s.Pool()
	return Gauges{
		Opened: s.OpenCalls(), Served: s.OpenServed(), Held: uint64(s.Holding()), Withheld: s.WithheldCredit(),
		PoolKept: pool.Kept, PoolHeld: pool.Kept - pool.Receive - pool.Owed, PoolLeft: pool.Send,
		RoundTrip: time.Duration(s.RoundTrip()),
		Unsent:    uint64(s.Unsent()) + s.Moved() - min(c.passed, s.Moved()),
	}
}

// Greeted reports whether the peer's preface has come.
func (c *Conn) Greeted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greeted
}

// Err returns why the connection is over, or why the peer says that it is about to end it; else
// nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		return c.peerCause
	}
	return c.cause
}

// Drain asks the peer to open no more calls; when the calls that run are
// answered, those that their handlers made included, the connection closes.
func (c *Conn) Drain(text string) {
	c.mu.Lock()
	if !c.closed {
		c.session.Advance(roles.Clock())
		c.session.Drain(text)
		c.drainBy = roles.Clock() + int64(drainPatience)
		c.armLocked(c.drainBy)
		c.roles.FlushLocked()
		c.closeIfDrainedLocked()
	}
	c.unlock()
}

// Retire is Drain.
func (c *Conn) Retire(text string) { c.Drain(text) }

// Shut is Close after telling the peer, so that what it has still to read
// arrives.
func (c *Conn) Shut(reason error) {
	c.mu.Lock()
	if !c.closed {
		c.session.Advance(roles.Clock())
		c.session.CancelAll(wire.Canceled, reason.Error())
		c.session.GoAway(0, reason.Error())
		c.endLingeringLocked(reason)
	}
	c.unlock()
}

// CutOff ends the calls that are open, telling the peer so, and then the
// connection.
func (c *Conn) CutOff(reason error) {
	c.mu.Lock()
	if !c.closed {
		c.session.Advance(roles.Clock())
		c.session.CutAll(reason.Error())
		c.session.CancelAll(wire.Unavailable, reason.Error())
		c.session.GoAway(0, reason.Error())
		c.endLingeringLocked(reason)
	}
	c.unlock()
}

// Close ends the connection now: calls end as they would if it were lost.
func (c *Conn) Close(reason error) {
	c.mu.Lock()
	c.failLocked(reason)
	c.unlock()
}

// unlock releases the lock, then wakes the callers whose calls ended.
func (c *Conn) unlock() {
	if c.slots.length.Load() > 0 {
		c.admitLocked()
	}
	wake := c.wake
	if wake.count > 0 {
		c.wake = wakeList{}
		c.roles.Woken(wake.count)
	}
	c.mu.Unlock()
	wake.wakeAll()
}

// passOnLocked wakes those for whom something has happened. It releases the
// lock in between.
func (c *Conn) passOnLocked() {
	if c.wake.count > 0 || c.slots.length.Load() > 0 {
		c.unlock()
		c.mu.Lock()
	}
}

// armLocked has tick called at or before the given time.
func (c *Conn) armLocked(at int64) {
	if at == 0 || c.closed || c.timerAt != 0 && c.timerAt <= at {
		return
	}
	c.timerAt = at
	wait := time.Duration(max(at-roles.Clock(), 0))
	if c.timer == nil {
		c.timer = time.AfterFunc(wait, c.tick)
	} else {
		c.timer.Reset(wait)
	}
}

// suspended is how late, in nanoseconds, a timer must be to show that the process or its machine
// stood still. Input that has come meanwhile is then read before anything is judged late.
const suspended = 100e6

func (c *Conn) tick() {
	c.mu.Lock()
	defer c.unlock()
	if c.closed {
		return
	}
	now := roles.Clock()
	if c.timerAt != 0 && now-c.timerAt > suspended {
		c.session.Delayed(now)
	}
	c.timerAt = 0
	if c.lingerBy != 0 && now >= c.lingerBy {
		c.failLocked(errDrained)
		return
	}
	switch c.checkStallLocked(now); {
	case c.closed:
		return
	case c.failing != nil: // until somebody has stopped writing, which may take a socket of the user's long
		c.armLocked(c.session.EndOverdue(now))
		return
	}
	next, err := c.tickLocked(now)
	if err != nil {
		c.violateLocked(err)
		return
	}
	c.armLocked(next)
	c.armLocked(c.lingerBy)
	c.roles.FlushLocked()
	c.closeIfDrainedLocked()
	if c.drainBy != 0 && now >= c.drainBy && !c.closed {
		if c.session.OpenServed() == 0 && c.session.OpenCalls() == 0 {
			c.failLocked(errDrained)
			return
		}
		c.drainBy = now + int64(lingerTime)
	}
	c.armLocked(c.drainBy)
}

func (c *Conn) tickLocked(now int64) (next int64, err *wire.Error) {
	defer c.contain(&err)
	c.ticking = true
	defer func() { c.ticking = false }()
	return c.session.Tick(now)
}
