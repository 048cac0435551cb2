package trunkcall

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Compression makes messages smaller on their way (spec/protocol.md 12).
// Implementations are used by many goroutines at once. They may make calls themselves.
type Compression interface {
	// Name is for error messages and command lines.
	Name() string
	// Number is the compression's number on the wire (spec/protocol.md 3.8): 1
	// gzip, 2 zstd. There are no others.
	Number() uint8
	// Compress appends message, compressed, to dst. A message is sent as it is
	// when it fails.
	Compress(dst, message []byte) ([]byte, error)
	// Decompress appends the decompressed data to dst. If that is more than limit bytes, it stops
	// and returns ErrTooLong. It fails for data that is cut short, damaged or followed by anything.
	// It must not allocate by the size that data states. The limit is that stated size where it is
	// less than what may be received; so much counts as memory until the message is decoded.
	Decompress(dst, data []byte, limit int) ([]byte, error)
}

// ErrTooLong is returned by Compression.Decompress for a message longer than
// the limit.
var ErrTooLong = errors.New("the message is longer than the limit")

// compressionNumbers is one more than the largest.
const compressionNumbers = 16

// builtinCompressions are accepted without being asked for.
var builtinCompressions = []Compression{Gzip, Zstd}

// compressions is which one sends with, in order of preference, and which one
// accepts.
type compressions struct {
	send    preference
	accept  []Compression // nil: the built-in ones
	byCode  [compressionNumbers]Compression
	limit   int // bytes of a decompressed message
	memory  int64
	counted atomic.Int64 // bytes of messages that are decompressed for code of the user's
	economy economies
}

// preference is what an option says of sending.
type preference struct {
	said  bool
	order []Compression
}

// WithCompression sends messages with the first of these compressions that the peer accepts; with
// no arguments, never compressed. By default a client sends plain, and a server answers with the
// compression of the request. With this option a server compresses answers to plain requests as
// well.
//
// A message below 1 KiB is sent plain, and so is one that would not lose an eighth of its length. A
// try pays if it saves an eighth or more and takes no longer than the saved bytes would at 100
// Mbit/s. When most tries for the messages of one method do not pay, its next 16 messages are sent
// plain, then one is tried again. While that does not pay either, the pause doubles, up to 1,024
// messages. So compression costs next to nothing for methods whose messages are small, random or
// compressed already.
//
// Metadata and statuses are never compressed. Do not compress messages that hold a secret beside
// text that somebody else chooses, if the length on the wire can be observed: the length then tells
// of the secret.
func WithCompression(compressions ...Compression) Option {
	return option(func(c *common) { c.compressions.send = preference{true, compressions} })
}

// WithDecompression sets which compressions are accepted from peers; they are told so
// when a connection begins. The default is Gzip and Zstd. With none, peers send
// plain.
func WithDecompression(accepted ...Compression) Option {
	return option(func(c *common) { c.compressions.accept = append([]Compression{}, accepted...) })
}

// CallCompression is WithCompression for the requests of one call; with no arguments, never
// compressed. A compression whose number is neither gzip's nor zstd's fails the call.
func CallCompression(compressions ...Compression) CallOption {
	return callOption(func(o *callOptions) { o.send = preference{true, compressions} })
}

// arrange makes the table of what is accepted.
func (c *compressions) arrange(limit uint32, memory int64) error {
	c.limit, c.memory = int(limit), memory
	if c.accept == nil {
		c.accept = builtinCompressions
	}
	for _, one := range c.accept {
		if err := checkCompression(one); err != nil {
			return err
		}
		c.byCode[one.Number()] = one
	}
	return c.send.check()
}

func (p *preference) check() error {
	for _, one := range p.order {
		if err := checkCompression(one); err != nil {
			return err
		}
	}
	return nil
}

func checkCompression(c Compression) error {
	switch {
	case c == nil:
		return errors.New("trunkcall: a compression is nil")
	case c.Number() != wire.Gzip && c.Number() != wire.Zstd:
		return fmt.Errorf("trunkcall: the compression %q has number %d: want %d (gzip) or %d (zstd)", c.Name(), c.Number(), wire.Gzip, wire.Zstd)
	}
	return nil
}

// set is the setting of the accepted compressions.
func (c *compressions) set() (bits uint16) {
	for n, one := range c.byCode {
		if one != nil {
			bits |= 1 << n
		}
	}
	return bits
}
