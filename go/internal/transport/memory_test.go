package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

func TestMemoryCarriesBytesBothWaysInOrder(t *testing.T) {
	a, b := MemoryPair("x")
	data := make([]byte, 3*memoryCapacity+17)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = way[0].Write(data)
			_ = way[0].(*memoryConn).CloseWrite()
		}()
		if got, err := io.ReadAll(way[1]); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(data), err)
		}
	}
	if a.LocalAddr().String() != "mem:x" || a.RemoteAddr().Network() != "mem" {
		t.Fatal(a.LocalAddr(), a.RemoteAddr())
	}
}

func TestMemoryCloseLeavesWhatWasWritten(t *testing.T) {
	a, b := MemoryPair("x")
	_, _ = a.Write([]byte("last words"))
	_ = a.Close()
	if got, err := io.ReadAll(b); string(got) != "last words" || err != nil {
		t.Fatal(string(got), err)
	}
	if _, err := b.Write([]byte("x")); err == nil {
		t.Fatal("written to a closed end")
	}
	if _, err := a.Read(make([]byte, 1)); err == nil {
		t.Fatal("read from a closed end")
	}
}

func TestMemoryDeadlinesWakeWhoWaits(t *testing.T) {
	a, _ := MemoryPair("x")
	waits := make(chan error, 2)
	go func() {
		_, err := a.Read(make([]byte, 1))
		waits <- err
	}()
	go func() {
		_, err := a.Write(make([]byte, 2*memoryCapacity))
		waits <- err
	}()
	_ = a.SetDeadline(time.Now().Add(5 * time.Millisecond))
	for range 2 {
		if err := receive(t, waits, "end of waiting"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
	_ = a.SetDeadline(time.Time{})
	go func() {
		_, err := a.Read(make([]byte, 1))
		waits <- err
	}()
	_ = a.Close()
	if err := receive(t, waits, "end of waiting"); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestMemoryNamesAreFreeAgainAfterClose(t *testing.T) {
	for range 2 {
		l, err := ListenMemory("name")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ListenMemory("name"); err == nil {
			t.Fatal("a name was given twice")
		}
		hangUp := func(_ context.Context, socket net.Conn, _ bool) error { return socket.Close() }
		if err := Dial(soon(t), &Target{Addresses: []string{"mem:nobody"}}, hangUp); err == nil {
			t.Fatal("connected to nobody")
		}
		dialled := make(chan error, 1)
		go func() {
			dialled <- Dial(soon(t), &Target{Addresses: []string{"mem:name"}}, hangUp)
		}()
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		if err := receive(t, dialled, "connection"); err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		_ = l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
	}
}

func TestBuffersKeepTheirSizes(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 10, 1<<10 + 1, 64 << 10, 64<<10 + 1, 1 << 20, 5 << 20} {
		b := GetBuffer(n)
		if len(b.B) != 0 || cap(b.B) < n {
			t.Fatalf("%d: length %d, room for %d", n, len(b.B), cap(b.B))
		}
		b.B = append(b.B, make([]byte, n)...)
		b.Free()
	}
}
