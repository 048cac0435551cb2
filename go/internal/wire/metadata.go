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

// commonKeys stand as one number on the wire (section 5.2); index 0 means
// that the key is spelt out.
var commonKeys = [...]string{
	1: "traceparent", 2: "tracestate", 3: "baggage", 4: "authorization", 5: "user-agent",
	6: "x-request-id", 7: "x-forwarded-for", 8: "b3", 9: "accept-language", 10: "cookie",
}

func commonKey(key string) byte {
	for n := 1; n < len(commonKeys); n++ {
		if commonKeys[n] == key {
			return byte(n)
		}
	}
	return 0
}

// CheckMetadata says what is wrong with sending m, and the protocol's own entries, to a peer with
// these limits; nil if nothing is. It is a function because users see the methods of Metadata.
func CheckMetadata(m Metadata, own *Own, s *Settings) *Error {
	for i := range m {
		if !validKey(m[i].Key) {
			return violation(ErrMetadata, "key %q: 1 to 255 of a-z 0-9 _ . - are allowed", m[i].Key)
		}
		if !binaryKey(m[i].Key) && !printable(m[i].Value) {
			return violation(ErrMetadata, "the value of %q is not printable ASCII; a key ending in -bin takes any bytes", m[i].Key)
		}
	}
	count, size := uint64(len(m)+own.count()), uint64(m.size()+own.size())
	switch {
	case count > uint64(s.MetadataEntries):
		return violation(ErrMetadataLimit, "%d entries exceed max_metadata_entries %d", count, s.MetadataEntries)
	case size > uint64(s.MetadataBytes):
		return violation(ErrMetadataLimit, "%d bytes exceed max_metadata_bytes %d", size, s.MetadataBytes)
	case size+maxVarint >= uint64(s.FrameBody)/2:
		// So that a status always fits behind trailers (section 5.4).
		return violation(ErrMetadataLimit, "%d bytes exceed half of max_frame_body %d", size, s.FrameBody)
	}
	return nil
}

func (p *Pair) size() int {
	size := 1 + varintSize(uint32(len(p.Value))) + len(p.Value)
	if commonKey(p.Key) == 0 {
		size += varintSize(uint32(len(p.Key))) + len(p.Key)
	}
	return size
}

// size is that of the entries, without the block's length before them.
func (m Metadata) size() int {
	size := 0
	for i := range m {
		size += m[i].size()
	}
	return size
}

// blockSize is the length of what AppendMetadata appends.
func blockSize(m Metadata, own *Own) int {
	size := m.size() + own.size()
	return varintSize(uint32(size)) + size
}

// AppendMetadata appends a metadata block with its length: the protocol's own
// entries, then the users'. They have passed CheckWith.
func AppendMetadata(dst []byte, m Metadata, own *Own) []byte {
	dst = AppendVarint(dst, uint32(m.size()+own.size()))
	dst = own.append(dst)
	for i := range m {
		n := commonKey(m[i].Key)
		dst = append(dst, n)
		if n == 0 {
			dst = AppendVarint(dst, uint32(len(m[i].Key)))
			dst = append(dst, m[i].Key...)
		}
		dst = AppendVarint(dst, uint32(len(m[i].Value)))
		dst = append(dst, m[i].Value...)
	}
	return dst
}

// ParseMetadata reads the entries of a block, which stand behind its length.
// They are judged by the receiver's own limits, from left to right, before
// anything is allocated. Entries under numbers that are not known are left out.
// m and own are nil when they would be empty.
func ParseMetadata(block []byte, s *Settings) (m Metadata, own *Own, err *Error) {
	if uint64(len(block)) > uint64(s.MetadataBytes) {
		return nil, nil, violation(ErrMetadataLimit, "%d bytes exceed max_metadata_bytes %d", len(block), s.MetadataBytes)
	}
	users, count := 0, uint32(0)
	var found Own
	for rest := block; len(rest) > 0; {
		if count++; count > s.MetadataEntries {
			return nil, nil, violation(ErrMetadataLimit, "more entries than max_metadata_entries %d", s.MetadataEntries)
		}
		var e entry
		if e, rest, err = parseEntry(rest); err != nil {
			return nil, nil, err
		}
		if e.ofUser() {
			users++
		} else if err = found.take(e.number, e.value); err != nil {
			return nil, nil, err
		}
	}
	if found.any() {
		own = &Own{}
		*own = found
	}
	if users == 0 {
		return nil, own, nil
	}
	m = make(Metadata, 0, users)
	for rest := block; len(rest) > 0; {
		var e entry
		e, rest, _ = parseEntry(rest)
		switch {
		case e.number == 0:
			m = append(m, Pair{string(e.key), string(e.value)})
		case e.ofUser():
			m = append(m, Pair{commonKeys[e.number], string(e.value)})
		}
	}
	return m, own, nil
}

// entry is one entry of a block as it stands there.
type entry struct {
	number     byte
	key, value []byte // key only when it is spelt out
}

// ofUser reports whether the entry is handed to users.
func (e *entry) ofUser() bool { return int(e.number) < len(commonKeys) }

func parseEntry(b []byte) (e entry, rest []byte, err *Error) {
	e.number, b = b[0], b[1:]
	var ok bool
	if e.number == 0 {
		if e.key, b, ok = parseBytes(b); !ok || !validKey(string(e.key)) {
			return e, nil, violation(ErrMetadata, "a key is cut short or not 1 to 255 of a-z 0-9 _ . -")
		}
	}
	if e.value, b, ok = parseBytes(b); !ok {
		return e, nil, violation(ErrMetadata, "a value is cut short")
	}
	if e.ofUser() && !binaryKey(string(e.key)) && !printable(string(e.value)) {
		return e, nil, violation(ErrMetadata, "a value is not printable ASCII and its key does not end in -bin")
	}
	return e, b, nil
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
