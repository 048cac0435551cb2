package conformance

import (
	"context"
	"errors"
	"sync"

	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
	"google.golang.org/protobuf/proto"
)

// ledger is what became of handlers, by the ids of their plans.
type ledger struct {
	mu      sync.Mutex
	entries map[string]*observed
	changed chan struct{} // closed when an entry changes
}

// start notes that a handler has started; what it returns is called at its end.
func (l *ledger) start(ctx context.Context, id string, seen *sight) (end func()) {
	if id == "" {
		return func() {}
	}
	l.change(id, func(o *observed) { o.Started++ })
	return func() {
		told := seen.tell()
		l.change(id, func(o *observed) {
			o.Ended++
			o.End, o.Seen = endOf(ctx), told
		})
	}
}

// endOf is what a handler was told of the end of its call.
func endOf(ctx context.Context) conformancev1.End {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return conformancev1.End_DEADLINE
	case ctx.Err() != nil:
		return conformancev1.End_CANCELLED
	}
	return conformancev1.End_BY_ITSELF
}

func (l *ledger) change(id string, change func(*observed)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries == nil {
		l.entries = map[string]*observed{}
	}
	if l.entries[id] == nil {
		l.entries[id] = &observed{}
	}
	change(l.entries[id])
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// observe waits for what until says.
func (l *ledger) observe(ctx context.Context, id string, until conformancev1.Until) (*observed, error) {
	for {
		found, changed := l.look(id)
		switch {
		case until == conformancev1.Until_NOW,
			until == conformancev1.Until_STARTED && found.GetStarted() > 0,
			until == conformancev1.Until_ENDED && found.GetEnded() > 0:
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// look returns a copy of an entry, and a channel that is closed with the next
// change of any.
func (l *ledger) look(id string) (*observed, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	found, ok := proto.Clone(l.entries[id]).(*observed)
	if !ok || found == nil {
		found = &observed{}
	}
	return found, l.changed
}
