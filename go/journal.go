package trunkcall

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// journal is the log of one Client or Server. A goroutine of its own writes the records, so that
// they may be made under locks and a slow log delays nothing. Of one message and level, at most
// journalRate are written within a second, so that a flood of calls is not a flood of records.
type journal struct {
	logger  *slog.Logger
	records sequence

	mu     sync.Mutex
	counts map[journalKind]*journalCount
}

// journalKind is which records are counted together: those that a logger leaves out
// for their level keep back no others.
type journalKind struct {
	level   slog.Level
	message string
}

type journalCount struct {
	second  int64 // which the counts are of
	written int
	leftOut int // since the last one that was written
}

// journalRate is how many records of one kind are written within a second.
const journalRate = 100

// log writes a record, or counts it in the field left_out of the next.
func (j *journal) log(level slog.Level, message string, args ...any) {
	if j.logger != nil {
		j.logTo(j.logger, level, message, args)
	}
}

// warn writes a record of what keeps calls waiting or has them go elsewhere, to slog's default where there is no logger.
func (j *journal) warn(message string, args ...any) {
	j.logTo(cmp.Or(j.logger, slog.Default()), slog.LevelWarn, message, args)
}

// failed writes a record of what nobody else is told of, to slog's default where there
// is no logger.
func (j *journal) failed(message string, args ...any) {
	j.logTo(cmp.Or(j.logger, slog.Default()), slog.LevelError, message, args)
}

func (j *journal) logTo(logger *slog.Logger, level slog.Level, message string, args []any) {
	now := time.Now()
	kind := journalKind{level, message}
	leftOut, ok := j.admit(now.Unix(), kind)
	if !ok {
		return
	}
	record := slog.NewRecord(now, level, message, 0)
	record.Add(args...)
	if leftOut > 0 {
		record.Add("left_out", leftOut)
	}
	if !j.records.add(func() {
		defer func() { _ = recover() }() // a log that panics has nobody to tell
		if handler := logger.Handler(); handler.Enabled(noContext, level) {
			_ = handler.Handle(noContext, record)
		}
	}) {
		j.mu.Lock()
		j.counts[kind].leftOut += leftOut + 1 // too many wait for a log that is slow
		j.mu.Unlock()
	}
}

// panicked is failed for something of the user's that panicked with p. It is called by the deferred
// function that recovered.
func (j *journal) panicked(message string, p any, args ...any) {
	j.failed(message, append(args, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))...)
}

func (j *journal) admit(second int64, kind journalKind) (leftOut int, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.counts[kind]
	if k == nil {
		if j.counts == nil {
			j.counts = map[journalKind]*journalCount{}
		}
		k = &journalCount{}
		j.counts[kind] = k
	}
	if k.second != second {
		k.second, k.written = second, 0
	}
	if k.written == journalRate {
		k.leftOut++
		return 0, false
	}
	k.written++
	leftOut, k.leftOut = k.leftOut, 0
	return leftOut, true
}

// flushPatience is how long Close and Stop wait for the log.
const flushPatience = time.Second

// flush waits until what was logged is written, for a while: the log may be
// what closes.
func (j *journal) flush() {
	t := time.NewTimer(flushPatience)
	defer t.Stop()
	select {
	case <-j.records.drained():
	case <-t.C:
	}
}
