package trunkcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// common is what clients and servers are both configured with.
type common struct {
	limits            Limits
	interceptors      []Interceptor
	reverse           []Interceptor // of calls that a client serves or a server makes
	waitingCalls      int
	once              bool // no call is repeated
	strictJSON        bool
	runningHandlers   int
	codec             Codec   // of calls, unless they say otherwise
	given             []Codec // by options
	codecs            codecTable
	compressions      compressions
	journal           *journal
	observers         []*Observer
	droppedEvents     atomic.Uint64 // that observers were not told of
	attemptObservers  []AttemptObserver
	keepaliveInterval time.Duration
	keepaliveTimeout  time.Duration
	tls               *tls.Config
	tlsFiles          *tlsFiles // what tls is made of, nil: nothing
	policyPath        string    // of the policy file, empty: none
	memory            int64
	unshared          bool // handlers run on goroutines of their own
	unpolled          bool
	spinless          bool
	wrongs            []string // what is no good in the options
	local             wire.Settings
	maxPool           uint32
}

// Defaults of options (spec/limits.md).
const (
	DefaultKeepaliveInterval       = 20 * time.Second // clients
	DefaultServerKeepaliveInterval = 60 * time.Second
	DefaultKeepaliveTimeout        = 20 * time.Second
	DefaultRunningHandlers         = 16384
	DefaultPool                    = 1 << 20
	DefaultMaxPool                 = 128 << 20 // bytes, at most: see Limits
	DefaultWaitingCalls            = 4096
	DefaultDrainGrace              = 30 * time.Second
	DefaultConnectionsPerAddress   = 16384
	DefaultMemory                  = 1 << 30 // bytes, at most: see WithMemory
)

// Option configures a Client or a Server alike. An option may be given to several of them, and used
// by many goroutines at once. A value out of its range, and options that contradict each other,
// fail NewClient, Dial and NewServer, whose error names each of them.
type Option interface {
	ClientOption
	ServerOption
}

// ClientOption configures a Client.
type ClientOption interface{ applyClient(c *clientOptions) }

// ServerOption configures a Server.
type ServerOption interface{ applyServer(s *serverOptions) }

type clientOptions struct {
	common
	connections int // to each endpoint
	resolvers   map[string]Resolver
	balancer    Balancer
	dialer      Dialer
	most        int           // endpoints
	zone        string        // where the client runs; empty: it is not known
	idle        time.Duration // until a connection is closed; 0: never
	policies    []Policy
	timeout     time.Duration // of unary calls; 0: none
}

type serverOptions struct {
	common
	allowClear bool
	nativeOnly bool
	origins    web.Origins
	proxied    bool
	most       int // connections
	mostFrom   int // of one address
	drainDelay time.Duration
	maxAge     time.Duration // of connections; 0: any
	admit      func(context.Context, *Arrival) (Admission, error)

	userProtocols []Protocol
	registrars    []Registrar
}

type option func(*common)

func (f option) applyClient(c *clientOptions) { f(&c.common) }
func (f option) applyServer(s *serverOptions) { f(&s.common) }

type clientOption func(*clientOptions)

func (f clientOption) applyClient(c *clientOptions) { f(c) }

type serverOption func(*serverOptions)

func (f serverOption) applyServer(s *serverOptions) { f(s) }

// WithLimits sets what this side accepts. A value that spec/limits.md rules out
// fails NewClient, Dial and NewServer.
func WithLimits(l Limits) Option { return option(func(c *common) { c.limits = l }) }

// WithInterceptors adds interceptors after those already given. They wrap the
// calls that a client makes, and those that a server serves.
func WithInterceptors(interceptors ...Interceptor) Option {
	return option(func(c *common) {
		c.noneNil("WithInterceptors", interceptors)
		c.interceptors = append(c.interceptors, interceptors...)
	})
}

// noneNil notes interceptors that are nil: called later, they would only be seen as panics of
// calls.
func (c *common) noneNil(option string, interceptors []Interceptor) {
	for i, one := range interceptors {
		if one == nil {
			c.wrong("interceptor %d of %s is nil", i+1, option)
		}
	}
}

