package web

import (
	"encoding/binary"
	"math"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// What several protocols write and read alike.

// Encodings are what gRPC calls the compressions, by their numbers.
var Encodings = [...]string{wire.Gzip: "gzip", wire.Zstd: "zstd"}

// EncodingNumber returns 0 for one that is not known.
func EncodingNumber(name string) uint8 {
	for n, known := range Encodings {
		if known == name && name != "" {
			return uint8(n)
		}
	}
	return 0
}

// CodecNumber is the number of a codec by the name that content types have for it.
func CodecNumber(name string) uint8 {
	switch name {
	case "proto":
		return 1
	case "json":
		return 2
	case "msgpack":
		return 3
	}
	return NamedCodec
}

// ParseTimeout reads a grpc-timeout: one to eight digits and a unit. left is in
// nanoseconds, and as long as can be told if it is longer than that.
func ParseTimeout(s string) (left int64, ok bool) {
	if len(s) < 2 || len(s) > 9 {
		return 0, false
	}
	n := int64(0)
	for _, c := range []byte(s[:len(s)-1]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	unit := int64(0)
	switch s[len(s)-1] {
	case 'H':
		unit = 3600e9
	case 'M':
		unit = 60e9
	case 'S':
		unit = 1e9
	case 'm':
		unit = 1e6
	case 'u':
		unit = 1e3
	case 'n':
		unit = 1
	default:
		return 0, false
	}
	if n > math.MaxInt64/unit {
		return math.MaxInt64, true
	}
	return n * unit, true
}

// frame puts the prefix before a message that begins behind Headroom bytes.
func Frame(message []byte, compressed bool) []byte {
	if message[0] = 0; compressed {
		message[0] = 1
	}
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-Headroom))
	return message
}
