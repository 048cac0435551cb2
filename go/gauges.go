package trunkcall

import (
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Gauges are what a Client or Server has at the moment, and counts since it was
// made. Reading them takes each connection's lock for a moment.
type Gauges struct {
	// Connections that are up, those included that end.
	Connections int `json:"connections"`
	// CallsMade and CallsServed are calls that are open. A handler that outlives its call is not
	// counted.
	CallsMade   int `json:"calls_made"`
	CallsServed int `json:"calls_served"`
	// RunningHandlers counts those as well, and calls accepted to become one.
	RunningHandlers int `json:"running_handlers"`
	// OneWayHandlers of them serve one-way calls, whose callers have been answered.
	OneWayHandlers int `json:"one_way_handlers"`
	// WaitingCalls have found no free slot.
	WaitingCalls int `json:"waiting_calls"`
	// UnsentBytes wait to be written.
	UnsentBytes int64 `json:"unsent_bytes"`
	// HeldBytes are held in memory for peers and count against WithMemory: messages that were not
	// consumed, what has arrived of incomplete messages, answers that wait, and output
	// (UnsentBytes).
	HeldBytes int64 `json:"held_bytes"`
	// WithheldCredit is how many bytes less the other side may send on open
	// streams because messages were not consumed.
	WithheldCredit int64 `json:"withheld_credit"`
	// PoolBytes are the sizes of the pools granted to native connections. PoolHeldBytes of them lie
	// in messages that were not consumed.
	PoolBytes     int64 `json:"pool_bytes"`
	PoolHeldBytes int64 `json:"pool_held_bytes"`

	// Refused calls were never started, CutOff ones were ended without their
	// handler; both were told to their callers.
	Refused uint64 `json:"refused"`
	CutOff  uint64 `json:"cut_off"`
	// OneWayFailures are one-way calls whose handler failed, which nobody was told.
	OneWayFailures uint64 `json:"one_way_failures"`
	// RejectedConnections are those that a server closed for their first bytes, or because of a
	// limit.
	RejectedConnections uint64 `json:"rejected_connections"`
	// ConnectFailures are a client's attempts to connect that failed.
	ConnectFailures uint64 `json:"connect_failures"`
	// DroppedEvents are events that observers were not told of, because too many waited behind one
	// that blocks.
	DroppedEvents uint64 `json:"dropped_events"`
}

// counters are the counts of a Client or Server.
type counters struct {
	refused, cutOff, rejected, connectFailures atomic.Uint64
}

// gauge adds everything but the connections' own.
func (s *serving) gauge(g *Gauges) {
	g.RunningHandlers = s.Running()
	g.OneWayHandlers = s.oneWays.count()
	g.Refused, g.CutOff = s.counters.refused.Load(), s.counters.cutOff.Load()
	g.RejectedConnections, g.ConnectFailures = s.counters.rejected.Load(), s.counters.connectFailures.Load()
	g.DroppedEvents = s.options.droppedEvents.Load()
	g.OneWayFailures = s.oneWays.failures.Load()
}

func (g *Gauges) add(c *Connection) {
	of := c.link.Gauges()
	g.Connections++
	g.CallsMade += of.Opened
	g.CallsServed += of.Served
	g.UnsentBytes += int64(of.Unsent)
	g.HeldBytes += int64(of.Held)
	g.WithheldCredit += of.Withheld
	g.PoolBytes += of.PoolKept
	g.PoolHeldBytes += of.PoolHeld
}

// Gauges returns what the server has at the moment.
func (s *Server) Gauges() Gauges {
	g := Gauges{WaitingCalls: int(s.calling.waiting.Load())}
	s.gauge(&g)
	for _, c := range s.Connections() {
		g.add(c)
	}
	return g
}

// Gauges returns what the client has at the moment.
func (c *Client) Gauges() Gauges {
	g := Gauges{WaitingCalls: int(c.waiting.Load())}
	c.gauge(&g)
	for _, conn := range c.Connections() {
		g.add(conn)
	}
	return g
}

// Unserved counts and logs a call that no handler answers.
func (s acceptor) Unserved(conn *transport.Conn, st *transport.Stream, method string, refused bool, code wire.Code, text string) {
	if st != nil {
		method = st.Owner.(*ServerCall).handler.Method.Name //nolint:forcetypeassert // Accept sets nothing else
	}
	s.unserved(conn.Remote(), method, refused, code, text)
}

// loggedName bounds, in bytes, the name of a method in a record of a call that was
// not served.
const loggedName = 256

func (s *serving) unserved(remote net.Addr, method string, refused bool, code Code, text string) {
	message, level := "call cut off", slog.LevelWarn
	if refused {
		message = "call refused"
		s.counters.refused.Add(1)
	} else {
		s.counters.cutOff.Add(1)
	}
	if s.options.journal.logger == nil {
		return
	}
	if code == Canceled || code == DeadlineExceeded {
		level = slog.LevelDebug // the caller's own doing
	}
	if len(method) > loggedName {
		method = method[:loggedName] + "…" // the peer made it up
	}
	s.options.log(level, message, "remote", remote, "method", method, "code", code, "error", text)
}
