//go:build unix

package transport

import (
	"net"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// stepped is an upper that has each read of its connection go through read,
// from the first call on. Reads happen one after the other.
type stepped struct {
	*upper
	once sync.Once
	read func(readOn bool)
}

func (s *stepped) Accept(c *Conn, in *wire.Incoming) (*Stream, *wire.Refusal) {
	s.once.Do(func() { // by the reader, under the lock
		c.readFD = func(fd uintptr) bool {
			s.read(c.readN < 0)
			return c.readOnce(fd)
		}
	})
	return s.upper.Accept(c, in)
}

// joined returns two ends of a socket into whose receiving side a write goes at
// once.
func joined(t *testing.T) (near, far net.Conn) {
	t.Helper()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	open := func(fd int) net.Conn {
		file := os.NewFile(uintptr(fd), "socket")
		defer file.Close()
		c, err := net.FileConn(file)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	return open(ends[0]), open(ends[1])
}

// More calls have piled up than one read takes, and behind them their CANCELs.
// While the reader reads on, a handler ends that ran all the time, as one does
// that stood still with its process: its goroutine starts none of them.
func TestNoCallStartsWhileTheReaderReadsOn(t *testing.T) {
	leave, sent, reading, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	open := sync.OnceFunc(func() { close(leave) })
	arrive := sync.OnceFunc(func() { close(sent) })
	release := sync.OnceFunc(func() { close(goOn) })
	begin := sync.OnceFunc(func() { close(reading) })

	entered, started := make(chan struct{}, 1), make(chan struct{}, 100)
	u := &stepped{upper: newUpper(func(w *roles.Worker, st *Stream) {
		if string(st.inbox[0].Payload) == "block" {
			entered <- struct{}{}
			<-leave
		} else {
			started <- struct{}{}
		}
		echoBack(w, st)
	})}
	u.read = func(readOn bool) {
		if !readOn {
			<-sent
			return
		}
		begin()
		<-goOn
	}
	pool := &roles.Pool{}
	config := u.config(pool, func(c *Config) { c.PollFrom = 1 << 20 }) // pollers read without readFD
	config.Handler = u
	near, far := joined(t)
	c := NewConn(config, far, true, nil, nil)
	t.Cleanup(func() {
		open()
		arrive()
		release()
		c.Close(net.ErrClosed)
		pool.Close()
	})
	peer := rawframe.New(t, near)
	peer.Greet()
	peer.Send(rawframe.Define(1, "/test.Service/Echo"), rawframe.Call(1, 1, 1, []byte("block")))
	receive(t, entered, "handler")

	const calls = 2 * readSize / 1000
	var input []byte
	for i := range calls {
		input = append(input, rawframe.Call(uint32(2+i), 1, 1, make([]byte, 1000))...)
	}
	for i := range calls {
		input = append(input, rawframe.Cancel(rawframe.ID(uint32(2+i), 1), wire.CancelGivenUp)...)
	}
	peer.Send(input)
	arrive()
	receive(t, reading, "further read")
	open()
	eventually(t, "the goroutine of the handler is free, or at work again", func() bool {
		return pool.Idle() > 0 || len(started) > 0
	})
	release()
	for range calls {
		select {
		case <-started:
			t.Fatal("a call started whose CANCEL had arrived")
		case <-u.dropped:
		}
	}
	peer.AwaitResult(rawframe.ID(1, 1))
}
