package load

import (
	"slices"
	"strings"
	"testing"
)

// spread runs three callers, one after the other, for four calls each and
// returns the connections of each client and the clients that were called.
func spread(t *testing.T, single bool, flags ...string) (connections, called []int) {
	t.Helper()
	o := parse(t, append(flags, "--target", "a:1")...)
	if err := o.Check("clients", "rotate"); err != nil {
		t.Fatal(err)
	}
	factory, err := Spread(o, single, func(count int) (int, error) {
		connections = append(connections, count)
		return len(connections), nil
	}, func(next func() int) (Call, error) {
		return func() error { called = append(called, next()); return nil }, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for number := range 3 {
		call, err := factory(number)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			_ = call()
		}
	}
	return connections, called
}

func TestCallersAreSpreadOverClients(t *testing.T) {
	for _, c := range []struct {
		flags               string
		single              bool
		connections, called []int
	}{
		{"", false, []int{1}, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{"--connections=3", false, []int{3}, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{"--connections=2", true, []int{1, 1}, []int{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1}},
		{"--clients=2", false, []int{1, 1}, []int{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1}},
		{"--clients=3 --rotate", false, []int{1, 1, 1}, []int{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}},
		{"--clients=3 --rotate", true, []int{1, 1, 1}, []int{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}},
	} {
		connections, called := spread(t, c.single, strings.Fields(c.flags)...)
		if !slices.Equal(connections, c.connections) || !slices.Equal(called, c.called) {
			t.Errorf("%q, single %v: clients of %v connections, called %v; want %v, %v",
				c.flags, c.single, connections, called, c.connections, c.called)
		}
	}
}

func TestAClientThatCannotConnectFailsTheSpread(t *testing.T) {
	o := parse(t, "--target", "a:1", "--clients", "3")
	_, err := Spread(o, false, func(int) (int, error) { return 0, errBroken }, func(func() int) (Call, error) { return nil, nil })
	if err == nil || !strings.Contains(err.Error(), "client 0") {
		t.Errorf("got %v", err)
	}
}
