package web

import (
	"errors"
	"io"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// What a handler receives and sends in a call over HTTP: httpCall as an Exchange.

// Receive implements Exchange.
func (x *httpCall) Receive() (message *transport.Buffer, compressed bool, err error) {
	if x.served.Whole() {
		if x.taken {
			return nil, false, io.EOF
		}
		m := x.first
		x.first, x.taken = nil, true
		return m, x.packed, nil
	}
	m, flags, err := x.body.message()
	if err == nil {
		compressed, err = x.compressed(flags)
		if err == nil {
			return m, compressed, nil
		}
		m.Free()
	}
	var fault *Fault
	if errors.Is(err, io.EOF) || errors.As(err, &fault) {
		return nil, false, err
	}
	return nil, false, ErrOver
}

// compressed judges the flags of a message.
func (x *httpCall) compressed(flags byte) (bool, error) {
	switch {
	case flags > 1:
		return false, &Fault{Code: wire.InvalidArgument, Text: "a message has flags that mean nothing"}
	case flags == 1 && x.call.Compression == 0:
		return false, &Fault{Code: wire.Internal, Text: "a message is compressed, and no encoding says how"}
	}
	return flags == 1, nil
}

// SendHeader implements Exchange.
func (x *httpCall) SendHeader(m wire.Metadata) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.over {
		return ErrOver
	}
	x.beginLocked(m)
	if x.spoken.Plain() {
		return nil // its header waits for the status
	}
	return x.flushLocked()
}

// Send implements Exchange.
func (x *httpCall) Send(message *transport.Buffer, compressed bool) error {
	defer message.Free()
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.over {
		return ErrOver
	}
	x.beginLocked(nil)
	if x.writeLocked(Frame(message.B, compressed)) != nil {
		return ErrOver
	}
	return x.flushLocked()
}

// writeLocked writes a piece of the body of a call that streams.
func (x *httpCall) writeLocked(piece []byte) error {
	piece = x.spoken.Encode(piece)
	if x.r.ProtoMajor != 1 { // HTTP/2 watches itself
		_, err := x.w.Write(piece)
		return err
	}
	var underWay transport.UnderWay
	underWay.Begin(roles.Clock())
	for {
		n := min(len(piece), writeAtOnce)
		_ = x.body.control.SetWriteDeadline(roles.TimeOf(underWay.By(x.protocol.stall())))
		if _, err := x.w.Write(piece[:n]); err != nil {
			return err
		}
		if piece = piece[n:]; len(piece) == 0 {
			return nil
		}
		underWay.Pass(n)
	}
}

// writeAtOnce is how much of a message passes before it is given more time.
const writeAtOnce = 64 << 10

func (x *httpCall) flushLocked() error {
	if x.body.control.Flush() != nil {
		return ErrOver
	}
	return nil
}
