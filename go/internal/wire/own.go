package wire

// keyAttempt is the number of the one key that is the protocol's own
// (section 5.2); such numbers begin at firstOwnKey.
const (
	firstOwnKey = 0x80
	keyAttempt  = 0x82
)

// Own is what the protocol itself says in a metadata block. Users do not see
// it. A nil Own has no entries.
type Own struct {
	Attempt uint32 // 1 for the first; 0: it is not said
}

func (o *Own) any() bool { return o != nil && o.Attempt != 0 }

// take adds an entry with a number from firstOwnKey up; numbers that are not
// known are ignored.
func (o *Own) take(number byte, value []byte) *Error {
	if number != keyAttempt {
		return nil
	}
	if o.Attempt != 0 {
		return violation(ErrMetadata, "the protocol's key %#02x stands twice", number)
	}
	v, rest, ok := ParseVarint(value)
	if !ok || len(rest) > 0 || v == 0 {
		return violation(ErrMetadata, "the value of the protocol's key %#02x is malformed", number)
	}
	o.Attempt = v
	return nil
}

func (o *Own) count() int {
	if o.any() {
		return 1
	}
	return 0
}

func (o *Own) size() int {
	if o.any() {
		return 2 + varintSize(o.Attempt)
	}
	return 0
}

func (o *Own) append(dst []byte) []byte {
	if o.any() {
		dst = AppendVarint(append(dst, keyAttempt, byte(varintSize(o.Attempt))), o.Attempt)
	}
	return dst
}
