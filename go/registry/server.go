package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go"
	registryv1 "github.com/trunkcall/trunkcall/go/gen/registry/v1"
)

// The methods of the embedded registry.
var (
	publishMethod = trunkcall.Bidi[registryv1.PublishRequest, registryv1.PublishAnswer]("/trunkcall.registry.v1.Registry/Publish")
	watchMethod   = trunkcall.ServerStream[registryv1.WatchRequest, registryv1.WatchAnswer]("/trunkcall.registry.v1.Registry/Watch")
)

var errStopping = trunkcall.Errorf(trunkcall.Unavailable, "the registry is stopping")

const (
	savedWithin   = time.Second
	mostPending   = 1_024 // ids of changes that a watcher has not taken
	mostInAnswer  = 1_000 // entries or ids
	bytesInAnswer = 256 << 10
	mostOpenCalls = 128 // of a connection
	mostInMessage = 4 << 20
	closingGrace  = 5 * time.Second
)

// ServerConfig is how a registry is served.
type ServerConfig struct {
	// State is the path of the file by which records are known after a restart; without one they are known when their
	// servers have published them again.
	State string
	// Lease is for how long a server counts that is stopped, or whose machine is gone: 1 s to 1 h, by default 15 s. One
	// that died or withdrew goes at once.
	Lease time.Duration
	// Logger is told what is wrong with the file; by default slog.Default().
	Logger *slog.Logger
}

// Server is the embedded registry (spec/registry.md 9): it keeps records in memory, for the processes of one machine. It is
// safe for concurrent use.
type Server struct {
	state  string
	logger *slog.Logger
	began  time.Time
	done   sync.WaitGroup // of run

	mu       sync.Mutex
	core     *core
	calls    map[uint64]*serving
	number   uint64        // of the call that began last
	saved    uint64        // the core's version that the file has
	stopping chan struct{} // closed by Close
	closed   bool          // nothing changes any more
}

// serving is a call that runs.
type serving struct {
	wake chan struct{} // has a value when there is something to take

	// What follows is guarded by Server.mu.
	answers int               // that a call which publishes is to be sent
	err     error             // the call ends with it
	all     bool              // a watcher is told all
	pending map[string][]byte // else the bytes of what came, nil for what went, by id
}

// NewServer makes a registry with the records that its file has. It fails for a lease out of bounds, and for a file that
// cannot be read or written; with what is wrong in the file it begins all the same, and logs it.
func NewServer(c ServerConfig) (*Server, error) {
	lease := cmp.Or(c.Lease, defaultLease)
	if lease < leastLease || lease > greatestLease {
		return nil, fmt.Errorf("registry: a lease of %v: want %v to %v", lease, leastLease, greatestLease)
	}
	s := &Server{
		state: c.State, logger: cmp.Or(c.Logger, slog.Default()), began: time.Now(), calls: map[uint64]*serving{}, stopping: make(chan struct{}),
	}
	s.core = newCore(s.tellLocked)
	s.core.lease = lease
	s.core.time(0)
	var records []Written
	whole := false
	if s.state != "" {
		var err error
		records, whole, err = readState(s.state)
		switch {
		case errors.As(err, new(stateError)):
			s.logger.Warn("a registry does not know all that was published before", "error", err, "records", len(records))
		case err != nil && !missingState(err):
			return nil, fmt.Errorf("registry: %w", err)
		}
	}
	s.core.restore(records, whole)
	if s.state != "" { // what cannot be written is told now
		if err := writeState(s.state, appendState(nil, s.core.records())); err != nil {
			return nil, fmt.Errorf("registry: %w", err)
		}
	}
	s.saved = s.core.version
	s.done.Go(s.run)
	return s, nil
}

// Register has t serve the registry.
func (s *Server) Register(t *trunkcall.Server) error {
	return t.Register(publishMethod.Handler(s.publish), watchMethod.Handler(s.watch))
}

// Serve serves a registry at address until ctx ends, and listening, if it is not nil, is told where. It is a server of its
// own with options, which come after the bounds of the specification.
func Serve(ctx context.Context, address string, c ServerConfig, listening func(address net.Addr), options ...trunkcall.ServerOption) error {
	s, err := NewServer(c)
	if err != nil {
		return err
	}
	defer s.Close()
	t, err := trunkcall.NewServer(append([]trunkcall.ServerOption{trunkcall.WithLimits(trunkcall.Limits{Calls: mostOpenCalls, MessageBytes: mostInMessage})}, options...)...)
	if err == nil {
		err = s.Register(t)
	}
	if err != nil {
		return err
	}
	defer t.Close()
	where, err := t.Listen(address)
	if err != nil {
		return err
	}
	if listening != nil {
		listening(where)
	}
	<-ctx.Done()
	s.Close() // it ends its calls, and records stay in the file
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingGrace)
	defer cancel()
	return t.Stop(grace)
}

// Close ends the registry: its calls end UNAVAILABLE, and its records are written to the file. The server that it is
// registered in is the caller's to close, afterwards.
func (s *Server) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if !closed {
		close(s.stopping)
	}
	s.done.Wait()
}

// run tells the core the time, and saves what has changed.
func (s *Server) run() {
	tick := time.NewTicker(min(s.core.lease/ticksOfLease, savedWithin))
	defer tick.Stop()
	told := false
	for ended := false; ; {
		s.mu.Lock()
		if !s.closed {
			s.core.time(time.Since(s.began))
		}
		err := error(nil)
		if version := s.core.version; s.state != "" && version != s.saved {
			records := s.core.records()
			s.mu.Unlock()
			err = writeState(s.state, appendState(nil, records))
			s.mu.Lock()
			if err == nil {
				s.saved = version
			}
		}
		s.mu.Unlock()
		if err != nil && !told {
			s.logger.Warn("a registry cannot write what it knows", "error", err)
		}
		told = err != nil
		if ended {
			return
		}
		select {
		case <-tick.C:
		case <-s.stopping:
			ended = true
		}
	}
}

