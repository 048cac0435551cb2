package http2

import (
	"errors"
	"fmt"
	"io"
	"sync"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Reading. An idle connection holds no buffer where the socket can say that it
// is readable. Frames are given to the framer once they have arrived whole, so
// that it never waits; a frame always fits the smaller buffer.

const (
	readSize = 32 << 10
	bulkSize = 256 << 10 // used after a read that filled the smaller one
)

var (
	readBuffers = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}
	bulkBuffers = sync.Pool{New: func() any { b := make([]byte, bulkSize); return &b }}
)

// takePrefix puts what was read before the session into the input.
func (c *Conn) takePrefix(prefix []byte) {
	if len(prefix) > 0 {
		c.growInput()
		c.end = copy(c.in, prefix) // the port's dispatch reads a few dozen bytes at most
		c.untaken = true
	}
}

// readLocked waits for input and takes it in. It holds the lock on entry and on
// return, not in between.
func (c *Conn) readLocked() {
	if c.untaken {
		c.untaken = false
	} else {
		c.mu.Unlock()
		err := c.fill()
		c.mu.Lock()
		if err != nil {
			if !c.closed && !errors.Is(err, io.EOF) {
				c.readFault = err
			}
			c.failLocked(err)
			return
		}
	}
	if c.closed {
		return
	}
	c.lastRead = roles.Clock()
	transport.NoteInput()
	c.pingSent = 0
	c.bulk = c.end == len(c.in)
	err := c.parseLocked()
	c.compactLocked()
	if err != nil {
		c.violateLocked(err)
	}
}

// compactLocked moves what is left of the input to the front, or frees the buffer.
func (c *Conn) compactLocked() {
	switch {
	case c.start == c.end:
		c.start, c.end = 0, 0
		if c.raw != nil || len(c.in) != readSize { // a socket that cannot be asked needs one to wait with
			c.freeInput()
		}
	case c.start > 0:
		c.end = copy(c.in, c.in[c.start:c.end])
		c.start = 0
	}
}

func (c *Conn) freeInput() {
	if c.in != nil {
		b := c.in
		c.inPool.Put(&b)
		c.in, c.inPool = nil, nil
	}
}

// growInput makes sure that there is a buffer with room.
func (c *Conn) growInput() {
	if c.in != nil && (!c.bulk || len(c.in) == bulkSize) {
		return
	}
	pool := &readBuffers
	if c.bulk {
		pool = &bulkBuffers
	}
	grown := *pool.Get().(*[]byte) //nolint:forcetypeassert // the pools hold nothing else
	copy(grown, c.in[:c.end])
	c.freeInput()
	c.in, c.inPool = grown, pool
}

// fill reads once, after what is left of the input. Only the reader calls it.
func (c *Conn) fill() error {
	if c.raw == nil {
		c.growInput()
		n, err := c.socket.Read(c.in[c.end:])
		c.end += n
		if n > 0 {
			return nil
		}
		return err
	}
	c.readN, c.readErr = 0, nil
	if err := c.raw.Read(c.readFD); err != nil {
		return err
	}
	c.end += c.readN
	return c.readErr
}

// readOnce is the body of RawConn.Read; false has it called again once the
// socket is readable.
func (c *Conn) readOnce(fd uintptr) bool {
	c.growInput()
	c.readN, c.readErr = transport.TryRead(fd, c.in[c.end:])
	if c.readN > 0 || c.readErr != nil {
		return true
	}
	if c.end == 0 {
		c.freeInput()
	}
	return false
}

// violation is what the peer did against the protocol or a limit: it ends the
// connection.
type violation struct {
	code h2.ErrCode
	text string
}

// Violated reports whether a connection was ended for what its peer did.
func Violated(err error) bool { return errors.As(err, new(*violation)) }

func (v *violation) Error() string { return fmt.Sprintf("%v: %s", v.code, v.text) }

func violate(code h2.ErrCode, format string, args ...any) error {
	return &violation{code, fmt.Sprintf(format, args...)}
}

// parseLocked takes in the frames that have arrived whole.
func (c *Conn) parseLocked() (err error) {
	defer c.contain(&err)
	if c.preface < len(h2.ClientPreface) {
		n := min(len(h2.ClientPreface)-c.preface, c.end-c.start)
		if string(c.in[c.start:c.start+n]) != h2.ClientPreface[c.preface:c.preface+n] {
			return violate(h2.ErrCodeProtocol, "the connection does not begin with the preface of HTTP/2")
		}
		c.preface += n
		c.start += n
	}
	for !c.closed {
		rest := c.in[c.start:c.end]
		if len(rest) < frameHeader {
			break
		}
		length := int(rest[0])<<16 | int(rest[1])<<8 | int(rest[2])
		if length <= maxFrame && len(rest) < frameHeader+length {
			break
		}
		n := min(frameHeader+length, len(rest))
		c.start += n
		if err := c.frameLocked(rest[:n]); err != nil {
			return err
		}
		if c.floodedLocked() {
			return violate(h2.ErrCodeEnhanceYourCalm, "more than %d answers that the peer does not read", c.answersOut-1)
		}
		c.frameBegan = 0
	}
	c.frameBegunLocked(c.in[c.start:c.end])
	return nil
}

