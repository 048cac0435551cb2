package rawframe

import (
	"bytes"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Frame is a frame taken apart no further than header and body.
type Frame struct {
	wire.Header
	Body []byte
}

// Bytes joins a header to its body; the header's length is set from the body.
func Bytes(h wire.Header, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	h.Length = uint32(len(all))
	return append(wire.AppendHeader(nil, h), all...)
}

// Lie is a frame whose header claims a body of length bytes, whatever follows.
func Lie(h wire.Header, length uint32, body ...[]byte) []byte {
	h.Length = length
	return append(wire.AppendHeader(nil, h), bytes.Join(body, nil)...)
}

// Preface is a faultless preface; change may alter it.
func Preface(change ...func(*wire.Preface)) []byte {
	p := wire.Preface{Version: wire.Version, Highest: wire.Version, Settings: wire.DefaultSettings()}
	for _, f := range change {
		f(&p)
	}
	return wire.AppendPreface(nil, &p)
}

// ID is the id of a stream that the connection's initiator opened.
func ID(slot uint32, generation uint16) wire.StreamID {
	return wire.MakeStreamID(slot, generation, false)
}

// Define binds a method id.
func Define(id uint16, name string) []byte { return wire.AppendDefine(nil, id, name) }

// Call is a whole unary request in Protobuf's codec number.
func Call(slot uint32, generation uint16, method uint16, payload []byte) []byte {
	return Bytes(CallHeader(slot, generation, method, wire.FlagMsg|wire.FlagEnd), payload)
}

// CallHeader is the header of a CALL, for the test to change and fill.
func CallHeader(slot uint32, generation uint16, method uint16, flags wire.Flags) wire.Header {
	return wire.Header{Type: wire.Call, Stream: ID(slot, generation), Code: method, Flags: flags, Codec: 1}
}

// Data is a DATA of the caller or the callee: its flags and, with MSG, its
// message in Protobuf's codec number.
func Data(id wire.StreamID, flags wire.Flags, body []byte) []byte {
	h := wire.Header{Type: wire.Data, Stream: id, Flags: flags}
	if flags&wire.FlagMsg != 0 {
		h.Codec = 1
	}
	return Bytes(h, body)
}

// Result is a RESULT with status 0 and its message.
func Result(id wire.StreamID, payload []byte) []byte {
	return Bytes(wire.Header{Type: wire.Result, Stream: id, Flags: wire.FlagMsg, Codec: 1}, payload)
}

// Failure is a RESULT with another status.
func Failure(id wire.StreamID, code wire.Code, flags wire.Flags, word uint32, message string) []byte {
	payload, _ := wire.AppendStatus(nil, message, nil, wire.MinPiece)
	return Bytes(wire.Header{Type: wire.Result, Stream: id, Flags: flags, Code: uint16(code), Word: word}, payload)
}

// Credit, Cancel and Ping are the control frames.
func Credit(id wire.StreamID, n uint32) []byte {
	return Bytes(wire.Header{Type: wire.Credit, Stream: id, Word: n})
}

// Cancel gives a call up.
func Cancel(id wire.StreamID, reason uint32) []byte {
	return Bytes(wire.Header{Type: wire.Cancel, Stream: id, Word: reason})
}

// Ping asks for, or with FlagAck gives, a sign of life.
func Ping(flags wire.Flags, word uint32) []byte {
	return Bytes(wire.Header{Type: wire.Ping, Flags: flags, Word: word})
}

// GoAway asks for no more calls, or with a reason announces the end.
func GoAway(reason uint32, text string) []byte { return wire.AppendGoAway(nil, reason, text) }

// GoAwayAck says that no more calls follow.
func GoAwayAck() []byte { return Bytes(wire.Header{Type: wire.GoAway, Flags: wire.FlagAck}) }
