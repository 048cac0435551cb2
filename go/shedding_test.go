package trunkcall_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// More calls than a server may run: what is beyond is turned away at once, and
// provably not run, while what runs is answered.
func TestCallsBeyondTheRunningHandlersAreShedAndNeverRun(t *testing.T) {
	g := newGate(t)
	const limit, offered = 4, 12
	s, target := serve(t, serverOptions{trunkcall.WithRunningHandlers(limit)}, append(standard(), g.handler())...)
	c := dial(t, target)
	ran, shed := make(chan error, limit), make(chan error, offered-limit)
	for range limit {
		go func() {
			_, err := block.Call(soon(t), c, text("runs"))
			ran <- err
		}()
		g.await(t)
	}
	for range offered - limit {
		go func() {
			_, err := block.Call(soon(t), c, text("shed"))
			shed <- err
		}()
	}
	for range offered - limit { // though all handlers stand still
		s := wants(t, receive(t, shed, "status"), trunkcall.ResourceExhausted, trunkcall.Refused)
		wantsText(t, s.Message, "running handlers", "4")
	}
	if n := s.Running(); n != limit || len(g.entered) != 0 {
		t.Fatalf("%d handlers run, %d more were started", n, len(g.entered))
	}
	g.open()
	for range limit {
		if err := receive(t, ran, "answer"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "handlers end", func() bool { return s.Running() == 0 })
	mustEcho(t, c, "room again")
}

// pauses collects what clients say about when they reconnect.
type pauses struct {
	slog.Handler
	said chan time.Duration
}

func (p pauses) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "connection lost" {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "pause" {
				p.said <- a.Value.Duration()
			}
			return true
		})
	}
	return nil
}

func (pauses) Enabled(context.Context, slog.Level) bool { return true }

// Clients that lose their connections together come back one by one.
func TestReconnectionsAreSpread(t *testing.T) {
	const clients = 500
	s, target := serve(t, nil, echo.Handler(serveEcho))
	said := pauses{said: make(chan time.Duration, 2*clients)}
	all := make([]*trunkcall.Client, clients)
	for i := range all {
		all[i] = dial(t, target, trunkcall.WithLogger(slog.New(said)))
		trunkcall.CountAsSteady(all[i])
	}
	s.Close()
	var sum time.Duration
	different := map[time.Duration]bool{}
	for range clients {
		pause := receive(t, said.said, "pause")
		if pause < 0 || pause >= 100*time.Millisecond {
			t.Fatalf("a pause of %v", pause)
		}
		sum += pause
		different[pause] = true
	}
	if mean := sum / clients; mean < 40*time.Millisecond || mean > 60*time.Millisecond || len(different) < clients*9/10 {
		t.Fatalf("%d different pauses, %v on average", len(different), mean)
	}
	start(t, target, nil, echo.Handler(serveEcho))
	for _, c := range all[:20] {
		if _, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady()); err != nil {
			t.Fatal(err)
		}
	}
}
