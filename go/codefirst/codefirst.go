// Package codefirst is for services without a .proto file: functions and methods of Go
// are served as they are, and called as functions, also from other languages
// (spec/code-first.md).
//
//	err := codefirst.RegisterService(server, "calc", calculator, codefirst.Methods("Div")) // serves /calc/div
//
//	div := codefirst.Func[func(ctx context.Context, a, b int) (int, int, error)](client, "calc/div")
//	quotient, remainder, err := div(ctx, 7, 2)
//
// Arguments and results travel as MessagePack, or as JSON if the caller asks for that. The codecs
// JSON and MessagePack can also carry the messages of methods that trunkcall.Unary and the like
// describe: give them to both sides by trunkcall.WithCodecs.
package codefirst

import "github.com/trunkcall/trunkcall/go"

var (
	_ trunkcall.Encodable = (*Arguments)(nil)
	_ trunkcall.Encodable = (*Results)(nil)
)

// valueCodec is the codec of this package in the place of one with its number.
func valueCodec(of trunkcall.Codec) trunkcall.Codec {
	switch of.Number() {
	case JSON.Number():
		return JSON
	case MessagePack.Number():
		return MessagePack
	}
	return nil
}

// AppendIn is for package trunkcall.
func (a *Arguments) AppendIn(codec trunkcall.Codec, dst []byte) ([]byte, error) {
	if c := valueCodec(codec); c != nil {
		return c.Append(dst, a)
	}
	return nil, cannotCarry(codec, a.signature.name)
}

// DecodeIn is for package trunkcall.
func (a *Arguments) DecodeIn(codec trunkcall.Codec, data []byte) error {
	if c := valueCodec(codec); c != nil {
		return c.Decode(data, a)
	}
	return cannotCarry(codec, a.signature.name)
}

// AppendIn is for package trunkcall.
func (r *Results) AppendIn(codec trunkcall.Codec, dst []byte) ([]byte, error) {
	if c := valueCodec(codec); c != nil {
		return c.Append(dst, r)
	}
	return nil, trunkcall.ErrMessageType
}

// DecodeIn is for package trunkcall.
func (r *Results) DecodeIn(codec trunkcall.Codec, data []byte) error {
	if c := valueCodec(codec); c != nil {
		return c.Decode(data, r)
	}
	return trunkcall.ErrMessageType
}
