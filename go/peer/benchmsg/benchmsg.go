// Package benchmsg is the 581-byte message of the benchmarks and what the
// server does with it. It is shared by our own reference program and the peers
// beside it, so that all do the same work.
package benchmsg

import (
	"bytes"
	"fmt"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Size is the encoded size of the message that New makes.
const Size = 581

const (
	text   = "许多往事在眼前一幕一幕，变的那麼模糊"
	number = 100000
)

// What the handler of Say sets fields 1 and 2 to; the second to AnswerLong if it
// computed for long (--handler compute).
const (
	AnswerText   = "OK"
	AnswerNumber = 100
	AnswerLong   = 101
)

// New makes the message as clients send it: every string, integer and bool is
// set, the repeated field stays empty.
func New() *benchv1.BenchmarkMessage {
	message := &benchv1.BenchmarkMessage{}
	reflection := message.ProtoReflect()
	fields := reflection.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.IsList() {
			continue
		}
		reflection.Set(field, value(field.Kind()))
	}
	return message
}

func value(kind protoreflect.Kind) protoreflect.Value {
	switch kind {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text)
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(number)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(number)
	default:
		panic("the benchmark message has no field of kind " + kind.String())
	}
}

// Answer is the handler of Say. It changes the message that it was given, which
// is the handler's to keep, and returns it.
func Answer(message *benchv1.BenchmarkMessage) *benchv1.BenchmarkMessage {
	return answer(message, Work())
}

func answer(message *benchv1.BenchmarkMessage, number int32) *benchv1.BenchmarkMessage {
	// Constant variables may not be shared between messages: the receiver owns
	// what the fields point to.
	answered := AnswerText
	message.Field1, message.Field2 = &answered, &number
	return message
}

// Bytes makes the bytes of a payload.
func Bytes(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i)
	}
	return data
}

// CheckBytes tells whether the bytes of an answer are those that were to come.
func CheckBytes(got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes came back that were not sent", len(got))
	}
	return nil
}

// Check tells whether a message is an answer: nil, or load.ErrUntimed for one
// that took long to compute.
func Check(message *benchv1.BenchmarkMessage) error {
	return CheckFields(message.GetField1(), message.GetField2())
}

// CheckFields is Check for a message in some other representation.
func CheckFields(field1 string, field2 int32) error {
	switch {
	case field1 == AnswerText && field2 == AnswerNumber:
		return nil
	case field1 == AnswerText && field2 == AnswerLong:
		return load.ErrUntimed
	default:
		return fmt.Errorf("the answer has field1 %q and field2 %d, not %q and %d", field1, field2, AnswerText, AnswerNumber)
	}
}
