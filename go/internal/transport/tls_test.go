//go:build unix

package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// fewAndMany runs a test with connections that are read by goroutines of their own, and that are polled.
func fewAndMany(t *testing.T, test func(t *testing.T, change func(*Config))) {
	t.Run("few", func(t *testing.T) { test(t, func(c *Config) { c.PollFrom = 1 << 20 }) })
	t.Run("many", func(t *testing.T) { test(t, pollAlways) })
}

// Why a connection with TLS can be read without waiting: crypto/tls goes on after an error that is temporary, and
// forgets nothing of what it has read.
func TestTLSReadsOnAfterThereWasNothing(t *testing.T) {
	near, far := sockets(t)
	a, b := withTLS(t, near, far)
	defer b.Close()
	secret := strings.Repeat("secret", 100)
	s := takeTLSSocket(b)
	s.held = false
	go a.Write([]byte(secret))
	var record [5 + 600 + 17]byte
	if _, err := io.ReadFull(far, record[:]); err != nil {
		t.Fatal(err)
	}
	near, far = joined(t)
	defer near.Close()
	defer far.Close()
	empty, err := near.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1000)
	for i := range record {
		s.in = record[i : i+1]
		var n int
		_ = empty.Control(func(fd uintptr) { n, err = s.tryRead(fd, nil, got) })
		if last := i == len(record)-1; err != nil || !last && n != 0 || last && string(got[:n]) != secret {
			t.Fatalf("after %d of %d bytes: %d, %v", i+1, len(record), n, err)
		}
	}
	_ = a.Close()
}

func TestTLSConnectionsAreReadAndWrittenInPlace(t *testing.T) {
	p := newTLSPair(t, echoBack, func(c *Config) { c.PollFrom = 1 << 20 })
	eventually(t, "the caller reads its own answers", func() bool { // on a busy machine not at once
		for range 100 {
			p.mustEcho(t, "alone")
		}
		p.caller.mu.Lock()
		defer p.caller.mu.Unlock()
		return p.caller.roles.Solo
	})
	if p.caller.raw == nil || p.callee.raw == nil {
		t.Fatal("somebody else reads and writes")
	}
}

func TestManyTLSConnectionsArePolled(t *testing.T) {
	p := newTLSPair(t, echoBack, pollAlways)
	p.awaitPolled(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				p.mustEcho(t, strings.Repeat("0123456789abcdef", 1<<(5+i)))
			}
		})
	}
	all.Wait()
	p.awaitPolled(t)
}

// More comes in one go than one reading takes, so that some of it lies with crypto/tls when nothing more comes.
func TestNothingIsLeftBehindInTLS(t *testing.T) {
	fewAndMany(t, func(t *testing.T, change func(*Config)) {
		client, server := handRecords(t)
		input := append(rawframe.Preface(), rawframe.Define(1, echoMethod.Name)...)
		const calls = 1000
		for i := range calls {
			input = append(input, rawframe.Call(uint32(1+i), 1, 1, make([]byte, 2500))...)
		}
		var sealed []byte
		for len(input) > 0 {
			n := min(len(input), 1<<14)
			sealed = append(sealed, client.seal(recordApplication, input[:n])...)
			input = input[n:]
		}
		sealed = append(sealed, client.seal(recordAlert, []byte{1, 0})...) // close_notify; the socket stays open
		go client.Conn.Write(sealed)
		u, pool := newUpper(echoBack), &roles.Pool{}
		defer pool.Close()
		u.dropped, u.stopped = make(chan struct{}, calls), make(chan wire.Code, calls)
		c := NewConn(u.config(pool, change), server, true, nil, nil)
		defer c.Close(net.ErrClosed)
		go io.Copy(io.Discard, client.Conn)
		if err := receive(t, u.closed, "end of the connection"); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if n := u.accepted.Load(); n != calls {
			t.Fatalf("%d of %d calls", n, calls)
		}
	})
}

