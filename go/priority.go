package trunkcall

import (
	"context"

	"github.com/trunkcall/trunkcall/go/internal/policy"
)

// Priority is how much a call matters: limits of a policy file leave more room to a higher one (policy.md 7).
type Priority uint8

// The priorities. The zero value is PriorityNormal.
const (
	PriorityNormal Priority = iota
	PriorityCritical
	PriorityHigh
	PriorityLow
)

// String is the name that policy files and metadata have for it.
func (p Priority) String() string { return p.core().String() }

func (p Priority) core() policy.Priority {
	switch p {
	case PriorityCritical:
		return policy.Critical
	case PriorityHigh:
		return policy.High
	case PriorityLow:
		return policy.Low
	}
	return policy.Normal
}

// priorityKey is the entry of the metadata that a priority travels in.
const priorityKey = "trunk-priority"

// CallPriority is the priority of the call. It replaces what a policy file says. Without either, a client with a policy
// file gives its call the priority of the call in whose handler it is made.
func CallPriority(p Priority) CallOption {
	return callOption(func(o *callOptions) { o.priority, o.prioritised = p, true })
}

// Priority is the priority of the call, as its caller said.
func (c *ServerCall) Priority() Priority {
	switch priorityIn(c.Metadata) {
	case policy.Critical:
		return PriorityCritical
	case policy.High:
		return PriorityHigh
	case policy.Low:
		return PriorityLow
	}
	return PriorityNormal
}

// priorityIn is the priority that the metadata of a request says.
func priorityIn(m Metadata) policy.Priority {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].Key == priorityKey {
			return policy.PriorityOf(m[i].Value)
		}
	}
	return policy.Normal
}

// priorityOf is the priority of a call that is made.
func priorityOf(ctx context.Context, o *callOptions) policy.Priority {
	switch {
	case o.prioritised:
		return o.priority.core()
	case o.rules == nil:
		return policy.Normal
	case o.rules.Priority != nil:
		return *o.rules.Priority
	}
	if within := CallFromContext(ctx); within != nil {
		return priorityIn(within.Metadata)
	}
	return policy.Normal
}

// withPriority has the metadata of a call say a priority: the last entry counts, and normal is what none says.
func withPriority(m Metadata, p policy.Priority) Metadata {
	if priorityIn(m) == p {
		return m
	}
	return append(m[:len(m):len(m)], Pair{Key: priorityKey, Value: p.String()})
}

// carriesPriority are the options of a call without a policy file whose priority an option says.
func (o *callOptions) carriesPriority(ctx context.Context) *callOptions {
	own := *o
	own.metadata, own.intercepted = withPriority(o.sent(ctx), o.priority.core()), true
	return &own
}

// sent is the metadata of a call.
func (o *callOptions) sent(ctx context.Context) Metadata {
	if o.intercepted {
		return o.metadata
	}
	return outgoing(ctx)
}
