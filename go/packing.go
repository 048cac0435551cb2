package trunkcall

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// pack compresses a message of a method with the first of order that the peer
// accepts, and returns it with the compression's number; nil when it is to be sent plain.
func (c *compressions) pack(method string, order []Compression, accepted uint16, message []byte) (*transport.Buffer, uint8) {
	if len(message) < leastCompressed {
		return nil, 0
	}
	for _, one := range order {
		if one == nil || accepted&(1<<one.Number()) == 0 {
			continue
		}
		if e := c.economy.of(method); e.tries() {
			return packWith(one, e, message)
		}
		break
	}
	return nil, 0
}

func packWith(one Compression, e *economy, message []byte) (*transport.Buffer, uint8) {
	if isOurs(one) {
		takeTurn()
		defer endTurn()
	}
	buffer := transport.GetBuffer(len(message) / 2)
	began := time.Now()
	packed, err := one.Compress(buffer.B, message)
	if err != nil {
		packed = message
	}
	if !e.note(len(message), len(packed), time.Since(began)) {
		buffer.Free()
		return nil, 0
	}
	buffer.B = packed
	return buffer, one.Number()
}

// packBuffer compresses a message that a stream sends, and gives its buffer back
// if it returns another.
func (s *clientStream) packBuffer(message *transport.Buffer) (*transport.Buffer, uint8) {
	packed, number := s.calling.options.compressions.pack(s.method, s.order, s.call.Conn().Accepts(), message.B)
	return instead(message, packed, number)
}

func instead(plain, packed *transport.Buffer, number uint8) (*transport.Buffer, uint8) {
	if packed == nil {
		return plain, 0
	}
	plain.Free()
	return packed, number
}

// decode decodes a message that was compressed. It returns ErrTooLong for one of
// more than limit bytes, errNoRoom when too much is being decoded.
func (c *compressions) decode(codec Codec, number uint8, payload []byte, message any, limit int) error {
	one := c.byCode[number&(compressionNumbers-1)]
	if one == nil {
		return fmt.Errorf("compression %d is not accepted here", number) // the session has seen to it
	}
	s := unpacking{all: c} // until it is decoded: the memory is what is bounded
	defer s.end()
	most := limit
	if isOurs(one) {
		s.takeTurn()
	} else {
		length, err := comesTo(number, payload)
		if err != nil {
			return undecompressed(one, err)
		}
		most = int(min(uint64(limit), length))
		if err := s.count(most); err != nil {
			return err
		}
	}
	buffer := transport.GetBuffer(min(4*len(payload), most))
	defer buffer.Free()
	plain, err := one.Decompress(buffer.B, payload, most)
	buffer.B = plain
	switch {
	case errors.Is(err, ErrTooLong) && most < limit:
		return undecompressed(one, fmt.Errorf("it is longer than the %d bytes that it says", most))
	case errors.Is(err, ErrTooLong):
		return ErrTooLong
	case err != nil:
		return undecompressed(one, err)
	}
	if s.turn && !decodesOurs(codec, message) {
		if err := s.count(len(plain)); err != nil {
			return err
		}
	}
	return codec.Decode(plain, message)
}

func undecompressed(one Compression, err error) error {
	return fmt.Errorf("it does not decompress with %s: %w", one.Name(), err)
}

// decodeRequest decodes a message that the caller sent.
func (c *ServerCall) decodeRequest(codec Codec, m *transport.Message, request any) error {
	all := &c.serving.options.compressions
	var err error
	if m.Compression == 0 {
		err = codec.Decode(m.Payload, request)
	} else {
		c.asked.Store(uint32(m.Compression))
		err = all.decode(codec, m.Compression, m.Payload, request, all.limit)
	}
	m.Free()
	if err != nil {
		return c.undecodable(err)
	}
	return nil
}

// undecodable is the error of a call whose request cannot be read.
func (c *ServerCall) undecodable(err error) error {
	if err == ErrTooLong { //nolint:errorlint // a codec's error that wraps it is another matter
		return Errorf(ResourceExhausted, "the request exceeds max_message %d when decompressed", c.serving.options.compressions.limit)
	}
	if err == errNoRoom { //nolint:errorlint // as above
		return c.serving.options.compressions.noRoom()
	}
	fault := c.uncarried(InvalidArgument, "request", err)
	if s := StatusOf(fault); s.Code == Unimplemented || s.Code == Internal {
		c.serving.options.log(slog.LevelWarn, "request cannot be carried", "method", c.handler.Method.Name, "error", err)
	}
	return fault
}

// decodeResponse decodes a message that the server sent.
func (c *common) decodeResponse(codec Codec, number uint8, payload []byte, response any, o *callOptions) (err error) {
	switch {
	case o.maxReceive > 0 && len(payload) > o.maxReceive:
		err = errExceeds
	case number == 0:
		err = codec.Decode(payload, response)
	default:
		err = c.compressions.decode(codec, number, payload, response, c.responseLimit(o))
	}
	if err != nil {
		return c.undecoded(err, codec, len(payload), o)
	}
	return nil
}

