package trunkcall

import (
	"context"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// bounded is the context of a call that has a time of its own: context.WithTimeout makes five objects and a timer for each
// call. The connection ends the call at its deadline (unaryCall.await). Whoever else waits for the end of such a context is
// given one of package context, made then.
type bounded struct {
	context.Context       // within which it is
	deadline        int64 // as roles.Clock has it
	by              overrun
	shown           bool // somebody else may have it, so that it is not used again; changed by the call's goroutine only

	mu     sync.Mutex
	told   time.Time       // the deadline; zero: nobody asked
	others context.Context //nolint:containedctx // for those others, nil until there are any
	stop   context.CancelFunc
	err    error
}

// longestBound is longer than any process lives, and small enough to reckon with.
const longestBound = 1 << 61

// begin bounds ctx for a call of a method that begins now, and reports whether the call runs within it: else ctx itself ends
// sooner.
func (b *bounded) begin(ctx context.Context, method string, limit time.Duration, now int64) bool {
	if sooner, ok := ctx.Deadline(); ok && time.Until(sooner) < limit {
		return false
	}
	b.Context, b.by = ctx, overrun{method, limit}
	b.deadline = now + int64(min(limit, longestBound))
	return true
}

// end is to be called when the call is over. It reports whether nobody has it any more.
func (b *bounded) end() bool {
	if !b.shown {
		*b = bounded{}
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil && !b.over() { // else it ends by itself, now, and says why
		b.stop()
	}
	if b.err == nil {
		b.err = context.Canceled
	}
	return false
}

func (b *bounded) over() bool { return roles.Clock() >= b.deadline }

func (b *bounded) Deadline() (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.deadlineLocked(), true
}

func (b *bounded) deadlineLocked() time.Time {
	if b.told.IsZero() {
		b.told = time.Now().Add(time.Duration(b.deadline - roles.Clock()))
	}
	return b.told
}

func (b *bounded) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		if b.err = b.Context.Err(); b.err == nil && b.over() {
			b.err = context.DeadlineExceeded
		}
	}
	return b.err
}

func (b *bounded) Done() <-chan struct{} { return b.forOthers().Done() }

// Value makes that of package context known to it, for causes.
func (b *bounded) Value(key any) any {
	b.mu.Lock()
	others := b.others
	b.mu.Unlock()
	if others == nil {
		others = b.Context
	}
	return others.Value(key)
}

func (b *bounded) forOthers() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.others == nil {
		if !b.shown { // else others may be reading it
			b.shown = true
		}
		b.others, b.stop = context.WithDeadlineCause(b.Context, b.deadlineLocked(), &b.by)
		if b.err != nil {
			b.stop()
		}
	}
	return b.others
}

// bound is what bounds the call itself within ctx, nil if that is another context: of an attempt that is hedged, say.
func (o *callOptions) bound(ctx context.Context) *bounded {
	if b := o.within; b != nil && ctx == context.Context(b) {
		return b
	}
	return nil
}

// await waits until the call has ended, or gives it up when ctx ends. Where a time of its own bounds it, the connection
// gives it up by itself at its deadline, so that nothing more is to be waited for.
func (call *unaryCall) await(ctx context.Context, m *Method, o *callOptions) {
	within, b := ctx, o.bound(ctx)
	if b != nil {
		within = b.Context
	}
	if !call.Wait(within) {
		reason, ending := giveUp(ctx, m.Name)
		call.GiveUp(reason, ending)
	} else if e := &call.Ending; b != nil && e.Local && e.Code == DeadlineExceeded {
		e.Message = overdue(m.Name, &b.by)
	}
}
