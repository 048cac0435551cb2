package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// The in-memory transport: a listener by name within the process, for tests
// and for services that share a process.

var memory = struct {
	sync.Mutex
	listeners map[string]*memoryListener
}{listeners: map[string]*memoryListener{}}

type memoryAddr string

func (memoryAddr) Network() string  { return "mem" }
func (a memoryAddr) String() string { return "mem:" + string(a) }

type memoryListener struct {
	name    string
	pending chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// ListenMemory listens under a name that no other listener of the process has.
func ListenMemory(name string) (net.Listener, error) {
	memory.Lock()
	defer memory.Unlock()
	if memory.listeners[name] != nil {
		return nil, fmt.Errorf("mem:%s: the name is in use", name)
	}
	l := &memoryListener{name: name, pending: make(chan net.Conn), closed: make(chan struct{})}
	memory.listeners[name] = l
	return l, nil
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.pending:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() {
		memory.Lock()
		delete(memory.listeners, l.name)
		memory.Unlock()
		close(l.closed)
	})
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr(l.name) }

func dialMemory(ctx context.Context, name string) (net.Conn, error) {
	memory.Lock()
	l := memory.listeners[name]
	memory.Unlock()
	if l == nil {
		return nil, fmt.Errorf("nobody listens")
	}
	near, far := MemoryPair(name)
	select {
	case l.pending <- far:
		return near, nil
	case <-l.closed:
		return nil, fmt.Errorf("nobody listens")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// memoryCapacity is how many bytes one direction holds before a writer waits.
const memoryCapacity = 256 << 10

// MemoryPair returns the two ends of a connection in memory. Unlike net.Pipe
// it buffers, and each direction can be closed on its own.
func MemoryPair(name string) (a, b net.Conn) {
	ab, ba := newMemoryHalf(), newMemoryHalf()
	return &memoryConn{name, ba, ab}, &memoryConn{name, ab, ba}
}

// memoryHalf is one direction.
type memoryHalf struct {
	mu      sync.Mutex
	changed *sync.Cond
	data    []byte
	ended   bool // the writer closed
	dead    bool // either side closed all
	readBy  time.Time
	writeBy time.Time
}

func newMemoryHalf() *memoryHalf {
	h := &memoryHalf{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

type memoryConn struct {
	name    string
	in, out *memoryHalf
}

func passedTime(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

func (c *memoryConn) Read(b []byte) (int, error) {
	h := c.in
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case len(h.data) > 0:
			n := copy(b, h.data)
			if h.data = h.data[n:]; len(h.data) == 0 {
				h.data = nil
			}
			h.changed.Broadcast()
			return n, nil
		case h.dead:
			return 0, net.ErrClosed
		case h.ended:
			return 0, io.EOF
		case passedTime(h.readBy):
			return 0, os.ErrDeadlineExceeded
		}
		h.changed.Wait()
	}
}

func (c *memoryConn) Write(b []byte) (n int, err error) {
	h := c.out
	h.mu.Lock()
	defer h.mu.Unlock()
	for n < len(b) {
		switch {
		case h.dead || h.ended:
			return n, io.ErrClosedPipe
		case passedTime(h.writeBy):
			return n, os.ErrDeadlineExceeded
		case len(h.data) < memoryCapacity:
			take := min(len(b)-n, memoryCapacity-len(h.data))
			h.data = append(h.data, b[n:n+take]...)
			n += take
			h.changed.Broadcast()
			continue
		}
		h.changed.Wait()
	}
	return n, nil
}

// end marks the direction as closed by its writer, or dead.
func (h *memoryHalf) end(dead bool) {
	h.mu.Lock()
	h.ended = true
	h.dead = h.dead || dead
	h.changed.Broadcast()
	h.mu.Unlock()
}

func (c *memoryConn) CloseWrite() error {
	c.out.end(false)
	return nil
}

// Close ends both directions; what was written can still be read.
func (c *memoryConn) Close() error {
	c.in.end(true)
	c.out.end(false)
	return nil
}

func (c *memoryConn) LocalAddr() net.Addr  { return memoryAddr(c.name) }
func (c *memoryConn) RemoteAddr() net.Addr { return memoryAddr(c.name) }

func (c *memoryConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

func (h *memoryHalf) setDeadline(which *time.Time, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*which = t
	h.changed.Broadcast()
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), func() {
			h.mu.Lock()
			h.changed.Broadcast()
			h.mu.Unlock()
		})
	}
}
