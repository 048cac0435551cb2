package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Pauses before a registry that failed is asked again (spec/limits.md 3).
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// pause waits after so many failures in a row. It reports false if ctx ended.
func pause(ctx context.Context, failures int) bool {
	longest := min(firstPause<<min(failures-1, 10), lastPause)
	t := time.NewTimer(rand.N(longest)) //nolint:gosec // jitter
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Resolver is for targets SCHEME:SERVICE: it finds the instances of the service in s. What is left out of what stands
// there, that s answers again, and that instances are kept which it has no more, is logged to logger, by default
// slog.Default(). It may be used by any number of clients.
func Resolver(s Source, logger *slog.Logger) trunkcall.Resolver {
	if logger == nil {
		logger = slog.Default()
	}
	return &resolver{source: s, logger: logger}
}

type resolver struct {
	source Source
	logger *slog.Logger
}

func (r *resolver) Resolve(ctx context.Context, watch *trunkcall.Watch) error {
	service := watch.Target()
	if !isName(service, maxService) {
		return errService
	}
	w := newWatcher(service, watch, r.logger)
	defer w.stop()
	failures := 0
	for {
		told := w.tellings()
		err := r.tryToWatch(ctx, service, w)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = errors.New("the registry tells no more")
		}
		if w.tellings() > told {
			failures = 0
		}
		w.fail(err)
		failures++
		if !pause(ctx, failures) {
			return ctx.Err()
		}
	}
}

// tryToWatch is the source's Watch. A source that panics has failed.
func (r *resolver) tryToWatch(ctx context.Context, service string, w *Watcher) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("it panicked: %v", value)
		}
	}()
	return r.source.Watch(ctx, service, w)
}

// Watcher makes endpoints of what a Source tells of one service. Its methods are safe for concurrent use; what is told
// counts in the order of the calls.
type Watcher struct {
	watch  *trunkcall.Watch
	logger *slog.Logger

	mu     sync.Mutex
	view   *view
	began  time.Time
	told   int         // how often something was told
	timer  *time.Timer // when the view wants to be called
	reason string      // that the client was told last
	asked  string      // DNS, in which the service has another name; "": another registry
	ended  bool
}

func newWatcher(service string, watch *trunkcall.Watch, logger *slog.Logger) *Watcher {
	w := &Watcher{watch: watch, logger: logger, view: newView(service), began: time.Now()}
	w.view.hand = func(_ time.Duration, set []trunkcall.Endpoint) {
		if err := watch.Set(set); err != nil && !errors.Is(err, trunkcall.ErrClientClosed) {
			logger.Warn("endpoints of a registry refused", "service", service, "error", err)
		}
	}
	w.view.told = func(_ time.Duration, left []leftOut, more int) {
		for _, one := range left {
			where := one.From
			if where == "" {
				where = service + "/" + one.ID
			}
			logger.Warn("left out of a registry: it is no record", "where", where, "error", one.err)
		}
		if more > 0 {
			logger.Warn("left out of a registry: more are no records", "service", service, "entries", more)
		}
	}
	w.view.failing = func(_ time.Duration, err error) {
		w.reason = err.Error()
		watch.Fail(err)
	}
	w.view.answering = func(time.Duration) { logger.Info("a registry answers again", "service", service) }
	w.view.keeping = func(_ time.Duration, instances int) {
		logger.Warn("instances that a registry has no more are kept", "service", service, "instances", instances)
	}
	return w
}

// All tells all entries that there are, at first and whenever it is not known what has changed.
func (w *Watcher) All(entries []Entry) {
	w.tell(func(at time.Duration) { w.view.all(at, entries) })
}

// Change tells the entries that came or changed, and the ids of those that went.
func (w *Watcher) Change(came []Entry, went []string) {
	w.tell(func(at time.Duration) { w.view.change(at, came, went) })
}

// askFor says what DNS is asked for.
func (w *Watcher) askFor(question string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = question
}

// Failed has a value after an endpoint could not be reached. A Source that asks at intervals may then ask again.
func (w *Watcher) Failed() <-chan struct{} { return w.watch.Failed() }

func (w *Watcher) tell(what func(at time.Duration)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.told++
	what(time.Since(w.began))
	reason := w.view.reason()
	if reason != "" && w.asked != "" {
		reason += ": DNS was asked for " + w.asked
	}
	if reason != "" && reason != w.reason {
		w.reason = reason
		w.watch.Fail(errors.New(reason))
	}
	w.waitLocked()
}

func (w *Watcher) tellings() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told
}

func (w *Watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.view.fail(time.Since(w.began), fmt.Errorf("watching %s: %w", w.view.service, whyFailed(err)))
	}
}

// whyFailed is err as the reason why a registry fails. A status is told by its message, with its code unless that is
// UNAVAILABLE: the calls that fail for that reason have a status and a delivery of their own.
func whyFailed(err error) error {
	var failed trunkcall.StatusError
	if !errors.As(err, &failed) {
		return err
	}
	s := failed.Status()
	if s.Code == trunkcall.Unavailable {
		return errors.New(s.Message)
	}
	return fmt.Errorf("%s: %s", s.Code, s.Message)
}

// waitLocked has the view called when it wants to be.
func (w *Watcher) waitLocked() {
	at, ok := w.view.due()
	if !ok {
		return
	}
	wait := at - time.Since(w.began)
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.due)
	} else {
		w.timer.Reset(wait)
	}
}

func (w *Watcher) due() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	now := time.Since(w.began)
	if at, ok := w.view.due(); ok && at <= now {
		w.view.compute(now)
	}
	w.waitLocked()
}

func (w *Watcher) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
