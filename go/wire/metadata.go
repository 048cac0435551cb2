package wire

import "strings"

// Pair is one entry of metadata. A key that ends in "-bin" has any bytes as
// its value, every other key printable ASCII.
type Pair struct {
	Key   string
	Value string
}

// Metadata is what travels with a call beside its messages: pairs in order,
// keys in lower case, possibly repeated. It is not safe for concurrent use.
type Metadata []Pair

// Get returns the first value of key, which is in lower case, or "".
func (m Metadata) Get(key string) string {
	for i := range m {
		if m[i].Key == key {
			return m[i].Value
		}
	}
	return ""
}

// Values returns all values of key in order.
func (m Metadata) Values(key string) []string {
	var values []string
	for i := range m {
		if m[i].Key == key {
			values = append(values, m[i].Value)
		}
	}
	return values
}

// Add appends a pair; the key is put into lower case.
func (m *Metadata) Add(key, value string) {
	*m = append(*m, Pair{strings.ToLower(key), value})
}

// commonKeys stand as one number on the wire (section 4.2); index 0 means
// that the key is spelt out.
var commonKeys = [...]string{
	1: "traceparent", 2: "tracestate", 3: "baggage", 4: "authorization", 5: "user-agent",
	6: "x-request-id", 7: "x-forwarded-for", 8: "b3", 9: "accept-language", 10: "cookie",
}

// Numbers from firstOwnKey up are the protocol's own and hidden from users.
const firstOwnKey = 0x80

func commonKey(key string) byte {
	for n := 1; n < len(commonKeys); n++ {
		if commonKeys[n] == key {
			return byte(n) //nolint:gosec // eleven entries
		}
	}
	return 0
}

// Check says what is wrong with m as metadata to send to a peer with these
// limits, or nil.
func (m Metadata) Check(s *Settings) *Error {
	size := 0
	for i := range m {
		if !validKey(m[i].Key) {
			return violation(ErrMetadata, "key %q: 1 to 255 of a-z 0-9 _ . - are allowed", m[i].Key)
		}
		if !binaryKey(m[i].Key) && !printable(m[i].Value) {
			return violation(ErrMetadata, "the value of %q is not printable ASCII; a key ending in -bin takes any bytes", m[i].Key)
		}
		size += m[i].size()
	}
	if uint64(len(m)) > uint64(s.MetadataEntries) {
		return violation(ErrMetadataLimit, "%d entries exceed max_metadata_entries %d", len(m), s.MetadataEntries)
	}
	if uint64(size) > uint64(s.MetadataBytes) { //nolint:gosec // a size is not negative
		return violation(ErrMetadataLimit, "%d bytes exceed max_metadata_bytes %d", size, s.MetadataBytes)
	}
	return nil
}

func (p *Pair) size() int {
	size := 1 + varintSize(uint32(len(p.Value))) + len(p.Value) //nolint:gosec // bounded by MetadataBytes, else refused
	if commonKey(p.Key) == 0 {
		size += varintSize(uint32(len(p.Key))) + len(p.Key) //nolint:gosec // as above
	}
	return size
}

// AppendMetadata appends m as a metadata block with its length. m has passed
// Check.
func AppendMetadata(dst []byte, m Metadata) []byte {
	dst = AppendVarint(dst, uint32(m.size())) //nolint:gosec // bounded by MetadataBytes
	for i := range m {
		n := commonKey(m[i].Key)
		dst = append(dst, n)
		if n == 0 {
			dst = AppendVarint(dst, uint32(len(m[i].Key))) //nolint:gosec // at most 255
			dst = append(dst, m[i].Key...)
		}
		dst = AppendVarint(dst, uint32(len(m[i].Value))) //nolint:gosec // bounded by MetadataBytes
		dst = append(dst, m[i].Value...)
	}
	return dst
}

// size is that of the entries, without the block's length before them.
func (m Metadata) size() int {
	size := 0
	for i := range m {
		size += m[i].size()
	}
	return size
}

// ParseMetadata reads the entries of a block (Body.Metadata), judged by the
// receiver's own limits before anything is allocated. Entries under unknown
// numbers, and the protocol's own, are left out of the result.
func ParseMetadata(block []byte, s *Settings) (Metadata, *Error) {
	if uint64(len(block)) > uint64(s.MetadataBytes) {
		return nil, violation(ErrMetadataLimit, "%d bytes exceed max_metadata_bytes %d", len(block), s.MetadataBytes)
	}
	count := 0
	err := eachEntry(block, func(number byte, key, value []byte) *Error {
		if count++; uint64(count) > uint64(s.MetadataEntries) { //nolint:gosec // counts up from 1
			return violation(ErrMetadataLimit, "more entries than max_metadata_entries %d", s.MetadataEntries)
		}
		return nil
	})
	if err != nil || count == 0 {
		return nil, err
	}
	m := make(Metadata, 0, count)
	_ = eachEntry(block, func(number byte, key, value []byte) *Error {
		switch {
		case number == 0:
			m = append(m, Pair{string(key), string(value)})
		case int(number) < len(commonKeys):
			m = append(m, Pair{commonKeys[number], string(value)})
		}
		return nil
	})
	return m, nil
}

// eachEntry visits the entries of a block and stops at the first that is
// malformed. key is nil unless it is spelt out.
func eachEntry(block []byte, visit func(number byte, key, value []byte) *Error) *Error {
	for len(block) > 0 {
		number := block[0]
		block = block[1:]
		var key, value []byte
		ok := true
		if number == 0 {
			if key, block, ok = parseBytes(block); !ok || !validKey(string(key)) {
				return violation(ErrMetadata, "a key that is cut short or not 1 to 255 of a-z 0-9 _ . -")
			}
		}
		if value, block, ok = parseBytes(block); !ok {
			return violation(ErrMetadata, "a value is cut short")
		}
		text := number == 0 && !binaryKey(string(key)) || number > 0 && int(number) < len(commonKeys)
		if text && !printable(string(value)) {
			return violation(ErrMetadata, "a value is not printable ASCII and its key does not end in -bin")
		}
		if err := visit(number, key, value); err != nil {
			return err
		}
	}
	return nil
}

func binaryKey(key string) bool { return strings.HasSuffix(key, "-bin") }

func validKey(key string) bool {
	if len(key) == 0 || len(key) > 255 {
		return false
	}
	for i := range len(key) {
		c := key[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func printable(value string) bool {
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return false
		}
	}
	return true
}