// A listener reads the first bytes of a record, and the rest of it never comes from the socket again.
func TestWhatTLSHasReadAheadIsTakenIn(t *testing.T) {
	fewAndMany(t, func(t *testing.T, change func(*Config)) {
		client, server := handRecords(t)
		u, pool := newUpper(echoBack), &roles.Pool{}
		defer pool.Close()
		input := append(rawframe.Preface(), rawframe.Define(1, echoMethod.Name)...)
		_, _ = client.Write(append(input, rawframe.Call(1, 1, 1, []byte("at once"))...))
		prefix := make([]byte, len(wire.Magic))
		if _, err := io.ReadFull(server, prefix); err != nil {
			t.Fatal(err)
		}
		c := NewConn(u.config(pool, change), server, true, prefix, nil)
		defer c.Close(net.ErrClosed)
		eventually(t, "the call", func() bool { return u.accepted.Load() == 1 })
	})
}

// greeted is a connection over TLS to which the client has sent its preface by hand.
func greeted(t *testing.T, change func(*Config)) (client *records, u *upper) {
	t.Helper()
	client, server := handRecords(t)
	u, pool := newUpper(echoBack), &roles.Pool{}
	c := NewConn(u.config(pool, change), server, true, nil, nil)
	t.Cleanup(func() {
		c.Close(net.ErrClosed)
		pool.Close()
	})
	_, _ = client.Write(rawframe.Preface())
	receive(t, u.ready, "preface")
	return client, u
}

// Half a record is nothing yet, and holds up nobody.
func TestARecordMayComeInPieces(t *testing.T) {
	fewAndMany(t, func(t *testing.T, change func(*Config)) {
		client, u := greeted(t, change)
		other := newTLSPair(t, echoBack, change)
		input := append(rawframe.Define(1, echoMethod.Name), rawframe.Call(1, 1, 1, []byte("in pieces"))...)
		sealed := client.seal(recordApplication, input)
		for i, b := range sealed {
			if i%20 == 0 {
				other.mustEcho(t, "meanwhile")
			}
			if u.accepted.Load() != 0 {
				t.Fatalf("a call after %d of %d bytes", i, len(sealed))
			}
			_, _ = client.Conn.Write([]byte{b})
		}
		eventually(t, "the call", func() bool { return u.accepted.Load() == 1 })
	})
}

// What crypto/tls has to say by itself is sent although there is no call.
func TestKeysAreUpdated(t *testing.T) {
	fewAndMany(t, func(t *testing.T, change func(*Config)) {
		client, server := handRecords(t)
		p := join(t, client, server, echoBack, change)
		p.mustEcho(t, "before")
		for range 3 {
			p.caller.mu.Lock() // nobody writes beside
			client.updateKeys(true)
			p.caller.mu.Unlock()
			receive(t, client.updated, "answer")
			p.mustEcho(t, "after")
			client.updateKeys(false)
			p.mustEcho(t, "after that")
		}
	})
}

// A peer that has TLS answer and reads none of it cannot have answers pile up.
func TestAnswersOfTLSThatNobodyReadsAreBounded(t *testing.T) {
	s := &tlsSocket{tls: &tls.Conn{}}
	record := make([]byte, 1000)
	var err error
	for n := 0; err == nil; n += len(record) {
		if n > 2*maxQueued {
			t.Fatal("no bound")
		}
		_, err = s.Write(record)
	}
	if !errors.Is(err, errUnread) {
		t.Fatal(err)
	}
}

