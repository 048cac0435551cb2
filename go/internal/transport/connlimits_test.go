package transport

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// whenAll waits until so many connections are counted.
func (l *ConnLimits) whenAll(t *testing.T, want int) {
	t.Helper()
	eventually(t, "the connections are counted", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.all == want
	})
}

// Who is turned away while a listener closes or drains has the time that it has, and no more of
// the listener's.
func TestListenerDoesNotWaitForThoseItTurnsAway(t *testing.T) {
	for name, stop := range map[string]func(l *Listener){"Close": (*Listener).Close, "Drain": (*Listener).Drain} {
		t.Run(name, func(t *testing.T) {
			before := tellTime
			tellTime = 10 * long
			defer func() { tellTime = before }()
			var l *Listener
			where, native, refused := listening(t, func(made *Listener) {
				l = made
				l.Limits = &ConnLimits{Most: 1}
			})
			if _, err := connect(t, where).Write(wire.Magic[:]); err != nil {
				t.Fatal(err)
			}
			defer receive(t, native, "connection").socket.Close()
			silent := connect(t, where)
			if err := receive(t, refused, "report"); !strings.Contains(err.Error(), "limit of 1") {
				t.Fatal(err)
			}
			stopped := make(chan struct{})
			go func() { stop(l); close(stopped) }()
			readToEnd(t, silent)
			receive(t, stopped, "end of "+name)
		})
	}
}

// A connection counts from when it is accepted, before it is known whose a proxy says that it is.
func TestProxiedConnectionsCountBeforeTheySayWhoseTheyAre(t *testing.T) {
	limits := &ConnLimits{Most: 2, MostPerAddress: 1}
	where, native, refused := listening(t, func(l *Listener) { l.Limits, l.Proxied = limits, true })
	begins := func(address string) net.Conn {
		s := connect(t, where)
		if _, err := io.WriteString(s, "PROXY TCP4 "+address+" 127.0.0.1 1000 2000\r\n"+string(wire.Magic[:])); err != nil {
			t.Fatal(err)
		}
		return s
	}
	turnedAway := func(s net.Conn, why string) {
		t.Helper()
		if err := receive(t, refused, "report"); !strings.Contains(err.Error(), why) {
			t.Fatal(err)
		}
		if said := readToEnd(t, s); !strings.Contains(said, why) {
			t.Fatalf("it was told %q", said)
		}
	}
	silent := connect(t, where)
	limits.whenAll(t, 1)
	begins("192.0.2.1")
	first := receive(t, native, "connection").socket
	limits.whenAll(t, 2)
	s := begins("192.0.2.2")
	_ = s.(*net.TCPConn).CloseWrite()
	turnedAway(s, "limit of 2")
	_ = silent.Close()
	receive(t, refused, "report of the silent one")
	limits.whenAll(t, 1)

	s = begins("192.0.2.1")
	_ = s.(*net.TCPConn).CloseWrite()
	turnedAway(s, "from 192.0.2.1/32 have reached their limit of 1")
	limits.whenAll(t, 1)
	limits.Leave(first.RemoteAddr())
	_ = first.Close()
	begins("192.0.2.1")
	_ = receive(t, native, "connection").socket.Close()
	limits.whenAll(t, 1)
	if len(limits.byAddress) != 1 {
		t.Errorf("counted by address: %v", limits.byAddress)
	}
}
