package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// noting is a registrar that notes what it is called for.
type noting struct {
	publish   func(s *trunkcall.Server) error
	withdraw  func(ctx context.Context) error
	published [][]net.Addr
	withdrawn int
}

func (n *noting) Publish(s *trunkcall.Server) error {
	n.published = append(n.published, s.Addrs())
	if n.publish != nil {
		return n.publish(s)
	}
	return nil
}

func (n *noting) Withdraw(ctx context.Context) error {
	n.withdrawn++
	if n.withdraw != nil {
		return n.withdraw(ctx)
	}
	return nil
}

func registered(t *testing.T, n *noting, options ...trunkcall.ServerOption) *trunkcall.Server {
	t.Helper()
	s, err := trunkcall.NewServer(append(options, trunkcall.WithRegistrar(n))...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRegistrarPublishesWithEachListener(t *testing.T) {
	n := &noting{}
	s := registered(t, n)
	defer s.Close()
	for _, where := range []string{"mem:registrar-1", "mem:registrar-2"} {
		if _, err := s.Listen(where); err != nil {
			t.Fatal(err)
		}
	}
	if len(n.published) != 2 || len(n.published[0]) != 1 || len(n.published[1]) != 2 {
		t.Error(n.published)
	}
}

func TestRegistrarPublishesServicesThatComeLater(t *testing.T) {
	n := &noting{}
	s := registered(t, n)
	later := func() trunkcall.Handler {
		return trunkcall.Handler{Method: trunkcall.Method{Name: fmt.Sprintf("/later.S%d/M", len(s.Services()))}, Unary: func(context.Context, *trunkcall.ServerCall) (any, error) { return nil, nil }}
	}
	register := func() {
		t.Helper()
		if err := s.Register(later()); err != nil {
			t.Fatal(err)
		}
	}
	register()
	if len(n.published) != 0 {
		t.Error("published before it listens")
	}
	if _, err := s.Listen("mem:registrar-later"); err != nil {
		t.Fatal(err)
	}
	n.publish = func(s *trunkcall.Server) error {
		if len(s.Services()) != len(n.published) {
			t.Errorf("published for the %dth time with %v", len(n.published), s.Services())
		}
		return errors.New("which is logged")
	}
	register()
	if len(n.published) != 2 || len(s.Addrs()) != 1 {
		t.Errorf("published %d times, listens on %v", len(n.published), s.Addrs())
	}
	s.Close()
	register()
	if len(n.published) != 2 {
		t.Error("published once it was closed")
	}
}

func TestListenFailsWithItsRegistrar(t *testing.T) {
	n := &noting{publish: func(*trunkcall.Server) error { return errors.New("no such place") }}
	s := registered(t, n)
	if _, err := s.Listen("127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "no such place") {
		t.Error(err)
	}
	if len(s.Addrs()) != 0 {
		t.Error("it listens on", s.Addrs())
	}
	if c, err := net.Dial("tcp", n.published[0][0].String()); err == nil {
		c.Close()
		t.Error("the address is still listened on")
	}
	s.Close()
}

func TestServerWithdrawsBeforeItDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *trunkcall.Server
		n := &noting{withdraw: func(context.Context) error {
			time.Sleep(2 * time.Second)
			select {
			case <-s.Leaving():
			default:
				t.Error("health would not fail yet")
			}
			select {
			case <-s.Stopping():
				t.Error("it drains already")
			default:
			}
			return nil
		}}
		s = registered(t, n, trunkcall.WithDrainDelay(3*time.Second))
		if _, err := s.Listen("mem:withdraws"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 5*time.Second || n.withdrawn != 1 {
			t.Errorf("stopped after %v, withdrawn %d times", took, n.withdrawn)
		}
	})
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRegistrarThatHangsIsNotWaitedForLong(t *testing.T) {
	for what, end := range map[string]struct {
		f    func(*trunkcall.Server) error
		took time.Duration
	}{
		"stop":  {func(s *trunkcall.Server) error { return s.Stop(context.Background()) }, 5 * time.Second},
		"close": {func(s *trunkcall.Server) error { s.Close(); return nil }, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := registered(t, &noting{withdraw: hang})
			if _, err := s.Listen("mem:hangs"); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := end.f(s); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != end.took {
				t.Errorf("%s took %v, want %v", what, took, end.took)
			}
		})
	}
}

func TestRegistrarThatPanicsHarmsNobody(t *testing.T) {
	s := registered(t, &noting{withdraw: func(context.Context) error { panic("no") }})
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNilRegistrarIsRefused(t *testing.T) {
	if _, err := trunkcall.NewServer(trunkcall.WithRegistrar(nil)); err == nil || !strings.Contains(err.Error(), "the registrar is nil") {
		t.Error(err)
	}
}