// The other end learns that this was no accident, as one that cuts off what is sent would cause.
func TestTheEndIsSaidInTLS(t *testing.T) {
	fewAndMany(t, func(t *testing.T, change func(*Config)) {
		for name, end := range map[string]func(c *Conn){
			"closed": func(c *Conn) { c.Close(net.ErrClosed) },
			"shut":   func(c *Conn) { c.Shut(net.ErrClosed) },
		} {
			t.Run(name, func(t *testing.T) {
				client, server := handRecords(t)
				u, pool := newUpper(echoBack), &roles.Pool{}
				defer pool.Close()
				c := NewConn(u.config(pool, change), server, true, nil, nil)
				_, _ = client.Write(rawframe.Preface())
				receive(t, u.ready, "preface")
				eventually(t, "all that the preface called for is written", func() bool {
					c.mu.Lock() // who closes in the middle of a record cannot say so
					defer c.mu.Unlock()
					return !c.roles.Flushing && !c.hasOutputLocked()
				})
				end(c)
				if _, err := io.Copy(io.Discard, onlyReader{client}); !errors.Is(err, errCloseNotify) {
					t.Fatal(err)
				}
				_ = client.Close()
				receive(t, u.closed, "end of the connection")
			})
		}
	})
}

func TestTLSConnectionsDrain(t *testing.T) {
	fewAndMany(t, func(t *testing.T, change func(*Config)) {
		p := newTLSPair(t, echoBack, change)
		p.mustEcho(t, "before")
		p.callee.Drain("enough")
		for _, u := range []*upper{p.above, p.below} {
			if err := receive(t, u.closed, "end of the connection"); !Drained(err) {
				t.Fatal(err)
			}
		}
	})
}

// A record that was damaged on its way ends the connection, and the other end is told why.
func TestADamagedRecordEndsTheConnection(t *testing.T) {
	fewAndMany(t, func(t *testing.T, change func(*Config)) {
		client, u := greeted(t, change)
		sealed := client.seal(recordApplication, []byte("damaged"))
		sealed[10] ^= 1
		_, _ = client.Conn.Write(sealed)
		if err := receive(t, u.closed, "end of the connection"); !strings.Contains(err.Error(), "bad record MAC") {
			t.Fatal(err)
		}
		for {
			kind, content, err := client.next()
			if err != nil {
				t.Fatal(err)
			}
			if kind == recordAlert {
				if content[1] != 20 { // bad_record_mac
					t.Fatalf("% x", content)
				}
				break
			}
		}
		_ = client.Close()
	})
}

// What a user's connection does to the bytes is not left out, although TLS lies above it.
func TestTLSOverAConnectionOfAUsersGoesThroughIt(t *testing.T) {
	near, far := sockets(t)
	a, b := withTLS(t, &wrapped{near}, &wrapped{far})
	p := join(t, a, b, echoBack, pollAlways)
	p.mustEcho(t, "through it")
	if p.caller.raw != nil || p.callee.raw != nil || p.caller.secure != nil {
		t.Fatal("it is bypassed")
	}
}

// While the socket takes nothing calls wait, and none is lost when it does again.
func TestATLSPeerThatReadsSlowlyGetsAll(t *testing.T) {
	fewAndMany(t, func(t *testing.T, change func(*Config)) {
		hold := make(chan struct{})
		p := newTLSPair(t, func(w *roles.Worker, st *Stream) {
			<-hold
			echoBack(w, st)
		}, change)
		p.callee.mu.Lock() // nobody takes in what is sent
		large := strings.Repeat("0123456789abcdef", 1<<12)
		done := make(chan wire.Ending, 400)
		for range cap(done) {
			go func() {
				e, answer := p.call(t, soon(t), large)
				if answer != large {
					e.Code = wire.DataLoss
				}
				done <- e
			}()
		}
		unlock := sync.OnceFunc(p.callee.mu.Unlock)
		defer unlock()
		eventually(t, "the socket is full", func() bool { return p.caller.wroteAt.Load() != 0 })
		unlock()
		close(hold)
		for range cap(done) {
			if e := receive(t, done, "answer"); e.Code != wire.OK {
				t.Fatalf("%v %q", e.Code, e.Message)
			}
		}
		p.mustEcho(t, "small")
	})
}