// begin begins a call, by an event that the core is told.
func (s *Server) begin(event func(c *core, number uint64)) (uint64, *serving, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, nil, errStopping
	}
	s.number++
	call := &serving{wake: make(chan struct{}, 1)}
	s.calls[s.number] = call
	s.core.time(time.Since(s.began))
	event(s.core, s.number)
	return s.number, call, nil
}

// event tells the core of one.
func (s *Server) event(what func(c *core)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.core.time(time.Since(s.began))
		what(s.core)
	}
}

// end ends a call that begin began.
func (s *Server) end(number uint64) {
	s.event(func(c *core) {
		delete(s.calls, number)
		c.end(number)
	})
}

// tellLocked has a call sent what the core tells it.
func (s *Server) tellLocked(number uint64, what telling) {
	call := s.calls[number]
	if call == nil {
		return
	}
	switch {
	case what.err != nil:
		call.err = what.err
	case what.answered:
		call.answers++
	case what.all:
		call.allLater()
	case !call.all:
		if call.pending == nil {
			call.pending = map[string][]byte{}
		}
		for _, e := range what.came {
			call.pending[e.ID] = e.Data
		}
		for _, id := range what.went {
			call.pending[id] = nil
		}
		if len(call.pending) > mostPending {
			call.allLater()
		}
	}
	select {
	case call.wake <- struct{}{}:
	default:
	}
}

// allLater has a watcher told all that there is when it takes it.
func (c *serving) allLater() { c.all, c.pending = true, nil }

// publish serves a call of Publish.
func (s *Server) publish(_ context.Context, stream *trunkcall.BidiStream[registryv1.PublishAnswer, registryv1.PublishRequest]) error {
	first, err := stream.Receive()
	switch {
	case errors.Is(err, io.EOF):
		first = &registryv1.PublishRequest{}
	case err != nil:
		return err
	}
	number, call, err := s.begin(func(c *core, number uint64) { c.publish(number, first.Records) })
	if err != nil {
		return err
	}
	defer s.end(number)
	ended := make(chan error, 1)
	go func() { ended <- s.renewals(number, stream) }()
	for {
		select {
		case <-call.wake:
		case err := <-ended:
			return err
		case <-s.stopping:
			return errStopping
		}
		s.mu.Lock()
		answers, err := call.answers, call.err
		call.answers = 0
		s.mu.Unlock()
		if err != nil {
			return err
		}
		for range answers {
			if err := stream.Send(&registryv1.PublishAnswer{LeaseMs: uint32(s.core.lease.Milliseconds())}); err != nil {
				return err
			}
		}
	}
}

// renewals takes the requests of a call behind the first, until they end.
func (s *Server) renewals(number uint64, stream *trunkcall.BidiStream[registryv1.PublishAnswer, registryv1.PublishRequest]) error {
	for {
		request, err := stream.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(request.Records) > 0:
			return trunkcall.Errorf(trunkcall.InvalidArgument, "records: want none in a renewal")
		}
		s.event(func(c *core) { c.renew(number) })
	}
}

// watch serves a call of Watch.
func (s *Server) watch(ctx context.Context, request *registryv1.WatchRequest, to *trunkcall.Sender[registryv1.WatchAnswer]) error {
	number, call, err := s.begin(func(c *core, number uint64) { c.watch(number, request.Service) })
	if err != nil {
		return err
	}
	defer s.end(number)
	for {
		select {
		case <-call.wake:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.stopping:
			return errStopping
		}
		kind, came, went, err := s.take(call, request.Service)
		if err != nil {
			return err
		}
		if err := answer(kind, came, went, to.Send); err != nil {
			return err
		}
	}
}

// take takes what a watcher is to be told.
func (s *Server) take(call *serving, service string) (kind registryv1.WatchAnswer_Kind, came []Entry, went []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case call.err != nil:
		return 0, nil, nil, call.err
	case call.all:
		call.all = false
		kind = registryv1.WatchAnswer_KIND_ALL
		if s.core.unsure {
			kind = registryv1.WatchAnswer_KIND_PARTIAL
		}
		return kind, s.core.entries(service), nil, nil
	}
	for id, data := range call.pending {
		if data == nil {
			went = append(went, id)
		} else {
			came = append(came, Entry{ID: id, Data: data})
		}
	}
	call.pending = nil
	return registryv1.WatchAnswer_KIND_CHANGE, came, went, nil
}

// answer sends a telling, in as many answers as it takes.
func answer(kind registryv1.WatchAnswer_Kind, came []Entry, went []string, send func(*registryv1.WatchAnswer) error) error {
	for {
		one := &registryv1.WatchAnswer{Kind: kind}
		size := 0
		for len(came) > 0 && len(one.Came) < mostInAnswer && size < bytesInAnswer-maxRecord {
			size += len(came[0].Data)
			one.Came = append(one.Came, &registryv1.Entry{Id: came[0].ID, Record: came[0].Data})
			came = came[1:]
		}
		n := min(len(went), mostInAnswer-len(one.Came))
		one.Went, went = went[:n], went[n:]
		one.More = len(came)+len(went) > 0
		if err := send(one); err != nil || !one.More {
			return err
		}
	}
}
