package transport

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Races of addresses, by spec/vectors/client.json.

type raceVectors struct {
	Targets []struct {
		ID        string
		Endpoints []struct {
			Address, Network, Place string
			ServerName              string `json:"server_name"`
		}
	}
	Races []struct {
		ID        string
		Addresses []string
		Answers   map[string][]string
		Order     []string
	}
	Runs []runVector
}

type runVector struct {
	ID    string
	Tries []struct {
		Address  string
		Attempts []struct {
			How   string
			After time.Duration
		}
	}
	Began []begun
	Wins  *string
	At    time.Duration
}

type begun struct {
	Address string
	At      time.Duration
}

func loadRaces(t *testing.T) (v raceVectors) {
	t.Helper()
	data, err := os.ReadFile("../../../spec/vectors/client.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAddressesAreReadAsTheVectorsSay(t *testing.T) {
	for _, c := range loadRaces(t).Targets {
		for _, e := range c.Endpoints {
			a, err := parseAddress(e.Address)
			if err != nil {
				t.Errorf("%s: %v", c.ID, err)
				continue
			}
			network, place := a.network, a.where
			if u := a.webSocket; u != nil {
				network, place = u.Scheme, a.where+u.Path
			}
			if network != e.Network || place != e.Place || a.serverName != e.ServerName {
				t.Errorf("%s: %s %s %s, want %+v", c.ID, network, place, a.serverName, e)
			}
		}
	}
}

func TestAddressesAreTriedInTheOrderOfTheVectors(t *testing.T) {
	for _, c := range loadRaces(t).Races {
		target := Target{Addresses: c.Addresses, Lookup: func(_ context.Context, host string) ([]string, error) {
			if len(c.Answers[host]) == 0 {
				return nil, errors.New("no such host")
			}
			return c.Answers[host], nil
		}}
		found, _ := target.resolve(t.Context())
		var got []string
		for _, a := range found {
			got = append(got, a.asked())
		}
		if !slices.Equal(got, c.Order) {
			t.Errorf("%s: %v, want %v", c.ID, got, c.Order)
		}
	}
}

func TestAddressesAreRacedAsTheVectorsSay(t *testing.T) {
	for _, c := range loadRaces(t).Runs {
		t.Run(c.ID, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { c.replay(t) }) })
	}
}

// replay races on the clock of a bubble.
func (c *runVector) replay(t *testing.T) {
	start := time.Now()
	var mu sync.Mutex
	var began []begun
	open := func(ctx context.Context, address string) (net.Conn, error) {
		mu.Lock()
		times := 0
		for _, b := range began {
			if b.Address == address {
				times++
			}
		}
		began = append(began, begun{address, time.Since(start) / time.Millisecond})
		mu.Unlock()
		for _, try := range c.Tries {
			if try.Address != address {
				continue
			}
			what := try.Attempts[times]
			select {
			case <-time.After(what.After * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			switch what.How {
			case "greets":
				ours, theirs := net.Pipe()
				t.Cleanup(func() { _ = ours.Close(); _ = theirs.Close() })
				return &named{ours, address}, nil
			case "refuses":
				return nil, syscall.ECONNREFUSED
			}
		}
		return nil, errors.New("out of order")
	}
	target := Target{Open: open}
	for _, try := range c.Tries {
		target.Addresses = append(target.Addresses, try.Address)
	}
	var winner atomic.Pointer[string]
	err := Dial(t.Context(), &target, func(_ context.Context, socket net.Conn, _ bool) error {
		address := socket.(*named).address
		if !winner.CompareAndSwap(nil, &address) {
			_ = socket.Close()
			return errors.New("too late")
		}
		return nil
	})
	at := time.Since(start) / time.Millisecond
	synctest.Wait() // dialers that were left may still come to know it
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(began, c.Began) {
		t.Errorf("began %v, want %v", began, c.Began)
	}
	got := winner.Load()
	if (got == nil) != (c.Wins == nil) || got != nil && *got != *c.Wins || (err == nil) != (got != nil) || at != c.At {
		t.Errorf("%v wins after %v ms with %v, want %v after %v", got, int64(at), err, c.Wins, int64(c.At))
	}
	if err != nil {
		for _, try := range c.Tries {
			if !strings.Contains(err.Error(), try.Address) {
				t.Errorf("%v does not name %s", err, try.Address)
			}
		}
	}
}

type named struct {
	net.Conn
	address string
}

func TestADialerThatHangsIsLeftAndWhatItOpensLaterIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		target := Target{Addresses: []string{"a:1"}, Open: func(context.Context, string) (net.Conn, error) {
			time.Sleep(time.Minute)
			return ours, nil
		}}
		start := time.Now()
		err := Dial(t.Context(), &target, func(context.Context, net.Conn, bool) error { panic("joined") })
		if took := time.Since(start); err == nil || took != DialTimeout || !strings.Contains(err.Error(), "in time") {
			t.Fatal(took, err)
		}
		if _, err := theirs.Read(make([]byte, 1)); err == nil || time.Since(start) != time.Minute {
			t.Fatal(time.Since(start), err)
		}
	})
}

func TestADialerThatPanicsOrOpensNothingIsAFailedAttempt(t *testing.T) {
	for text, open := range map[string]func(context.Context, string) (net.Conn, error){
		"oh no":          func(context.Context, string) (net.Conn, error) { panic("oh no") },
		"opened nothing": func(context.Context, string) (net.Conn, error) { return nil, nil },
	} {
		target := Target{Addresses: []string{"a:1"}, Open: open}
		err := Dial(soon(t), &target, func(context.Context, net.Conn, bool) error { panic("joined") })
		if err == nil || !strings.Contains(err.Error(), "a:1: ") || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}
