package main

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds a wait that a fault would make endless.
const patience = 30 * time.Second

// through starts a server and a proxy in front of it, and returns how to connect.
// serve has a goroutine for each connection.
func through(t *testing.T, w way, serve func(*net.TCPConn)) (dial func() *net.TCPConn) {
	t.Helper()
	target := listen(t)
	go func() {
		for {
			connection, err := target.Accept()
			if err != nil {
				return
			}
			_ = connection.SetDeadline(time.Now().Add(patience))
			go serve(connection.(*net.TCPConn))
		}
	}()
	return dialer(t, w, target.Addr().String())
}

func dialer(t *testing.T, w way, target string) func() *net.TCPConn {
	t.Helper()
	listener := listen(t)
	go func() { _ = forward(listener, target, w) }()
	return func() *net.TCPConn {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { connection.Close() })
		_ = connection.SetDeadline(time.Now().Add(patience))
		return connection.(*net.TCPConn)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// echo sends back what comes, and its end.
func echo(connection *net.TCPConn) {
	_, _ = io.Copy(connection, connection)
	_ = connection.Close()
}

func random(size int) []byte {
	data := make([]byte, size)
	source := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return data
}

func TestBytesArriveInOrderAndWhole(t *testing.T) {
	for name, w := range map[string]way{
		"no delay": {}, "delay": {delay: 3 * time.Millisecond},
		"jitter": {delay: time.Millisecond, jitter: 5 * time.Millisecond},
		"rate":   {delay: time.Millisecond, rate: 20 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dial := through(t, w, echo)
			var running sync.WaitGroup
			for _, piece := range []int{7, 1000, 300_000} {
				sent := random(min(piece*3000, 3<<20))
				connection := dial()
				running.Go(func() {
					for rest := sent; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
						if _, err := connection.Write(rest[:min(piece, len(rest))]); err != nil {
							t.Errorf("pieces of %d: %v", piece, err)
							return
						}
					}
					_ = connection.CloseWrite()
				})
				running.Go(func() {
					got, err := io.ReadAll(connection)
					if err != nil || !bytes.Equal(got, sent) {
						t.Errorf("pieces of %d: %d bytes of %d came back, or others: %v", piece, len(got), len(sent), err)
					}
				})
			}
			running.Wait()
		})
	}
}

func TestEachDirectionTakesTheDelay(t *testing.T) {
	const delay = 50 * time.Millisecond
	arrived := make(chan time.Time, 1)
	dial := through(t, way{delay: delay}, func(connection *net.TCPConn) {
		one := make([]byte, 1)
		for {
			if _, err := io.ReadFull(connection, one); err != nil {
				return
			}
			arrived <- time.Now()
			if _, err := connection.Write(one); err != nil {
				return
			}
		}
	})
	began := time.Now()
	connection := dial()
	for call := range 3 {
		least := delay
		if call == 0 {
			least *= 3 // the handshake, and then the byte
		} else {
			began = time.Now()
		}
		if _, err := connection.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		there := <-arrived
		if _, err := io.ReadFull(connection, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if took := there.Sub(began); took < least {
			t.Errorf("byte %d arrived after %v, before %v", call, took, least)
		}
		if took := time.Since(there); took < delay {
			t.Errorf("the answer to byte %d arrived after %v, before %v", call, took, delay)
		}
	}
}

func TestWhatIsUnderWayDoesNotWaitForOneAnother(t *testing.T) {
	// 100 bytes, each sent when the one before it has been, would take 20 s if one
	// waited for the other; together they take one round trip and the handshake.
	const delay = 100 * time.Millisecond
	connection := through(t, way{delay: delay}, echo)()
	began := time.Now()
	go func() {
		for i := range 100 {
			_, _ = connection.Write([]byte{byte(i)})
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := io.ReadFull(connection, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestTheEndOfWhatOneEndSendsIsPassedOn(t *testing.T) {
	// The server answers only when it has seen the end, and the answer arrives.
	connection := through(t, way{delay: 2 * time.Millisecond}, func(connection *net.TCPConn) {
		data, _ := io.ReadAll(connection)
		_, _ = connection.Write(append(data, " and thanks"...))
		_ = connection.Close()
	})()
	_, _ = connection.Write([]byte("all"))
	_ = connection.CloseWrite()
	got, err := io.ReadAll(connection)
	if err != nil || string(got) != "all and thanks" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAResetIsPassedOnAfterWhatWasSentBefore(t *testing.T) {
	connection := through(t, way{delay: 2 * time.Millisecond}, func(connection *net.TCPConn) {
		_, _ = io.ReadFull(connection, make([]byte, 3))
		_, _ = connection.Write([]byte("last"))
		// The bytes have to have left before the reset discards them here.
		_, _ = io.ReadFull(connection, make([]byte, 4))
		_ = connection.SetLinger(0)
		_ = connection.Close()
	})()
	_, _ = connection.Write([]byte("one"))
	last := make([]byte, 4)
	if _, err := io.ReadFull(connection, last); err != nil || string(last) != "last" {
		t.Fatalf("got %q, %v", last, err)
	}
	_, _ = connection.Write([]byte("done"))
	if _, err := connection.Read(last); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the reset arrived as %v", err)
	}
}

func TestAReceiverThatIsGoneResetsTheSender(t *testing.T) {
	connection := through(t, way{delay: 2 * time.Millisecond}, func(connection *net.TCPConn) {
		_, _ = io.ReadFull(connection, make([]byte, 1))
		_ = connection.CloseRead()
		_ = connection.SetLinger(0)
		_ = connection.Close()
	})()
	deadline := time.Now().Add(patience)
	for {
		if _, err := connection.Write(make([]byte, 1<<16)); err != nil {
			if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
				return
			}
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("it can go on sending")
		}
	}
}

func TestATargetThatIsNotThereResetsTheClient(t *testing.T) {
	gone := listen(t)
	address := gone.Addr().String()
	gone.Close()
	connection := dialer(t, way{delay: time.Millisecond}, address)()
	if _, err := connection.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
}

func TestARateIsNotExceeded(t *testing.T) {
	connection := through(t, way{rate: 10 << 20}, echo)()
	sent := random(5 << 20)
	began := time.Now()
	go func() {
		_, _ = connection.Write(sent)
		_ = connection.CloseWrite()
	}()
	got, err := io.ReadAll(connection)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("5 MiB took %v at 10 MiB/s", took)
	}
}

func TestNoMoreIsHeldThanThereIsRoomFor(t *testing.T) {
	q := newQueue(100)
	for range 2 {
		copy(q.space(), make([]byte, 50))
		q.add(50, 0)
	}
	got := make(chan []byte)
	go func() { got <- q.space() }()
	select {
	case <-got:
		t.Fatal("a full queue has space")
	default:
	}
	data, _ := q.take(0)
	if len(data) != 100 {
		t.Fatalf("%d bytes are due", len(data))
	}
	q.free(len(data))
	select {
	case space := <-got:
		if len(space) == 0 {
			t.Error("there is no space although all is gone")
		}
	case <-time.After(patience):
		t.Fatal("nobody hears of the space")
	}
	q.abandon()
	if q.space() != nil {
		t.Error("there is space for what nobody takes")
	}
}
