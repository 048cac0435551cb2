package trunkcall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// turns bounds how many messages are compressed or decompressed at once in the
// process, and so the memory that this takes: more would not be faster. Whoever
// has a turn waits for nothing. So compressions, codecs and messages with code of the
// user's run without one: that may make calls, which need turns themselves.
var turns = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

func takeTurn() { turns <- struct{}{} }
func endTurn()  { <-turns }

// isOurs reports whether a compression is of this package.
func isOurs(one Compression) bool {
	switch one.(type) {
	case gzipped, zstandard:
		return true
	}
	return false
}

// decodesOurs reports whether no code of the user's runs when a message is decoded: the
// codec is of this package, the message raw bytes or of a generated type of Protobuf. One that
// embeds such a message may have methods of its own, as all other values may.
func decodesOurs(codec Codec, message any) bool {
	switch codec.(type) {
	case raw:
		return true
	case *protobuf, *protobufNew, *protobufStock, protoJSON:
		m, ok := message.(proto.Message)
		return ok && reflect.TypeOf(m.ProtoReflect().Interface()) == reflect.TypeOf(message)
	}
	return false
}

// unpacking bounds one message from its decompression until it is decoded: it has a turn, or its
// bytes are counted. At most WithMemory bytes of counted messages exist at once, except that a
// single message may be longer.
type unpacking struct {
	all     *compressions
	turn    bool
	counted int64
}

var errNoRoom = errors.New("too many messages are decompressed at once")

// roomRetry is when a call may come again that there was no room for.
const roomRetry = wire.RoomRetry * time.Millisecond

// noRoom is how a call ends for errNoRoom.
func (c *compressions) noRoom() error {
	return Status{
		Code: ResourceExhausted, RetryAfter: roomRetry,
		Message: fmt.Sprintf("messages decompressed for code of one's own would exceed memory %d", c.memory),
	}.Err()
}

// takeTurn waits for a turn.
func (s *unpacking) takeTurn() {
	takeTurn()
	s.turn = true
}

// count counts so many bytes, in place of the turn if there is one.
func (s *unpacking) count(bytes int) error {
	n := int64(bytes)
	if all := s.all.counted.Add(n); all > s.all.memory && all != n {
		s.all.counted.Add(-n)
		return errNoRoom
	}
	s.counted = n
	if s.turn {
		s.turn = false
		endTurn()
	}
	return nil
}

func (s *unpacking) end() {
	s.all.counted.Add(-s.counted)
	if s.turn {
		endTurn()
	}
}

// comesTo is how long a compressed message says that it is, or can be at most.
func comesTo(number uint8, data []byte) (uint64, error) {
	if number == wire.Zstd {
		frame, err := measureZstd(data)
		return frame.most, err
	}
	if len(data) < 4 {
		return 0, errCutShort
	}
	return uint64(binary.LittleEndian.Uint32(data[len(data)-4:])), nil // RFC 1952 2.3.1: ISIZE
}