// WithReverseInterceptors adds interceptors of calls from a server to its client: those that a
// client serves, and those that a server makes.
func WithReverseInterceptors(interceptors ...Interceptor) Option {
	return option(func(c *common) {
		c.noneNil("WithReverseInterceptors", interceptors)
		c.reverse = append(c.reverse, interceptors...)
	})
}

// WithCodec sets the codec of the calls made, and accepts calls in it. The default is Protobuf.
//
// Protobuf, JSON, MessagePack and Raw are always accepted. A codec given here or to WithCodecs
// replaces the one with its number, as ProtobufStock does Protobuf. Two given codecs with one
// number and different names make NewClient and NewServer fail.
func WithCodec(codec Codec) Option {
	return option(func(c *common) { c.codec, c.given = codec, append(c.given, codec) })
}

// WithCodecs accepts calls in these codecs too, and allows them for CallCodec. Codecs of your own,
// with numbers of 8 to 15, are announced to the peer by name when a connection begins.
func WithCodecs(codecs ...Codec) Option {
	return option(func(c *common) { c.given = append(c.given, codecs...) })
}

// WithStrictJSON refuses code-first requests in JSON with a field that the method does not know:
// INVALID_ARGUMENT, naming the field. By default such fields are ignored, as in every codec, so
// that services can be upgraded one by one.
func WithStrictJSON() Option { return option(func(c *common) { c.strictJSON = true }) }

// WithLogger sets the log for what no caller is told: connection events, calls refused or cut off,
// one-way calls that failed. docs/production.md lists the records and their fields. Without it
// nothing is logged, except panics of handlers, callbacks and observers, errors of handlers that are
// no status, messages of handlers that cannot be carried, why a resolver fails or a policy file is not
// taken, and endpoints that are ejected, to slog.Default. A goroutine of its own writes the records, at
// most 100 a second of each message and level. Close and Stop wait for it, for a second at most.
func WithLogger(logger *slog.Logger) Option {
	return option(func(c *common) { c.journal.logger = logger })
}

// WithKeepalive sends the peer a PING after interval without input, and gives the peer up if
// nothing comes within timeout: its calls then end UNAVAILABLE. An interval of 0 turns it off. The
// default is an interval of 20 s for clients and 60 s for servers, and a timeout of 20 s. With it
// the system gives up TCP connections, except those of HTTP/1.1 and of users' protocols, whose peer
// acknowledges or reads nothing for both together, at least a minute. An interval below 0, or one
// above 0 with a timeout that is not above 0, fails NewClient, Dial and NewServer; with an interval
// of 0 the timeout says nothing.
func WithKeepalive(interval, timeout time.Duration) Option {
	return option(func(c *common) {
		c.keepaliveInterval, c.keepaliveTimeout = interval, timeout
		if interval < 0 || interval > 0 && timeout <= 0 {
			c.wrong("keepalive is %v with %v for the answer, least 0 and above 0", interval, timeout)
		}
	})
}

// WithTLS makes a client use TLS, and a server offer it on its TCP and Unix listeners. The
// configuration is not changed; its NextProtos are ignored. For mutual TLS a server sets ClientAuth
// and ClientCAs, a client Certificates.
func WithTLS(config *tls.Config) Option { return option(func(c *common) { c.tls = config }) }

// WithMemory bounds what a Client or Server holds in memory for its peers over all its connections,
// in bytes: messages that have not arrived whole or were not consumed yet, and answers that wait to
// be written. The first 64 KiB of each connection do not count. When it is full, the connection
// that holds most loses the call that it has held for longest. That call fails with
// RESOURCE_EXHAUSTED, refused if its handler was not started. A connection whose unread output
// alone exceeds its share is ended.
//
// The default is a quarter of the memory of the container, or of the machine, at most 1 GiB; the
// least is 1 MiB. The process takes more than this: messages decompressed for code of your own may
// take as much again, handlers and their messages are not counted, and Go lets the heap grow to
// twice what is in use (GOGC). Set GOMEMLIMIT to about three times this value. spec/limits.md has
// the figures.
func WithMemory(bytes int64) Option {
	return option(func(c *common) {
		if c.memory = bytes; bytes < leastMemory {
			c.wrong("memory is %d, least %d", bytes, leastMemory)
		}
	})
}

