package trunkcall

import (
	"context"
	"sync"
	"time"
)

// bounded is the context of a call that has a time of its own: context.WithTimeout makes five objects for each call. A call
// waits for its timer itself (unaryCall.await). Whoever else waits for the end of such a context is given one of package
// context, made then.
type bounded struct {
	context.Context // within which it is
	deadline        time.Time
	by              overrun

	mu     sync.Mutex
	others context.Context //nolint:containedctx // for those others, nil until there are any
	stop   context.CancelFunc
	err    error
}

// begin bounds ctx for a call of a method, and returns what the call runs within: ctx itself if that ends sooner.
func (b *bounded) begin(ctx context.Context, method string, limit time.Duration) context.Context {
	deadline := time.Now().Add(limit)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(deadline) {
		return ctx
	}
	b.Context, b.deadline, b.by = ctx, deadline, overrun{method, limit}
	return b
}

// end is to be called when the call is over.
func (b *bounded) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil && time.Now().Before(b.deadline) { // else it ends by itself, now, and says why
		b.stop()
	}
	if b.err == nil {
		b.err = context.Canceled
	}
}

func (b *bounded) Deadline() (time.Time, bool) { return b.deadline, true }

func (b *bounded) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		if b.err = b.Context.Err(); b.err == nil && !time.Now().Before(b.deadline) {
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
		b.others, b.stop = context.WithDeadlineCause(b.Context, b.deadline, &b.by)
		if b.err != nil {
			b.stop()
		}
	}
	return b.others
}

// await waits until the call has ended, and reports false if ctx has ended first.
func (call *unaryCall) await(ctx context.Context) bool {
	b, ok := ctx.(*bounded)
	if !ok {
		return call.Wait(ctx)
	}
	if call.timer == nil {
		call.timer = time.NewTimer(time.Until(b.deadline))
	} else {
		call.timer.Reset(time.Until(b.deadline))
	}
	defer call.timer.Stop()
	return call.WaitUntil(b, b.Context, call.timer.C)
}
