package trunkcall

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
)

// Policy is what holds for the calls of one method, of a service, or of all. For each field, the
// most specific policy that sets it counts. An option of the call wins over all policies.
type Policy struct {
	// Method is "/package.Service/Method", "/package.Service/" for all methods of the
	// service, or empty for all.
	Method string
	// Timeout, above 0, is how long a call may take, all attempts and interceptors included; the
	// deadline of its context holds if it is earlier. It holds for unary and one-way calls, and
	// for streams only if Method names theirs in full.
	Timeout time.Duration
	// WaitForReady is whether calls wait until an endpoint is ready, or fail when none can be
	// reached. nil sets nothing; so it is for Repeat.
	WaitForReady *bool
	// Repeat is whether the client by itself makes calls again that provably did not run; see
	// WithoutRepeating.
	Repeat *bool
}

// WithPolicy adds policies. Without any, calls have no timeout but their context's, fail fast and
// are repeated as WithoutRepeating says. Two for one method fail NewClient and Dial.
func WithPolicy(policies ...Policy) ClientOption {
	return clientOption(func(c *clientOptions) { c.policies = append(c.policies, policies...) })
}

// WithTimeout is how long a unary or one-way call may take, like a Policy for all methods. By
// default only its context bounds it. It does not hold for streams, and for calls of grpcstub only
// if an option there asks for it. It is above 0: else NewClient and Dial fail. A call that takes
// longer ends DEADLINE_EXCEEDED.
func WithTimeout(d time.Duration) ClientOption {
	return clientOption(func(c *clientOptions) {
		if c.timeout = d; d <= 0 {
			c.wrong("the timeout is %v, want above 0", d)
		}
	})
}

// CallTimeout is how long the call may take. It replaces what a policy or WithTimeout says; 0: only
// the context bounds it.
func CallTimeout(d time.Duration) CallOption {
	return callOption(func(o *callOptions) { o.timeout, o.timed = d, true })
}

// WithoutDefaultTimeout has the call go without the timeout of WithTimeout; policies hold.
func WithoutDefaultTimeout() CallOption {
	return callOption(func(o *callOptions) { o.byStub = true })
}

// FailFast has the call fail when no endpoint can be reached, whatever a policy says.
func FailFast() CallOption {
	return callOption(func(o *callOptions) { o.waitForReady, o.failFast = false, true })
}

// policies is what a client's policies say for each method. For methods that were called, that is
// kept by the index of the name.
type policies struct {
	given   map[string]*Policy
	timeout time.Duration // of WithTimeout
	once    bool          // by WithoutRepeating
	file    *policyFile   // in place of all these, nil: none
	found   atomic.Pointer[[]*found]
}

// found is what holds for a method.
type found struct {
	timeout time.Duration // by policies, of a unary or one-way call
	stream  time.Duration // of a streaming one
	waits   bool
	repeats bool
}

// newPolicies looks the policies of a client over; nil if there are none.
func newPolicies(c *clientOptions) *policies {
	if c.policyPath != "" {
		if len(c.policies) > 0 || c.timeout > 0 || c.once {
			c.wrong("policies are given as a file and as options, which contradict each other: WithPolicy, WithTimeout, WithoutRepeating")
		}
		return &policies{file: c.openPolicies(lacking(func(p *policy.Policy) []string { return unplaceable(c.balancer, p) }))}
	}
	if len(c.policies) == 0 && c.timeout == 0 {
		return nil
	}
	p := &policies{given: map[string]*Policy{}, timeout: max(c.timeout, 0), once: c.once}
	for i := range c.policies {
		one := &c.policies[i]
		name := one.Method
		whole := name
		if strings.HasSuffix(name, "/") {
			whole += "Method"
		}
		switch {
		case name != "" && (name[0] != '/' || nameFault(whole) != nil):
			c.wrong("a policy is for %q: want /package.Service/Method, /package.Service/ or nothing", name)
		case p.given[name] != nil:
			c.wrong("there are two policies for %q", name)
		case one.Timeout < 0:
			c.wrong("the timeout of the policy for %q is %v, want above 0", name, one.Timeout)
		case one.Timeout == 0 && one.WaitForReady == nil && one.Repeat == nil:
			c.wrong("the policy for %q says nothing", name)
		case name == "" && one.Timeout > 0 && c.timeout > 0:
			c.wrong("there are two timeouts for all methods, %v of WithTimeout and %v of a policy", c.timeout, one.Timeout)
		}
		p.given[name] = one
	}
	p.found.Store(&[]*found{})
	return p
}