// frameBegunLocked notes when the frame that has come in part must be whole. One of DATA has the
// time that a message has at first, any other that of a header.
func (c *Conn) frameBegunLocked(part []byte) {
	if len(part) == 0 {
		return
	}
	if c.frameBegan == 0 {
		c.frameBegan = c.lastRead
	}
	c.frameBy = c.frameBegan + int64(c.config.Handshake)
	if len(part) > 3 && h2.FrameType(part[3]) == h2.FrameData {
		c.frameBy = c.frameBegan + int64(c.config.Stall)
	}
	c.armLocked(c.frameBy)
}

// frameLocked takes in one frame.
func (c *Conn) frameLocked(whole []byte) error {
	c.source.Reset(whole)
	header, err := c.framer.ReadFrameHeader()
	if err != nil {
		return c.framerErrorLocked(err)
	}
	if !c.greeted && (header.Type != h2.FrameSettings || header.Flags.Has(h2.FlagSettingsAck)) {
		return violate(h2.ErrCodeProtocol, "the first frame is no SETTINGS")
	}
	if header.Type == h2.FrameData && !header.Flags.Has(h2.FlagDataPadded) && header.StreamID != 0 {
		// As the framer would do it, without a copy.
		return c.dataLocked(header, whole[frameHeader:])
	}
	frame, err := c.framer.ReadFrameForHeader(header)
	if err != nil && header.Type == h2.FrameHeaders {
		return violate(h2.ErrCodeProtocol, "malformed HEADERS: %v", err) // nobody knows what was to be decoded
	}
	if err != nil {
		return c.framerErrorLocked(err)
	}
	switch f := frame.(type) {
	case *h2.DataFrame:
		return c.dataLocked(header, f.Data())
	case *h2.HeadersFrame:
		return c.headersLocked(f)
	case *h2.ContinuationFrame:
		return c.continuationLocked(f)
	case *h2.SettingsFrame:
		return c.settingsLocked(f)
	case *h2.WindowUpdateFrame:
		return c.windowUpdateLocked(f)
	case *h2.RSTStreamFrame:
		return c.resetByPeerLocked(f)
	case *h2.PingFrame:
		return c.pingLocked(f)
	case *h2.PriorityFrame:
		return c.priorityLocked(f)
	case *h2.PushPromiseFrame:
		return violate(h2.ErrCodeProtocol, "PUSH_PROMISE from a client")
	case *h2.GoAwayFrame:
		// It opens no more streams itself; those that it has are answered.
	}
	return c.spendLocked(1, "frames without use")
}

// framerErrorLocked turns an error of the framer into what it means for the
// connection; nil when only a stream is harmed.
func (c *Conn) framerErrorLocked(err error) error {
	var stream h2.StreamError
	var connection h2.ConnectionError
	text := "malformed frame"
	if detail := c.framer.ErrorDetail(); detail != nil {
		text = detail.Error()
	}
	switch {
	case errors.As(err, &stream):
		return c.streamErrorLocked(stream.StreamID, stream.Code)
	case errors.As(err, &connection):
		return violate(h2.ErrCode(connection), "%s", text)
	case errors.Is(err, h2.ErrFrameTooLarge):
		return violate(h2.ErrCodeFrameSize, "a frame exceeds SETTINGS_MAX_FRAME_SIZE %d", maxFrame)
	default:
		return violate(h2.ErrCodeProtocol, "malformed frame: %v", err)
	}
}

// streamErrorLocked resets a stream, open or not, for what the peer did to it.
func (c *Conn) streamErrorLocked(id uint32, code h2.ErrCode) error {
	cost := 1
	if s := c.streams[id]; s != nil {
		cost += s.earned
		c.resetLocked(s, code)
	} else if id > c.lastID {
		return violate(h2.ErrCodeProtocol, "a frame for stream %d, which is idle", id)
	} else {
		c.controlLocked()
		_ = c.framer.WriteRSTStream(id, code)
	}
	return c.spendLocked(cost, "frames that break the protocol")
}
