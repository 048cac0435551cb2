package trunkcall

import "testing"

// An endpoint that is failing by now, though not when the picker was made: where any will do the call goes to one that
// is ready. Where a key or an order counts it waits for the next picker.
func TestAnotherEndpointIsChosenOnlyWhereAnyWillDo(t *testing.T) {
	for name, c := range map[string]struct {
		balancer Balancer
		other    bool
	}{
		"round_robin":  {RoundRobin(), true},
		"least_loaded": {LeastLoaded(), true},
		"first":        {First(), false},
		"hash":         {Hash(func(*Pick) string { return "key" }), false},
	} {
		client, err := NewClient("mem:a,mem:b,mem:c", WithBalancer(c.balancer))
		if err != nil {
			t.Fatal(err)
		}
		s := client.endpoints
		for _, e := range s.set {
			e.state.Store(uint32(StateReady))
		}
		now := &snapshot{endpoints: s.set, picker: c.balancer.Balance(s.set), anySlot: s.anySlot}
		s.mu.Lock()
		s.takeLocked(now)
		s.mu.Unlock()
		o := opening{method: &Method{}, options: &noOptions, route: &route{calling: client.calling}}
		picked, err := o.choose(now)
		if err != nil || picked == nil {
			t.Fatal(name, picked, err)
		}
		picked.state.Store(uint32(StateFailing))
		for range 100 {
			e, err := o.choose(now)
			if err != nil {
				t.Fatal(name, err)
			}
			switch {
			case c.other && e.State() != StateReady:
				t.Fatalf("%s: %s was chosen, which is failing", name, e.identity)
			case !c.other && e != picked:
				t.Fatalf("%s: %s was chosen in the place of %s", name, e.identity, picked.identity)
			}
		}
		client.Close()
	}
}