// of returns what holds for a method.
func (p *policies) of(m *Method) *found {
	known, index := p.found.Load(), m.wire().Index
	if index >= 0 && index < len(*known) && (*known)[index] != nil {
		return (*known)[index]
	}
	f := &found{repeats: !p.once}
	service := m.Name[:strings.LastIndexByte(m.Name, '/')+1]
	for _, name := range []string{"", service, m.Name} {
		one := p.given[name]
		if one == nil {
			continue
		}
		if one.Timeout > 0 {
			f.timeout = one.Timeout
		}
		if one.WaitForReady != nil {
			f.waits = *one.WaitForReady
		}
		if one.Repeat != nil {
			f.repeats = *one.Repeat
		}
		if name == m.Name {
			f.stream = one.Timeout
		}
	}
	if index >= 0 {
		grown := make([]*found, max(len(*known), index+1))
		copy(grown, *known)
		grown[index] = f
		p.found.CompareAndSwap(known, &grown) // else it is kept the next time
	}
	return f
}

// overrun is the cause of a context that ended because a call had its time.
type overrun struct {
	method string
	had    time.Duration
}

func (o *overrun) Error() string { return "the timeout of " + o.had.String() + " passed" }

func (o *overrun) Unwrap() error { return context.DeadlineExceeded }

// timeoutOf is how long a call may take besides what its context says; 0 or less if nothing says it.
func (c *calling) timeoutOf(m *Method, o *callOptions) time.Duration {
	p := c.policies
	switch {
	case o.timed:
		return o.timeout
	case p == nil:
		return 0
	}
	streams := m.Kind != KindUnary && m.Kind != KindOneWay
	if r := o.rules; r != nil {
		if streams {
			return r.StreamTimeout
		}
		return r.Timeout
	}
	f := p.of(m)
	switch {
	case streams:
		return f.stream
	case f.timeout == 0 && !o.byStub:
		return p.timeout
	}
	return f.timeout
}

// within applies the bound on how long a call may take that began then, which was now if the time is zero. If there is
// one, cancel is to be called when the call is over; else cancel is nil.
func (c *calling) within(ctx context.Context, m *Method, o *callOptions, began time.Time) (bounded context.Context, cancel context.CancelFunc) {
	limit := c.timeoutOf(m, o)
	if limit <= 0 {
		return ctx, nil
	}
	cause := &overrun{m.Name, limit}
	if began.IsZero() {
		return context.WithTimeoutCause(ctx, limit, cause)
	}
	return context.WithDeadlineCause(ctx, began.Add(limit), cause)
}

// repeatsCalls reports whether calls of a method may be made again.
func (c *calling) repeatsCalls(m *Method) bool {
	switch {
	case c.policies == nil:
		return !c.options.once
	case c.policies.file != nil:
		return true // what a policy file says was looked at before
	}
	return c.policies.of(m).repeats
}

// governed is what holds for a call by the policy file of the client, nil without one.
func (c *calling) governed(m *Method) *methodRules {
	if c.policies == nil || c.policies.file == nil {
		return nil
	}
	return c.policies.file.current.Load().of(m)
}

// underRules are the options of a call, with what holds for it by the policy file: one exchange of the
// file does not give a call some of the old and some of the new.
func (c *calling) underRules(m *Method, o *callOptions) *callOptions {
	rules := c.governed(m)
	if rules == nil {
		return o
	}
	own := *o
	own.rules = rules
	return &own
}

// waitsForReady reports whether the call waits until an endpoint is ready.
func (o *opening) waitsForReady() bool {
	if o.options.waitForReady || o.options.failFast || o.route.policies == nil {
		return o.options.waitForReady
	}
	if r := o.options.rules; r != nil {
		return r.WaitForReady != nil && *r.WaitForReady
	}
	return o.route.policies.of(o.method).waits
}
