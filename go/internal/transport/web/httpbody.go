package web

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// httpBody reads the body of a request. One goroutine reads at a time.
type httpBody struct {
	call    *httpCall
	source  io.Reader
	control *http.ResponseController
	prefix  [Headroom]byte
	over    atomic.Bool  // nothing more comes
	by      atomic.Int64 // when what is being read must have come, as roles.Clock has it; 0: nothing is

	underWay transport.UnderWay // the message that is being read, or all of a body that is read before its handler starts
}

// defaultStall is what time a message on its way has at first (spec/limits.md).
const defaultStall = time.Minute

// leastRoom is what a long body gets to begin with; it grows with what arrives,
// and counts above firstRoom.
const (
	leastRoom = 8 << 10
	firstRoom = 64 << 10
)

func (b *httpBody) begin(x *httpCall) {
	b.call, b.source = x, x.spoken.Body(x.r.Body)
}

// Read reads, but does not wait for ever.
func (b *httpBody) Read(p []byte) (int, error) {
	by := b.underWay.By(b.call.protocol.stall())
	b.by.Store(by)
	_ = b.control.SetReadDeadline(roles.TimeOf(by))
	n, err := b.source.Read(p)
	b.underWay.Pass(n)
	if err == nil {
		b.by.Store(0)
	} else {
		b.over.Store(true)
		if errors.Is(err, io.EOF) || errors.As(err, new(*Fault)) {
			b.by.Store(0)
			_ = b.control.SetReadDeadline(time.Time{})
		} else {
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded) && roles.Clock() >= by:
				err = &Fault{Code: wire.ResourceExhausted, Text: transport.LateText(b.call.protocol.stall())}
			case malformed(b.call.r, err):
				err = &Fault{Code: wire.InvalidArgument, Text: "the request is malformed: " + err.Error()}
			}
			b.call.peer.Interrupt(true) // or net/http would wait for the rest, ahead of the answer and without end
		}
	}
	return n, err
}

// malformed reports whether the body of a request of HTTP/1.1 is not as its coding has it, rather
// than cut off: net/http has no type for that.
func malformed(r *http.Request, err error) bool {
	return r.ProtoMajor == 1 && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, new(net.Error)) && !errors.Is(err, net.ErrClosed)
}

// Bounds on what is read of a body whose call is over, before its connection is closed. The end of
// the call waits for it a little, since some clients report a failure if they could not send all of
// it.
const (
	restBytes = 1 << 20
	restFirst = 50 * time.Millisecond
	restTime  = time.Second
)

// drain reads what is left of the body of a call that streams over HTTP/1.1. With full duplex,
// net/http requires that.
func (b *httpBody) drain() {
	if b.over.Load() || b.call.r.ProtoMajor != 1 {
		return
	}
	flushed := make(chan struct{})
	flusher := time.AfterFunc(restFirst, func() {
		_ = b.control.Flush()
		close(flushed)
	})
	// There is one deadline: a body whose reading was broken off is of no use.
	_ = b.control.SetReadDeadline(time.Now().Add(restTime))
	n, err := io.Copy(io.Discard, io.LimitReader(b.call.r.Body, restBytes))
	if !flusher.Stop() {
		<-flushed
	}
	if err != nil || n == restBytes {
		b.call.peer.Interrupt(true)
		return
	}
	_ = b.control.SetReadDeadline(time.Time{})
}

// readFirst reads what must be there before the handler starts.
func (x *httpCall) readFirst() *wire.Refusal {
	if !x.served.Whole() {
		return nil
	}
	x.body.underWay.Begin(roles.Clock())
	m, flags, err := x.body.only()
	var fault *Fault
	switch {
	case err == nil:
		if x.packed, err = x.compressed(flags); err == nil {
			x.first = m
			return nil
		}
		m.Free()
	case errors.Is(err, io.EOF) && !x.spoken.Plain():
		err = &Fault{Code: wire.Unimplemented, Text: "the method takes one request, and none was sent"}
	}
	if errors.As(err, &fault) {
		return fault.Refusal()
	}
	return &wire.Refusal{Code: wire.Canceled, Message: "the request is cut off: " + transport.Describe(err)}
}

