package trunkcall

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestSetsAreAppliedAsTheVectorsSay(t *testing.T) {
	read := func(told []endpointVector) (out []Endpoint) {
		for _, e := range told {
			out = append(out, e.endpoint())
		}
		return out
	}
	for _, c := range loadClient(t).Sets {
		t.Run(c.ID, func(t *testing.T) {
			s := unresolved(t)
			if len(c.Before) > 0 {
				s.apply(s.client.resolving.choose(read(c.Before)))
			}
			before := map[string]*EndpointState{}
			was := map[string]Endpoint{}
			for _, e := range s.set {
				before[e.identity], was[e.identity] = e, e.Endpoint()
			}
			if err := checkSet(read(c.Set), nil); err != nil {
				t.Fatal(err)
			}
			s.apply(s.client.resolving.choose(read(c.Set)))
			var order, fresh, stay, exchanged, drained []string
			for _, e := range s.set {
				order = append(order, e.identity)
				switch now := e.Endpoint(); {
				case before[e.identity] != e:
					fresh = append(fresh, e.identity)
				default:
					stay = append(stay, e.identity)
					if old := was[e.identity]; now.Weight != old.Weight || now.Zone != old.Zone || len(now.Attributes) != len(old.Attributes) {
						exchanged = append(exchanged, e.identity)
					}
				}
			}
			for _, e := range c.Before {
				told := e.endpoint()
				if identity := told.identity(); before[identity].within.Err() != nil {
					drained = append(drained, identity)
				}
			}
			for what, is := range map[string][2][]string{
				"order": {order, c.Order}, "new": {fresh, c.New}, "stay": {stay, c.Stay}, "exchanged": {exchanged, c.Exchanged}, "drained": {drained, c.Drained},
			} {
				if !slices.Equal(is[0], is[1]) {
					t.Errorf("%s: %v, want %v", what, is[0], is[1])
				}
			}
			if got := len(c.Set) - len(order); got != c.Ignored {
				t.Errorf("%d ignored, want %d", got, c.Ignored)
			}
		})
	}
	for _, c := range loadClient(t).BadSets {
		if err := checkSet(read(c.Set), nil); err == nil {
			t.Errorf("%s is taken", c.ID)
		}
	}
}

// silent tells of nothing.
type silent struct{}

func (silent) Resolve(ctx context.Context, _ *Watch) error {
	<-ctx.Done()
	return ctx.Err()
}

// unresolved are the endpoints of a client that no resolver has told of.
func unresolved(t *testing.T) *endpoints {
	t.Helper()
	c, err := NewClient("none:", WithResolver("none", silent{}), WithMostEndpoints(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.endpoints
}

func policiesOf(told []policyVector) *clientOptions {
	c := &clientOptions{}
	for _, p := range told {
		one := Policy{Method: p.Method, WaitForReady: p.WaitForReady, Repeat: p.Repeat}
		if p.Timeout != nil {
			one.Timeout = time.Duration(*p.Timeout)
		}
		c.policies = append(c.policies, one)
	}
	return c
}

func TestPoliciesHoldAsTheVectorsSay(t *testing.T) {
	v := loadClient(t)
	for _, c := range v.Policies {
		options := policiesOf(c.Policies)
		calling := calling{policies: newPolicies(options), options: &options.common}
		if len(options.wrongs) > 0 {
			t.Errorf("%s: %v", c.ID, options.wrongs)
		}
		for _, call := range c.Calls {
			kind := KindUnary
			if call.Streaming {
				kind = KindBidiStream
			}
			m := NewMethod(call.Method, kind)
			var timeout time.Duration
			if call.Holds.Timeout != nil {
				timeout = time.Duration(*call.Holds.Timeout)
			}
			if got := calling.timeoutOf(m, &noOptions); got != timeout {
				t.Errorf("%s: timeout of %s is %v, want %v", c.ID, call.Method, got, timeout)
			}
			o := opening{method: m, options: &noOptions, route: &route{calling: &calling}}
			if got, want := o.waitsForReady(), call.Holds.WaitForReady != nil && *call.Holds.WaitForReady; got != want {
				t.Errorf("%s: %s waits: %v", c.ID, call.Method, got)
			}
			if got, want := calling.repeatsCalls(m), call.Holds.Repeat == nil || *call.Holds.Repeat; got != want {
				t.Errorf("%s: %s repeats: %v", c.ID, call.Method, got)
			}
		}
	}
	for _, c := range v.BadPolicies {
		options := policiesOf(c.Policies)
		newPolicies(options)
		if len(options.wrongs) == 0 {
			t.Errorf("%s is taken", c.ID)
		}
	}
}
