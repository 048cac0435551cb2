package wire

import "strings"

// Body is the body of a CALL, DATA or RESULT, taken apart (section 4).
type Body struct {
	Metadata Metadata // of the users, nil when there is none
	Own      *Own     // of the protocol, nil when there is none
	Name     []byte   // the inline method name of a CALL with method id 0
	Total    uint32   // of a cut message, in its first piece
	Payload  []byte   // what remains
}

// ParseBody takes apart the body of a CALL, DATA or RESULT whose header passed
// Check, from left to right, and stops at the first fault. firstPiece says that
// the frame begins a cut message: it has FlagMore and no message of its stream
// is in progress. The class of the error says whether the call ends or the
// connection.
func ParseBody(h *Header, body []byte, firstPiece bool, local *Settings) (b Body, err *Error) {
	if h.Flags&FlagMore != 0 && h.Type != Result && len(body) < MinPiece {
		return b, violation(ErrPiece, "a piece of %d bytes before the last", len(body))
	}
	if h.Flags&FlagMeta != 0 {
		block, rest, ok := parseBytes(body)
		if !ok {
			return b, violation(ErrMetadata, "the metadata block of %v is cut short", h.Type)
		}
		if b.Metadata, b.Own, err = ParseMetadata(block, local); err != nil {
			return b, err
		}
		body = rest
	}
	if h.Type == Call && h.Code == 0 {
		var ok bool
		if b.Name, body, ok = parseBytes(body); !ok || len(b.Name) == 0 || len(b.Name) > MaxMethodName {
			return b, violation(ErrName, "the inline method name is empty, cut short or longer than %d bytes", MaxMethodName)
		}
	}
	if firstPiece {
		var ok bool
		if b.Total, body, ok = ParseVarint(body); !ok || b.Total == 0 || uint64(b.Total) < uint64(len(body)) {
			return b, violation(ErrPiece, "the total length of a cut message is unreadable, zero or exceeded by its first piece")
		}
	}
	b.Payload = body
	if len(body) != 0 && h.Flags&FlagMsg == 0 && (h.Type != Result || h.Code == 0) {
		return b, violation(ErrPiece, "%v has %d bytes of payload and no message", h.Type, len(body))
	}
	return b, nil
}

// AppendDefine appends a DEFINE frame that binds id to name.
func AppendDefine(dst []byte, id uint16, name string) []byte {
	dst = AppendHeader(dst, Header{
		Length: uint32(varintSize(uint32(len(name))) + len(name)),
		Type:   Define, Code: id,
	})
	dst = AppendVarint(dst, uint32(len(name)))
	return append(dst, name...)
}

// ParseDefine reads the body of a DEFINE.
func ParseDefine(body []byte) (name []byte, err *Error) {
	name, rest, ok := parseBytes(body)
	if !ok || len(name) == 0 || len(name) > MaxMethodName {
		return nil, violation(ErrMethod, "DEFINE with a name that is empty, cut short or longer than %d bytes", MaxMethodName)
	}
	err = eachTLV(rest, func(kind uint16, _ []byte) *Error {
		if kind&criticalBit != 0 {
			return violation(ErrMethod, "DEFINE with the unknown critical attribute %#04x", kind)
		}
		return nil
	})
	if err != nil {
		return nil, violation(ErrMethod, "%s", err.Text)
	}
	return name, nil
}

// Reasons of a GOAWAY (section 11.3). Others count as GoAwayDraining.
const (
	GoAwayDraining uint32 = iota
	GoAwayProtocolError
	GoAwayResourceLimit
	GoAwayPeerSilent
	GoAwayInternalError
	GoAwayNotServed // no call of this connection was or will be started
)

// AppendGoAway appends a GOAWAY with as much of text as it may hold.
func AppendGoAway(dst []byte, reason uint32, text string) []byte {
	if len(text) > MaxGoAwayText {
		text = shorten(text, MaxGoAwayText)
	}
	dst = AppendHeader(dst, Header{Length: uint32(len(text)), Type: GoAway, Word: reason})
	return append(dst, text...)
}

// ParseGoAway reads a GOAWAY without ACK: its reason and as much of its text
// as is kept.
func ParseGoAway(h *Header, body []byte) (reason uint32, text string) {
	if reason = h.Word; reason > GoAwayNotServed {
		reason = GoAwayDraining
	}
	text = string(body[:min(len(body), MaxGoAwayText+1)])
	if len(text) > MaxGoAwayText {
		text = shorten(text, MaxGoAwayText)
	}
	return reason, strings.ToValidUTF8(text, "\ufffd")
}