const leastMemory = 1 << 20

// WithoutSharing runs each handler on a goroutine of its own. By default goroutines run one handler
// after the other, which saves starting them. So by default a handler that locks its goroutine to
// its thread (runtime.LockOSThread) must unlock it before it returns, or later handlers run on that
// thread too. With this option the thread ends with the handler, as package runtime promises.
// Profiler labels that a handler leaves behind are removed either way.
func WithoutSharing() Option { return option(func(c *common) { c.unshared = true }) }

// WithoutSpinning makes readers wait for input at once. By default the reader of a connection with
// one call at a time first looks for input for up to 50 µs, which keeps a processor busy, as long
// as that proves to be quicker.
func WithoutSpinning() Option { return option(func(c *common) { c.spinless = true }) }

// WithoutPollers makes a goroutine wait for each connection. By default, on Linux, a few goroutines
// with an epoll descriptor each wait for idle connections: in a process of more than 64
// connections, and over HTTP/2 for those that have long been idle.
func WithoutPollers() Option { return option(func(c *common) { c.unpolled = true }) }

// WithConnections sets how many connections a client keeps to each endpoint,
// with calls spread over them. The default is 1; less fails NewClient and Dial.
func WithConnections(n int) ClientOption {
	return clientOption(func(c *clientOptions) {
		if c.connections = n; n < 1 {
			c.connections = 1
			c.wrong("connections is %d, least 1", n)
		}
	})
}

// Dialer opens the byte stream to an address of an endpoint: HOST:PORT, also for a WebSocket, with
// the name not resolved; or unix:PATH or mem:NAME. TLS and WebSocket lie above it. If it does not
// return in the time for connecting, the attempt has failed, and what it opens later is closed. A
// panic is a failure too.
type Dialer func(ctx context.Context, e Endpoint, address string) (net.Conn, error)

// WithDialer makes dial open a client's byte streams in place of the system: through tunnels and
// proxies, or in networks made for tests.
func WithDialer(dial Dialer) ClientOption {
	return clientOption(func(c *clientOptions) {
		if c.dialer = dial; dial == nil {
			c.wrong("the dialer is nil")
		}
	})
}

// WithWaitingCalls bounds how many calls wait for a free slot when the
// connections carry as many as the other side allows. The default is 4,096; past
// it calls fail at once with RESOURCE_EXHAUSTED, not sent.
func WithWaitingCalls(n int) Option {
	return option(func(c *common) {
		if c.waitingCalls = n; n < 0 {
			c.wrong("waiting calls is %d, least 0", n)
		}
	})
}

// WithCleartext allows cleartext connections to a server that has TLS. By default such a server
// refuses them, and says why where their protocol allows it.
func WithCleartext() ServerOption {
	return serverOption(func(s *serverOptions) { s.allowClear = true })
}

// WithProxyProtocol is for a server behind a proxy that sends the PROXY protocol, version 1 or 2;
// by default none is expected.
// Every TCP connection must begin with its header, and the address in it is the peer's. Only the
// proxy may be able to reach the port, since the header is believed.
func WithProxyProtocol() ServerOption {
	return serverOption(func(s *serverOptions) { s.proxied = true })
}

// WithMaxConnections bounds how many connections a server has, also those that have sent nothing
// yet. More are rejected, logged and counted. By default only the process's descriptors bound them.
func WithMaxConnections(n int) ServerOption {
	return serverOption(func(s *serverOptions) {
		if s.most = n; n < 1 {
			s.wrong("max connections is %d, least 1", n)
		}
	})
}

