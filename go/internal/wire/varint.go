package wire

import "strconv"

// maxVarint is the longest encoding of a value below 2^32.
const maxVarint = 5

// AppendVarint appends v as unsigned LEB128.
func AppendVarint(dst []byte, v uint32) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func varintSize(v uint32) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}

// ParseVarint reads one varint. It fails on a value of 2^32 or more, on an
// encoding longer than the value needs, and at the end of b.
func ParseVarint(b []byte) (v uint32, rest []byte, ok bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint32(b[0]), b[1:], true
	}
	var wide uint64
	for i := 0; i < len(b) && i < maxVarint; i++ {
		wide |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			if b[i] == 0 || wide > 0xffffffff {
				return 0, nil, false
			}
			return uint32(wide), b[i+1:], true
		}
	}
	return 0, nil, false
}

// parseBytes reads a varint length and that many bytes.
func parseBytes(b []byte) (value, rest []byte, ok bool) {
	n, rest, ok := ParseVarint(b)
	if !ok || uint64(n) > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n:n], rest[n:], true
}

func utoa(v uint32) string { return strconv.FormatUint(uint64(v), 10) }
