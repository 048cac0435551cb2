// Package ledger writes down what became of calls, so that it can be checked
// afterwards that each ended once and ran as often as its caller was told. The
// form of the file is the same for every language: conformance/peer.md.
package ledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Key is the metadata entry that carries the id of a call.
const Key = "ledger-call"

// messageBytes is how much of a status message is kept.
const messageBytes = 200

// File is a ledger. Each line is one write to the file, without a buffer of this
// process: a line that was written outlives the process. Its methods are safe
// for concurrent use.
type File struct {
	out    *os.File
	prefix string // apart from that of every other process
	number atomic.Int64
}

// line is one line of the file.
type line struct {
	Event     string `json:"event"`
	Call      string `json:"call,omitempty"`
	At        int64  `json:"at"`
	Execution string `json:"execution,omitempty"`
	Method    string `json:"method,omitempty"`
	Deadline  int64  `json:"deadline,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	Code      string `json:"code,omitempty"`
	Delivery  string `json:"delivery,omitempty"`
	Message   string `json:"message,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Number    int    `json:"number,omitempty"`
}

// Open opens a ledger for appending. Several processes may write to one file.
func Open(path string) (*File, error) {
	out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		_ = out.Close()
		return nil, err
	}
	return &File{out: out, prefix: hex.EncodeToString(random[:])}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.out.Close() }

func (f *File) id() string {
	return f.prefix + "-" + strconv.FormatInt(f.number.Add(1), 10)
}

// write appends a line. A ledger with a hole proves nothing, so it ends the
// process when it cannot be written.
func (f *File) write(l line) {
	text, err := json.Marshal(l)
	if err == nil {
		_, err = f.out.Write(append(text, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the ledger cannot be written:", err)
		os.Exit(1)
	}
}

// Entry is a call that its caller has begun.
type Entry struct {
	file *File
	call string
}

// Begin writes that a call begins and returns a context for it, whose metadata
// carries its id.
func (f *File) Begin(ctx context.Context, method string) (context.Context, *Entry) {
	e := &Entry{file: f, call: f.id()}
	f.write(line{Event: "begin", Call: e.call, At: now(), Method: method, Deadline: deadline(ctx)})
	return trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: Key, Value: e.call}}), e
}

// Cancel writes that the caller gives the call up now.
func (e *Entry) Cancel() {
	e.file.write(line{Event: "cancel", Call: e.call, At: now()})
}

// End writes how the call ended.
func (e *Entry) End(status trunkcall.Status) {
	l := line{Event: "end", Call: e.call, At: now(), Code: trunkcall.OK.String(), Delivery: trunkcall.Executed.String()}
	if status.Code != trunkcall.OK {
		l.Code, l.Delivery, l.Message = status.Code.String(), status.Delivery.String(), status.Message
		if len(l.Message) > messageBytes {
			l.Message = l.Message[:messageBytes]
		}
	}
	e.file.write(l)
}

// Attempt writes that an attempt of a call begins that a handler makes; its number
// is 1 for a call's first.
func (f *File) Attempt(number int) {
	f.write(line{Event: "attempt", At: now(), Number: number})
}

// Intercept is a server's interceptor: it writes that a handler begins before it
// does, and that it has ended before the caller can know.
func (f *File) Intercept(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
	id := call.Metadata.Get(Key)
	if id == "" {
		return next(ctx, call)
	}
	execution := f.id()
	f.write(line{Event: "begin", Call: id, At: now(), Execution: execution, Method: call.Method.Name, Deadline: deadline(ctx)})
	ended := line{Event: "end", Call: id, Execution: execution, Outcome: "panicked"}
	defer func() {
		ended.At, ended.Cancelled = now(), ctx.Err() != nil
		f.write(ended)
	}()
	err := next(ctx, call)
	ended.Outcome, ended.Code = "returned", trunkcall.OK.String()
	if err != nil {
		ended.Code = trunkcall.StatusOf(err).Code.String()
	}
	return err
}

// deadline is that of a context on the ledger's clock, 0 if it has none.
func deadline(ctx context.Context) int64 {
	at, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return now() + int64(time.Until(at))
}