// WithMaxConnectionsPerAddress is WithMaxConnections for the connections of one remote address, of
// which the first 64 bits count for IPv6. The default is 16,384, more than the clients behind one
// address should need together.
func WithMaxConnectionsPerAddress(n int) ServerOption {
	return serverOption(func(s *serverOptions) {
		if s.mostFrom = n; n < 1 {
			s.wrong("max connections per address is %d, least 1", n)
		}
	})
}

// WithMaxConnectionAge makes a server drain each connection at the age of d, give or take a tenth,
// so that clients connect anew. Behind a load balancer that passes on connections, load spreads to
// new servers only in this way. Calls that run are answered, however long that takes, and no call
// fails for it. Connections of HTTP/1.1 end with the first answer after that. The default is 0: no
// limit.
func WithMaxConnectionAge(d time.Duration) ServerOption {
	return serverOption(func(s *serverOptions) {
		if s.maxAge = d; d < 0 {
			s.wrong("max connection age is %v, least 0", d)
		}
	})
}

// WithDrainDelay makes Stop serve on for d before it refuses anything, so that registries, load
// balancers and their clients can forget the server first. Meanwhile Server.Leaving is closed, and
// gRPC's health service (package grpcstub) says NOT_SERVING. The default is 0.
func WithDrainDelay(d time.Duration) ServerOption {
	return serverOption(func(s *serverOptions) {
		if s.drainDelay = d; d < 0 {
			s.wrong("drain delay is %v, least 0", d)
		}
	})
}

// WithRunningHandlers bounds how many handlers a server, or a client for its
// servers, runs at once; further calls are refused with RESOURCE_EXHAUSTED. The default is 16,384,
// the least 1.
func WithRunningHandlers(n int) Option {
	return option(func(c *common) {
		if c.runningHandlers = n; n < 1 {
			c.wrong("running handlers is %d, least 1", n)
		}
	})
}

func defaults(keepalive time.Duration) common {
	return common{
		journal: &journal{},
		codec:   Protobuf, memory: defaultMemory(), keepaliveInterval: keepalive, keepaliveTimeout: DefaultKeepaliveTimeout,
		runningHandlers: DefaultRunningHandlers, waitingCalls: DefaultWaitingCalls,
	}
}

func (c *common) transport(handler transport.Handler, pool *roles.Pool) *transport.Config {
	local := c.local
	local.KeepaliveInterval = uint32(min(c.keepaliveInterval.Milliseconds(), 1<<32-1))
	local.Codecs, local.Compressions = c.codecs.names(), c.compressions.set()
	from := pollFrom
	if c.unpolled {
		from = math.MaxInt
	}
	return &transport.Config{
		Handler: handler, Pool: pool, Local: local, Codecs: c.codecs.String(), MaxPool: c.maxPool, Budget: wire.NewBudget(c.memory),
		Panicked:          c.panicked,
		KeepaliveInterval: c.keepaliveInterval, KeepaliveTimeout: c.keepaliveTimeout, PollFrom: from, NoSpinning: c.spinless,
	}
}

// pollFrom is 0, the default, but in tests.
var pollFrom int

// complete works out what the options come to. The error names those that are no good.
func (c *common) complete() error {
	codecs, fault := newCodecTable(c.given)
	c.codecs = codecs
	c.local, c.maxPool = c.settings()
	if err := c.compressions.arrange(c.local.Message, c.memory); err != nil {
		fault = errors.Join(fault, err)
	}
	c.readTLS()
	if len(c.wrongs) > 0 {
		fault = errors.Join(fault, errors.New("trunkcall: options: "+strings.Join(c.wrongs, "; ")))
	}
	if c.keepaliveTimeout <= 0 {
		c.keepaliveTimeout = DefaultKeepaliveTimeout
	}
	return fault
}

// panicked tells of a panic that ended a connection: never in silence, but not
// to a logger of the user's, which may be what panicked.
func (c *common) panicked(value any, stack []byte) {
	c.journal.logTo(slog.Default(), slog.LevelError, "a connection was ended by a panic", []any{"panic", fmt.Sprint(value), "stack", string(stack)})
}

func (c *common) log(level slog.Level, message string, args ...any) {
	c.journal.log(level, message, args...)
}
