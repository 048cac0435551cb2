package trunkcall

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// The vectors of clients, replayed as spec/vectors/README.md asks.

type clientVectors struct {
	Targets []struct {
		ID, Target, Scheme, Rest string
		Schemes                  []string
		Endpoints                []struct{ Address string }
	}
	BadTargets []struct {
		ID, Target, Names string
		Schemes           []string
	} `json:"bad_targets"`
	Sets []struct {
		ID                                   string
		Before, Set                          []endpointVector
		Order, New, Stay, Exchanged, Drained []string
		Ignored                              int
	}
	BadSets []struct {
		ID  string
		Set []endpointVector
	} `json:"bad_sets"`
	Policies []struct {
		ID       string
		Policies []policyVector
		Calls    []struct {
			Method    string
			Streaming bool
			Holds     policyVector
		}
	}
	BadPolicies []struct {
		ID       string
		Policies []policyVector
	} `json:"bad_policies"`
	Pauses []struct{ Failures, Longest int }
	Hashes []struct{ Text, Hash string }
	Scores []struct{ A, Text, Score string }
	Parts  []struct {
		ID, Client string
		Most       int
		Of, Chosen []string
	}
	Identities []struct {
		ID       string
		Endpoint endpointVector
		Identity string
	}
	Picks []struct {
		ID, Balancer, Counter string
		Endpoints             []seenVector
		Steps                 []pickVector
	}
	Latencies []struct {
		ID     string
		Events []endedVector
		Moving []*int64
	}
}

type endpointVector struct {
	ID         string
	Addresses  []string
	ServerName string `json:"server_name"`
	Weight     int
	Zone       string
	Attributes map[string]string
}

func (e *endpointVector) endpoint() Endpoint { return Endpoint(*e) }

type policyVector struct {
	Method       string
	Timeout      *int64
	WaitForReady *bool `json:"wait_for_ready"`
	Repeat       *bool
}

type seenVector struct {
	Identity, State string
	Weight          int
	Calls           *int64
	Latency         *int64
}

type pickVector struct {
	Random []string
	Key    string
	Avoid  string
	Change map[string]seenVector
	Pick   *string
}

type endedVector struct {
	At                   time.Duration
	Kind, Code, Delivery string
	Local                bool
	Duration             time.Duration
}

func loadClient(t testing.TB) *clientVectors {
	t.Helper()
	data, err := os.ReadFile("../spec/vectors/client.json")
	if err != nil {
		t.Fatal(err)
	}
	var v clientVectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return &v
}

