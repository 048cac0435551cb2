package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Code is one of gRPC's status codes (spec/status.md).
type Code uint16

// The codes.
const (
	OK Code = iota
	Canceled
	Unknown
	InvalidArgument
	DeadlineExceeded
	NotFound
	AlreadyExists
	PermissionDenied
	ResourceExhausted
	FailedPrecondition
	Aborted
	OutOfRange
	Unimplemented
	Internal
	Unavailable
	DataLoss
	Unauthenticated

	maxCode = Unauthenticated
)

var codeNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "CODE(" + strconv.Itoa(int(c)) + ")"
}

// Delivery says of a failed call whether its handler ran.
type Delivery uint8

// The delivery classes. NotSent and Refused are safe to repeat. What nobody has
// filled in is unknown.
const (
	DeliveryUnknown Delivery = iota // none of the below can be shown
	NotSent                         // no byte of the call left this side
	Refused                         // the callee says that it never started the handler
	Executed                        // the handler itself answered
)

func (d Delivery) String() string {
	return [...]string{"unknown", "not_sent", "refused", "executed"}[d&3]
}

// Detail is one typed detail of an error: a google.protobuf.Any by its parts.
type Detail struct {
	TypeURL string
	Value   []byte
}

// AppendStatus appends the payload of an error RESULT in at most limit bytes:
// details that do not fit are dropped together, then the message is shortened
// at a character boundary. stripped reports either.
func AppendStatus(dst []byte, message string, details []Detail, limit int) (out []byte, stripped bool) {
	if len(message) == 0 && len(details) == 0 {
		return dst, false
	}
	message = strings.ToValidUTF8(message, "\ufffd")
	size := varintSize(uint32(len(message))) + len(message) + varintSize(uint32(len(details)))
	for i := range details {
		size += varintSize(uint32(len(details[i].TypeURL))) + len(details[i].TypeURL) +
			varintSize(uint32(len(details[i].Value))) + len(details[i].Value)
	}
	if size > limit {
		stripped = true
		details = nil
		if room := limit - maxVarint - 1; len(message) > room {
			message = shorten(message, room)
		}
	}
	dst = AppendVarint(dst, uint32(len(message)))
	dst = append(dst, message...)
	dst = AppendVarint(dst, uint32(len(details)))
	for i := range details {
		dst = AppendVarint(dst, uint32(len(details[i].TypeURL)))
		dst = append(dst, details[i].TypeURL...)
		dst = AppendVarint(dst, uint32(len(details[i].Value)))
		dst = append(dst, details[i].Value...)
	}
	return dst, stripped
}

func shorten(s string, room int) string {
	if room <= 0 {
		return ""
	}
	for room > 0 && !utf8.RuneStart(s[room]) {
		room--
	}
	return s[:room]
}

// MalformedStatus is the message of a status whose payload cannot be read.
const MalformedStatus = "malformed status payload"

// ParseStatus reads the payload of an error RESULT. Its code stands in the
// header and is kept whatever the payload holds.
func ParseStatus(payload []byte) (message string, details []Detail, err *Error) {
	if len(payload) == 0 {
		return "", nil, nil
	}
	text, rest, ok := parseBytes(payload)
	var count uint32
	if ok {
		count, rest, ok = ParseVarint(rest)
	}
	// A detail takes two bytes at least, so the count cannot make us allocate
	// more than the payload warrants.
	for ; ok && count > 0; count-- {
		var url, value []byte
		if url, rest, ok = parseBytes(rest); !ok {
			break
		}
		if value, rest, ok = parseBytes(rest); !ok {
			break
		}
		details = append(details, Detail{strings.ToValidUTF8(string(url), "\ufffd"), append([]byte{}, value...)})
	}
	if !ok || len(rest) != 0 {
		return MalformedStatus, nil, violation(ErrStatus, MalformedStatus)
	}
	return strings.ToValidUTF8(string(text), "\ufffd"), details, nil
}
