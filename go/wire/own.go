package wire

// Numbers of the protocol's own keys (section 5.2); they begin at 0x80.
const (
	keyPriority       = 0x80
	keyIdempotencyKey = 0x81
	keyAttempt        = 0x82
	keyLoadHint       = 0x83
)

// OwnKeys is a set of the protocol's own metadata keys.
type OwnKeys uint8

// The keys.
const (
	OwnPriority OwnKeys = 1 << iota
	OwnIdempotencyKey
	OwnAttempt
	OwnLoadHint
)

// Own is what the protocol itself says in a metadata block. Users do not see
// it. A nil Own has no entries.
type Own struct {
	Has            OwnKeys // the fields that are there
	Priority       uint8
	IdempotencyKey string // not empty
	Attempt        uint32 // 1 for the first
	LoadHint       uint32
}

func (o *Own) has(key OwnKeys) bool { return o != nil && o.Has&key != 0 }

// take adds an entry with a number from keyPriority up; numbers that are not
// known are ignored.
func (o *Own) take(number byte, value []byte) *Error {
	if number < keyPriority || number > keyLoadHint {
		return nil
	}
	key := OwnKeys(1) << (number - keyPriority)
	if o.has(key) {
		return violation(ErrMetadata, "the protocol's key %#02x stands twice", number)
	}
	o.Has |= key
	ok := false
	switch number {
	case keyPriority:
		if ok = len(value) == 1; ok {
			o.Priority = value[0]
		}
	case keyIdempotencyKey:
		o.IdempotencyKey, ok = string(value), len(value) > 0
	case keyAttempt:
		o.Attempt, ok = wholeVarint(value)
		ok = ok && o.Attempt > 0
	case keyLoadHint:
		o.LoadHint, ok = wholeVarint(value)
	}
	if !ok {
		return violation(ErrMetadata, "the value of the protocol's key %#02x is malformed", number)
	}
	return nil
}

func wholeVarint(b []byte) (v uint32, ok bool) {
	v, rest, ok := ParseVarint(b)
	return v, ok && len(rest) == 0
}

func (o *Own) count() int {
	n := 0
	for key := OwnPriority; key <= OwnLoadHint; key <<= 1 {
		if o.has(key) {
			n++
		}
	}
	return n
}

func (o *Own) size() int {
	size := 0
	if o.has(OwnPriority) {
		size += 3
	}
	if o.has(OwnIdempotencyKey) {
		size += 1 + varintSize(uint32(len(o.IdempotencyKey))) + len(o.IdempotencyKey)
	}
	if o.has(OwnAttempt) {
		size += 2 + varintSize(o.Attempt)
	}
	if o.has(OwnLoadHint) {
		size += 2 + varintSize(o.LoadHint)
	}
	return size
}

func (o *Own) append(dst []byte) []byte {
	if o.has(OwnPriority) {
		dst = append(dst, keyPriority, 1, o.Priority)
	}
	if o.has(OwnIdempotencyKey) {
		dst = AppendVarint(append(dst, keyIdempotencyKey), uint32(len(o.IdempotencyKey)))
		dst = append(dst, o.IdempotencyKey...)
	}
	if o.has(OwnAttempt) {
		dst = AppendVarint(append(dst, keyAttempt, byte(varintSize(o.Attempt))), o.Attempt)
	}
	if o.has(OwnLoadHint) {
		dst = AppendVarint(append(dst, keyLoadHint, byte(varintSize(o.LoadHint))), o.LoadHint)
	}
	return dst
}