// only reads the one message of a request.
func (b *httpBody) only() (m *transport.Buffer, flags byte, err error) {
	if b.call.spoken.Plain() {
		if m, err = b.all(); err == nil && b.call.call.Compression != 0 && len(m.B) > 0 {
			flags = 1
		}
		return m, flags, err
	}
	if m, flags, err = b.message(); err != nil {
		return nil, 0, err
	}
	if extra, _, err := b.message(); !errors.Is(err, io.EOF) {
		m.Free()
		if err == nil {
			extra.Free()
			err = &Fault{Code: wire.Unimplemented, Text: "the method takes one request, and more were sent"}
		}
		return nil, 0, err
	}
	return m, flags, nil
}

// all reads a body that is one message.
func (b *httpBody) all() (*transport.Buffer, error) {
	limit, length := b.call.protocol.maxMessage(), b.call.r.ContentLength
	if length > limit {
		return nil, tooLong(length, limit)
	}
	// One more byte than there may be, so that the end of the body is seen.
	want := limit + 1
	if length >= 0 {
		want = length + 1
	}
	m, err := b.gather(transport.GetBuffer(int(min(want, leastRoom))), want)
	if err == nil && int64(len(m.B)) > limit {
		m.Free()
		return nil, &Fault{Code: wire.ResourceExhausted, Text: fmt.Sprintf("message of more than max_message %d bytes", limit)}
	}
	return m, err
}

// message reads the next message of a body that has several, each behind a
// prefix.
func (b *httpBody) message() (m *transport.Buffer, flags byte, err error) {
	begins := !b.underWay.Began()
	source := b.source // for a message that may come there is all the time in the world
	if !begins {
		source = b
	}
	if n, err := io.ReadFull(source, b.prefix[:1]); n == 0 {
		b.over.Store(true)
		return nil, 0, err
	}
	if begins {
		b.underWay.Begin(roles.Clock())
		defer b.underWay.End()
	}
	if _, err := io.ReadFull(b, b.prefix[1:]); err != nil {
		return nil, 0, cutOff(err)
	}
	length, limit := int64(binary.BigEndian.Uint32(b.prefix[1:])), b.call.protocol.maxMessage()
	if length > limit {
		return nil, 0, tooLong(length, limit)
	}
	m, err = b.gather(transport.GetBuffer(int(min(length, leastRoom))), length)
	if err == nil && int64(len(m.B)) < length {
		m.Free()
		err = io.ErrUnexpectedEOF
	}
	if begins {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return m, b.prefix[0], cutOff(err)
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Fault{Code: wire.InvalidArgument, Text: "the request is cut off within a message"}
	}
	return err
}

func tooLong(length, limit int64) error {
	return &Fault{Code: wire.ResourceExhausted, Text: fmt.Sprintf("message of %d bytes exceeds max_message %d", length, limit)}
}

// gather appends to m until it has want bytes or the body ends.
func (b *httpBody) gather(m *transport.Buffer, want int64) (*transport.Buffer, error) {
	for int64(len(m.B)) < want {
		if len(m.B) == cap(m.B) {
			larger := b.grow(m, want)
			m.Free()
			if larger == nil {
				return nil, b.full()
			}
			m = larger
		}
		n, err := b.Read(m.B[len(m.B):min(int64(cap(m.B)), want)])
		m.B = m.B[:len(m.B)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			m.Free()
			return nil, err
		}
	}
	return m, nil
}

// grow returns a larger buffer with the content of m, nil if memory is full. It is at most four
// times what has come, so that a false length costs little.
func (b *httpBody) grow(m *transport.Buffer, want int64) *transport.Buffer {
	size := min(want, 4*int64(cap(m.B)))
	if size > firstRoom && !b.call.affords(size-int64(cap(m.B))) {
		return nil
	}
	larger := transport.GetBuffer(int(size))
	larger.B = append(larger.B, m.B...)
	return larger
}

// full is the fault of a message that there is no memory for.
func (b *httpBody) full() error {
	return &Fault{Code: wire.ResourceExhausted, Text: b.call.protocol.Budget.Full(), RetryAfter: wire.RoomRetry}
}