func word(t testing.TB, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestIdentitiesHashesAndPartsAreThoseOfTheVectors(t *testing.T) {
	v := loadClient(t)
	for _, c := range v.Identities {
		e := c.Endpoint.endpoint()
		if got := e.identity(); got != c.Identity {
			t.Errorf("%s: %q, want %q", c.ID, got, c.Identity)
		}
	}
	for _, c := range v.Hashes {
		if got := hashText(c.Text); got != word(t, c.Hash) {
			t.Errorf("hash(%q) is %016x, want %s", c.Text, got, c.Hash)
		}
	}
	for _, c := range v.Scores {
		if got := score(word(t, c.A), hashText(c.Text)); got != word(t, c.Score) {
			t.Errorf("score(%s, %q) is %016x, want %s", c.A, c.Text, got, c.Score)
		}
	}
	for _, c := range v.Parts {
		var of []Endpoint
		for _, identity := range c.Of {
			of = append(of, Endpoint{Addresses: []string{identity}})
		}
		var got []string
		for _, e := range part(word(t, c.Client), c.Most, of) {
			got = append(got, e.identity())
		}
		if !slices.Equal(got, c.Chosen) {
			t.Errorf("%s: %v, want %v", c.ID, got, c.Chosen)
		}
	}
}

func TestBalancersPickAsTheVectorsSay(t *testing.T) {
	for _, c := range loadClient(t).Picks {
		t.Run(c.ID, func(t *testing.T) {
			var randoms []uint64
			balancer := balancerOf(t, c.Balancer, c.Counter, &randoms)
			var set []*EndpointState
			for _, told := range c.Endpoints {
				e := seen(Endpoint{ID: told.Identity, Weight: told.Weight})
				told.apply(e)
				set = append(set, e)
			}
			picker := balancer.Balance(slices.Clone(set))
			for i, step := range c.Steps {
				anew := false
				for identity, change := range step.Change {
					change.apply(find(set, identity))
					anew = anew || change.State != ""
				}
				if anew {
					picker = balancer.Balance(slices.Clone(set))
				}
				for _, r := range step.Random {
					randoms = append(randoms, word(t, r))
				}
				p := &Pick{Not: find(set, step.Avoid), Metadata: Metadata{{Key: "key", Value: step.Key}}}
				if got, want := picker.Pick(p), step.Pick; (got == nil) != (want == nil) || got != nil && got.identity != *want {
					t.Fatalf("step %d: %+v, want %v", i, got, *want)
				}
				if len(randoms) > 0 {
					t.Fatalf("step %d: %d random numbers are left", i, len(randoms))
				}
			}
		})
	}
}

// balancerOf is one of ours that takes its randomness from the case.
func balancerOf(t *testing.T, name, counter string, randoms *[]uint64) Balancer {
	t.Helper()
	random := func() uint64 {
		if len(*randoms) == 0 {
			t.Fatal("a random number too many")
		}
		next := (*randoms)[0]
		*randoms = (*randoms)[1:]
		return next
	}
	switch name {
	case "first":
		return First()
	case "round_robin":
		b := &roundRobin{}
		b.first.Store(word(t, counter))
		b.further.Store(word(t, counter))
		return b
	case "least_loaded":
		return &leastLoaded{random, func() time.Duration { return 0 }}
	default:
		return &hashing{func(p *Pick) string { return p.Metadata.Get("key") }, random}
	}
}

// seen is an endpoint of no client.
func seen(e Endpoint) *EndpointState { return newEndpointState(nil, e) }

func find(set []*EndpointState, identity string) *EndpointState {
	for _, e := range set {
		if e.identity == identity {
			return e
		}
	}
	return nil
}

func (v *seenVector) apply(e *EndpointState) {
	if v.State != "" {
		states := []State{StateIdle, StateConnecting, StateReady, StateFailing}
		e.state.Store(uint32(slices.IndexFunc(states, func(s State) bool { return s.String() == v.State })))
	}
	if v.Calls != nil {
		e.calls.Store(*v.Calls)
	}
	if v.Latency != nil {
		e.latency.last.Store(1)
		e.latency.mean.Store(math.Float64bits(float64(*v.Latency)))
	}
}

func TestMovingLatenciesAreThoseOfTheVectors(t *testing.T) {
	kinds := map[string]Kind{"unary": KindUnary, "one_way": KindOneWay, "server_streaming": KindServerStream, "bidi": KindBidiStream}
	codes := map[string]Code{}
	for code := OK; code <= Unauthenticated; code++ {
		codes[code.String()] = code
	}
	deliveries := map[string]Delivery{"not_sent": NotSent, "refused": Refused, "executed": Executed, "unknown": DeliveryUnknown}
	for _, c := range loadClient(t).Latencies {
		t.Run(c.ID, func(t *testing.T) {
			var m movingLatency
			for i, event := range c.Events {
				if event.Kind != "" {
					code, known := codes[event.Code]
					if !known {
						t.Fatal(event.Code)
					}
					o := Outcome{Status{Code: code, Delivery: deliveries[event.Delivery], Local: event.Local}, event.Duration}
					m.ended(kinds[event.Kind], &o, event.At)
				}
				mean, ok := m.at(event.At)
				if want := c.Moving[i]; ok != (want != nil) || ok && math.Abs(math.Floor(mean)-float64(*want)) > 1 {
					t.Fatalf("event %d: %v %v, want %v", i, mean, ok, want)
				}
			}
		})
	}
}

func TestPausesAreThoseOfTheVectors(t *testing.T) {
	for _, c := range loadClient(t).Pauses {
		if got := longestWait(c.Failures).Milliseconds(); got != int64(c.Longest) {
			t.Errorf("after %d failures at most %d ms, want %d", c.Failures, got, c.Longest)
		}
	}
}

func BenchmarkPicks(b *testing.B) {
	for name, balancer := range map[string]Balancer{
		"first": First(), "round_robin": RoundRobin(), "least_loaded": LeastLoaded(),
		"hash": Hash(func(*Pick) string { return "user-12345" }),
	} {
		b.Run(name, func(b *testing.B) {
			var set []*EndpointState
			for i := range 20 {
				e := seen(Endpoint{ID: strconv.Itoa(i), Weight: 1 + i%2})
				e.state.Store(uint32(StateReady))
				e.latency.add(float64(time.Millisecond), time.Since(began))
				set = append(set, e)
			}
			picker := balancer.Balance(set)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				p := &Pick{}
				for pb.Next() {
					if picker.Pick(p) == nil {
						panic("none")
					}
				}
			})
		})
	}
}

func TestPicksAllocateNothing(t *testing.T) {
	set := []*EndpointState{seen(Endpoint{ID: "a"}), seen(Endpoint{ID: "b", Weight: 2}), seen(Endpoint{ID: "c"})}
	for _, e := range set {
		e.state.Store(uint32(StateReady))
	}
	for _, b := range []Balancer{First(), RoundRobin(), LeastLoaded(), Hash(func(*Pick) string { return "key" })} {
		picker, p := b.Balance(set), &Pick{Not: set[1]}
		if n := testing.AllocsPerRun(1000, func() { picker.Pick(p) }); n > 0 {
			t.Errorf("%T allocates %v times a pick", b, n)
		}
	}
}