// responseLimit is how long a response may be when decompressed.
func (c *common) responseLimit(o *callOptions) int {
	if o.maxReceive > 0 {
		return min(c.compressions.limit, o.maxReceive)
	}
	return c.compressions.limit
}

// errExceeds is why a response is not decoded that exceeds the call's limit.
var errExceeds = errors.New("the response exceeds the call's limit")

// undecoded is the error of a call whose response, of so many bytes, was not decoded.
func (c *common) undecoded(err error, codec Codec, size int, o *callOptions) error {
	limit := c.responseLimit(o)
	switch {
	case err == errExceeds: //nolint:errorlint // as above
		return Errorf(ResourceExhausted, "message of %d bytes exceeds the call's limit of %d", size, o.maxReceive)
	case err == ErrTooLong && limit == o.maxReceive: //nolint:errorlint // as above
		return Errorf(ResourceExhausted, "the response exceeds the call's limit of %d when decompressed", limit)
	case err == errNoRoom: //nolint:errorlint // as above
		return c.compressions.noRoom()
	case err == ErrTooLong: //nolint:errorlint // as above
		return Errorf(ResourceExhausted, "the response exceeds max_message %d when decompressed", limit)
	}
	return uncarried(Internal, "response", codec, err)
}

// order is which compressions a call's requests are sent with.
func (c *common) order(o *callOptions) []Compression {
	if o.send.said {
		return o.send.order
	}
	return c.compressions.send.order
}

// packCall compresses the message of a call that is about to be opened on conn.
func (c *common) packCall(conn *Connection, out *wire.Outgoing, plain []byte, order []Compression) *transport.Buffer {
	out.Payload, out.Compression = plain, 0
	packed, number := c.compressions.pack(out.Method.Name, order, conn.conn.Accepts(), plain)
	if packed != nil {
		out.Payload, out.Compression = packed.B, number
	}
	return packed
}

// choice is the compression that a handler has chosen for its answers; nil: none.
type choice struct{ one Compression }

// SetCompression sends the call's answers with the first of these compressions that the caller
// accepts, else plain; with no arguments, never compressed. It takes precedence over
// WithCompression; the rest of what stands there holds, such as that short messages are sent plain.
// It fails once the answer has begun.
func (c *ServerCall) SetCompression(order ...Compression) error {
	chosen := &choice{}
	for _, one := range order {
		if err := checkCompression(one); err != nil {
			return Errorf(Internal, "%v", err)
		}
		if chosen.one == nil && c.Accepts(one) {
			chosen.one = one
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.headerSent {
		return errHeaderSent
	}
	c.chosen.Store(chosen)
	return nil
}

// Accepts reports whether the caller takes answers in a compression.
func (c *ServerCall) Accepts(one Compression) bool { return c.accepts()&(1<<one.Number()) != 0 }

func (c *ServerCall) accepts() uint16 {
	if c.http != nil {
		return c.http.call.Accepts
	}
	return c.stream.Conn().Accepts()
}

// packs reports whether answers may be compressed.
func (c *ServerCall) packs() bool {
	return c.chosen.Load() != nil || c.asked.Load() != 0 || c.serving.options.compressions.send.said
}

// order is which compressions the answers of a call are sent with: what the
// request was sent with comes first.
func (c *ServerCall) order() []Compression {
	if chosen := c.chosen.Load(); chosen != nil {
		return []Compression{chosen.one}
	}
	all := &c.serving.options.compressions
	if all.send.said && len(all.send.order) == 0 {
		return nil
	}
	asked := all.byCode[c.asked.Load()&(compressionNumbers-1)]
	if asked == nil {
		return all.send.order
	}
	return append([]Compression{asked}, all.send.order...)
}

// pack compresses an answer if it may, and if that pays. It returns nil when the
// answer is to be sent plain.
func (c *ServerCall) pack(message []byte) (*transport.Buffer, uint8) {
	return c.serving.options.compressions.pack(c.handler.Method.Name, c.order(), c.stream.Conn().Accepts(), message)
}

// packBuffer is pack for a message in a buffer of its own, which is given back
// when another is returned.
func (c *ServerCall) packBuffer(message *transport.Buffer) (*transport.Buffer, uint8) {
	packed, number := c.pack(message.B)
	return instead(message, packed, number)
}

// packAnswer compresses the answer of a unary call, which stands in w.Scratch.
func (c *ServerCall) packAnswer(w *roles.Worker) {
	packed, number := c.pack(w.Scratch)
	if packed == nil {
		return
	}
	w.Scratch, packed.B = packed.B, w.Scratch // the connection may keep what it sends
	packed.Free()
	w.Ending.Compression = number
}
