package wire

import "fmt"

// Class names the rule that a peer broke, as the vectors and spec/protocol.md
// spell it.
type Class string

// Classes that end the connection.
const (
	ErrPreface   Class = "preface"
	ErrVersion   Class = "version"
	ErrSetting   Class = "setting"
	ErrType      Class = "type"
	ErrLength    Class = "length"
	ErrFlags     Class = "flags"
	ErrReserved  Class = "reserved"
	ErrStreamID  Class = "stream_id"
	ErrValue     Class = "value"
	ErrDirection Class = "direction"
	ErrState     Class = "state"
	ErrMethod    Class = "method"
	ErrPiece     Class = "piece"
	ErrCredit    Class = "credit"
	ErrFlood     Class = "flood"
	ErrSilence   Class = "silence"  // nothing came within the keepalive's bound
	ErrInternal  Class = "internal" // this side failed, not the peer
)

// Classes that end one call.
const (
	ErrMetadata      Class = "metadata"
	ErrMetadataLimit Class = "metadata_limit"
	ErrName          Class = "name"
	ErrStatus        Class = "status"
	ErrMessageSize   Class = "message_size"
	ErrUnknownMethod Class = "unknown_method"
	ErrCodec         Class = "codec"
	ErrCompression   Class = "compression"
	ErrMessages      Class = "messages" // not exactly one where one is expected (section 7.4)
)

// EndsCall reports whether a breach of the rule harms one call only; any other
// ends the connection (section 15).
func (c Class) EndsCall() bool {
	switch c {
	case ErrMetadata, ErrMetadataLimit, ErrName, ErrStatus, ErrMessageSize, ErrUnknownMethod, ErrCodec, ErrCompression, ErrMessages:
		return true
	}
	return false
}

// requestCode is the status with which a callee ends a call for a fault of
// this class, answerCode that of a caller (section 15).
func (c Class) requestCode() Code {
	switch c {
	case ErrMetadataLimit, ErrMessageSize:
		return ResourceExhausted
	case ErrUnknownMethod, ErrCodec, ErrCompression, ErrMessages:
		return Unimplemented
	}
	return InvalidArgument
}

func (c Class) answerCode() Code {
	switch c {
	case ErrMetadataLimit, ErrMessageSize:
		return ResourceExhausted
	case ErrMessages:
		return Unimplemented
	}
	return Internal
}

// Error is a violation of the protocol: its class and a sentence that says
// what was wrong and where.
type Error struct {
	Class Class
	Text  string
}

func (e *Error) Error() string { return string(e.Class) + ": " + e.Text }

func violation(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Text: fmt.Sprintf(format, args...)}
}
