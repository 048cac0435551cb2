// Package capnp is the codec of Cap'n Proto messages (codec 4, spec/protocol.md
// 3.8), for the structs that capnpc-go generates:
//
//	var find = trunkcall.Unary[library.Shelf, library.Book]("/example.Library/Find")
//
//	server, err := trunkcall.NewServer(trunkcall.WithCodecs(capnp.Codec))
//	client, err := trunkcall.Dial(ctx, target, trunkcall.WithCodec(capnp.Codec))
//
// On the wire a message is what Cap'n Proto calls a stream of one message, not
// packed: the table of its segments, then these.
package capnp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"capnproto.org/go/capnp/v3"

	"github.com/trunkcall/trunkcall/go"
)

// Limits bound what reading one received message may cost, since its pointers can lead to the same
// bytes any number of times, and to any depth. A getter that would exceed a limit returns an error.
// A zero field means the default.
type Limits struct {
	// Traverse is how many bytes may be read; bytes read twice count twice. The default is four
	// times the message's length, and 64 MiB at least.
	Traverse uint64
	// Depth is how many pointers may follow each other; the default is 64.
	Depth uint
}

const (
	leastTraverse   = 64 << 20
	traverseFactor  = 4
	defaultDepth    = 64
	largestSegments = 512 // of one message; each takes memory beyond its bytes
)

// Codec is the codec with the default limits.
var Codec = New(Limits{})

// New returns the codec with other limits. It is safe for concurrent use.
//
// Messages are pointers to generated structs (*library.Book), or *capnp.Struct.
// A struct that is sent is encoded with all that its message holds if it is the
// message's root, else it is copied into a message of its own; it may be sent again, but
// not changed while it is being sent. A struct that is received lives in a copy
// of the received bytes, which belongs to the receiver and lasts as long as it is
// referred to.
func New(l Limits) trunkcall.Codec {
	if l.Depth == 0 {
		l.Depth = defaultDepth
	}
	return codec{l}
}

type codec struct{ limits Limits }

func (codec) Name() string  { return "capnp" }
func (codec) Number() uint8 { return 4 }

// nothing is a message whose root is null: all fields have their defaults.
var nothing = []byte{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

func (c codec) Append(dst []byte, message any) ([]byte, error) {
	s := structOf(message)
	switch {
	case s == nil:
		if m, ok := message.(trunkcall.Encodable); ok {
			return m.AppendIn(c, dst)
		}
		return nil, wrongType(message)
	case !s.IsValid():
		return append(dst, nothing...), nil
	}
	whole := s.Message()
	if root, err := whole.Root(); err != nil || !capnp.SamePtr(root, s.ToPtr()) {
		if whole, err = alone(s); err != nil {
			return nil, err
		}
	}
	out := appender{dst}
	if err := capnp.NewEncoder(&out).Encode(whole); err != nil {
		return nil, err
	}
	return out.b, nil
}

// alone copies a struct into a message of its own.
func alone(s *capnp.Struct) (*capnp.Message, error) {
	whole, _, err := capnp.NewMessage(capnp.SingleSegment(nil))
	if err == nil {
		err = whole.SetRoot(s.ToPtr())
	}
	return whole, err
}

// appender is a buffer to write to.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

func (c codec) Decode(data []byte, message any) error {
	s := structOf(message)
	if s == nil {
		if m, ok := message.(trunkcall.Encodable); ok {
			return m.DecodeIn(c, data)
		}
		return wrongType(message)
	}
	if len(data) < 8 {
		return errors.New("the table of segments is cut short")
	}
	if more := binary.LittleEndian.Uint32(data); more >= largestSegments {
		return fmt.Errorf("%d segments exceed %d", uint64(more)+1, largestSegments)
	}
	// What is decoded is a view of the bytes, and those that came are used again.
	whole, err := capnp.Unmarshal(bytes.Clone(data))
	if err != nil {
		return err
	}
	if size, err := whole.TotalSize(); err != nil {
		return err
	} else if size != uint64(len(data)) {
		return fmt.Errorf("%d bytes are left over", uint64(len(data))-size)
	}
	whole.DepthLimit = c.limits.Depth
	if whole.TraverseLimit = c.limits.Traverse; whole.TraverseLimit == 0 {
		whole.TraverseLimit = max(leastTraverse, traverseFactor*uint64(len(data)))
	}
	root, err := whole.Root()
	if err != nil {
		return err
	}
	if *s = root.Struct(); root.IsValid() && !s.IsValid() {
		return errors.New("the root is not a struct")
	}
	return nil
}

var structPointer = reflect.TypeFor[*capnp.Struct]()

// structOf returns the struct that a generated type stands for, nil for what is
// none.
func structOf(message any) *capnp.Struct {
	if s, ok := message.(*capnp.Struct); ok {
		return s
	}
	v := reflect.ValueOf(message)
	if v.Kind() != reflect.Pointer || v.IsNil() || !v.CanConvert(structPointer) {
		return nil
	}
	s, _ := v.Convert(structPointer).Interface().(*capnp.Struct)
	return s
}

func wrongType(message any) error {
	return fmt.Errorf("%w: a Cap'n Proto message is a pointer to a generated struct that is not nil, not a %T", trunkcall.ErrMessageType, message)
}
