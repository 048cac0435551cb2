package trunkcall

import (
	"fmt"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Limits are what this side accepts from its peers on each connection; they are
// told so when it begins. A zero field means the default (spec/limits.md).
type Limits struct {
	FrameBytes      uint32 // largest body of a frame; default and least 64 KiB, at most 16 MiB less one
	MessageBytes    uint32 // largest message; default 64 MiB
	Calls           uint32 // calls that a peer may have open; default 1,024, at most 2^20 - 1
	MetadataBytes   uint32 // metadata of one side of a call; default and least 16 KiB, at most half of FrameBytes
	MetadataEntries uint32 // likewise; default and least 128
	Methods         uint32 // method names that a peer may give numbers; default and least 4,096, at most 65,535
	Window          uint32 // bytes of a stream that may be unconsumed; default and least 256 KiB, at most 2^31 - 1
	// Pool is how many bytes all streams of a new connection may together have unconsumed beyond
	// their windows; default 1 MiB, at most 2^31 - 1. Below zero there is no pool, and a stream
	// moves no faster than one Window for each round trip. MaxPool is what the pool grows to on a
	// long path; default an eighth of the memory (WithMemory), at most 128 MiB, or Pool if that is
	// more. Windows of HTTP/2 grow up to it too, but not above 32 MiB.
	Pool    int64
	MaxPool uint32
	// PingInterval is the least time that peers must leave between two PINGs; default 5 s, at most
	// 49 days. Below zero there is none.
	PingInterval time.Duration
}

// settings are the limits as the peer is told of them, and the bound of a
// growing pool. Faults in them are noted, and the default stands.
func (c *common) settings() (s wire.Settings, maxPool uint32) {
	l := &c.limits
	s = wire.DefaultSettings()
	s.Pool, maxPool = DefaultPool, uint32(max(min(DefaultMaxPool, c.memory/8), 0))
	leastMaxPool := uint32(DefaultPool)
	if l.Pool > 0 {
		leastMaxPool = uint32(min(l.Pool, wire.MaxWindow))
	}
	pings := max((l.PingInterval + time.Millisecond - 1).Milliseconds(), 0)
	if l.PingInterval < 0 {
		s.MinPingInterval = 0
	}
	for _, f := range []struct {
		name        string
		value       uint64
		field       *uint32
		least, most uint32
	}{
		{"frame bytes", uint64(l.FrameBytes), &s.FrameBody, s.FrameBody, wire.LargestFrameBody},
		{"message bytes", uint64(l.MessageBytes), &s.Message, 1, 1<<32 - 1},
		{"calls", uint64(l.Calls), &s.Calls, 0, 1<<20 - 1},
		{"metadata bytes", uint64(l.MetadataBytes), &s.MetadataBytes, s.MetadataBytes, max(s.FrameBody, l.FrameBytes) / 2},
		{"metadata entries", uint64(l.MetadataEntries), &s.MetadataEntries, s.MetadataEntries, 1<<32 - 1},
		{"methods", uint64(l.Methods), &s.Methods, s.Methods, wire.LargestMethods},
		{"window", uint64(l.Window), &s.Window, s.Window, wire.MaxWindow},
		{"pool", uint64(max(l.Pool, 0)), &s.Pool, 0, wire.MaxWindow},
		{"greatest pool", uint64(l.MaxPool), &maxPool, leastMaxPool, wire.MaxWindow},
		{"ping interval in ms", uint64(pings), &s.MinPingInterval, 0, 1<<32 - 1},
	} {
		switch {
		case f.value == 0:
		case f.value < uint64(f.least):
			c.wrong("%s is %d, least %d", f.name, f.value, f.least)
		case f.value > uint64(f.most):
			c.wrong("%s is %d, at most %d", f.name, f.value, f.most)
		default:
			*f.field = uint32(f.value)
		}
	}
	if l.Pool < 0 {
		s.Pool, maxPool = 0, 0
	}
	return s, max(maxPool, s.Pool)
}

// wrong notes what nobody can put right.
func (c *common) wrong(format string, args ...any) {
	c.wrongs = append(c.wrongs, fmt.Sprintf(format, args...))
}
