package wire

import "encoding/binary"

// The preface (section 2). Its layout never changes, whatever the version.
const (
	PrefaceSize = 16
	Version     = 1 // spoken here, the lowest and the highest
)

// Magic begins every native connection.
var Magic = [4]byte{0xf5, 0x54, 0x4b, 0x31}

// Fixed limits, and the defaults of those that settings change
// (spec/limits.md).
const (
	MaxSettings   = 16 << 10 // bytes of settings
	MaxMethodName = 1 << 10
	MaxGoAwayText = 1 << 10
	MaxWindow     = 1<<31 - 1
	MinPiece      = 64 << 10 // body of every piece of a cut message but the last

	DefaultFrameBody       = 64 << 10
	DefaultMessage         = 64 << 20
	DefaultCalls           = 1024
	DefaultMetadataBytes   = 16 << 10
	DefaultMetadataEntries = 128
	DefaultMethods         = 4096
	DefaultWindow          = 256 << 10
	DefaultMinPingInterval = 5000 // milliseconds

	LargestFrameBody = 1<<24 - 1
	LargestMethods   = 1<<16 - 1
)

// Settings are the limits that one side states for what it receives.
type Settings struct {
	Window            uint32           // initial window of each stream, bytes
	FrameBody         uint32           // largest frame body, bytes
	Message           uint32           // largest message, bytes as sent and as decompressed
	Calls             uint32           // calls the peer may have open at once
	MetadataBytes     uint32           // of one block
	MetadataEntries   uint32           // of one block
	Methods           uint32           // highest method id
	KeepaliveInterval uint32           // milliseconds, 0: none
	MinPingInterval   uint32           // milliseconds
	Pool              uint32           // granted at first, bytes
	Codecs            map[uint8]string // names of the codec numbers 8 to 15 that the side has
	Compressions      uint16           // bit n: compression n is accepted
}

// Compression numbers; those above are reserved, and ignored in settings.
const (
	Gzip uint8 = 1
	Zstd uint8 = 2

	knownCompressions = 1<<Gzip | 1<<Zstd
)

// DefaultSettings are what a peer is taken to accept until its preface says
// more.
func DefaultSettings() Settings {
	return Settings{
		Window:          DefaultWindow,
		FrameBody:       DefaultFrameBody,
		Message:         DefaultMessage,
		Calls:           DefaultCalls,
		MetadataBytes:   DefaultMetadataBytes,
		MetadataEntries: DefaultMetadataEntries,
		Methods:         DefaultMethods,
		MinPingInterval: DefaultMinPingInterval,
	}
}

// Preface is what each side sends first.
type Preface struct {
	Version  uint8 // of the bytes that follow
	Highest  uint8 // version that the sender speaks
	Settings Settings
}

const (
	criticalBit = 0x8000

	setFrameBody         = 1
	setMessage           = 2
	setCalls             = 3
	setMetadataBytes     = 4
	setMetadataEntries   = 5
	setMethods           = 6
	setCodecs            = 7
	setCompressions      = 8
	setKeepaliveInterval = 9
	setMinPingInterval   = 10
	setPool              = 11
	knownSettings        = 12
)

// number describes one integer setting: where it lies and what it may be.
type number struct {
	field      func(*Settings) *uint32
	name       string
	least      uint32
	most       uint32
	defaulting uint32
}

var numbers = [knownSettings]*number{
	setFrameBody:         {func(s *Settings) *uint32 { return &s.FrameBody }, "max_frame_body", DefaultFrameBody, LargestFrameBody, DefaultFrameBody},
	setMessage:           {func(s *Settings) *uint32 { return &s.Message }, "max_message", 1, 1<<32 - 1, DefaultMessage},
	setCalls:             {func(s *Settings) *uint32 { return &s.Calls }, "max_calls", 0, maxSlot, DefaultCalls},
	setMetadataBytes:     {func(s *Settings) *uint32 { return &s.MetadataBytes }, "max_metadata_bytes", DefaultMetadataBytes, 1<<32 - 1, DefaultMetadataBytes},
	setMetadataEntries:   {func(s *Settings) *uint32 { return &s.MetadataEntries }, "max_metadata_entries", DefaultMetadataEntries, 1<<32 - 1, DefaultMetadataEntries},
	setMethods:           {func(s *Settings) *uint32 { return &s.Methods }, "max_methods", DefaultMethods, LargestMethods, DefaultMethods},
	setKeepaliveInterval: {func(s *Settings) *uint32 { return &s.KeepaliveInterval }, "keepalive_interval", 0, 1<<32 - 1, 0},
	setMinPingInterval:   {func(s *Settings) *uint32 { return &s.MinPingInterval }, "min_ping_interval", 0, 1<<32 - 1, DefaultMinPingInterval},
	setPool:              {func(s *Settings) *uint32 { return &s.Pool }, "pool", 0, MaxWindow, 0},
}

// AppendPreface appends p; settings that equal their default are left out.
func AppendPreface(dst []byte, p *Preface) []byte {
	dst = append(dst, Magic[:]...)
	dst = append(dst, p.Version, p.Highest, 0, 0) // and two bytes that are reserved
	dst = binary.LittleEndian.AppendUint32(dst, p.Settings.Window)
	dst = binary.LittleEndian.AppendUint32(dst, 0) // length, set below
	start := len(dst)
	for kind, n := range numbers {
		if n == nil {
			dst = p.Settings.appendList(dst, uint16(kind))
			continue
		}
		if v := *n.field(&p.Settings); v != n.defaulting {
			dst = appendTLVHeader(dst, uint16(kind), 4)
			dst = binary.LittleEndian.AppendUint32(dst, v)
		}
	}
	binary.LittleEndian.PutUint32(dst[start-4:], uint32(len(dst)-start))
	return dst
}

func (s *Settings) appendList(dst []byte, kind uint16) []byte {
	var value []byte
	switch kind {
	case setCodecs:
		for n := uint8(8); n < 16; n++ {
			if name := s.Codecs[n]; name != "" {
				value = append(append(value, n, byte(len(name))), name...)
			}
		}
	case setCompressions:
		for n := byte(1); n < 16; n++ {
			if s.Compressions&(1<<n) != 0 {
				value = append(value, n)
			}
		}
	}
	if len(value) == 0 {
		return dst
	}
	return append(appendTLVHeader(dst, kind, len(value)), value...)
}

// ParsePreface reads a preface with its settings. size is 0 while b is a
// proper prefix of one, else the bytes it takes. The settings of a version
// that is not spoken here are not read: err then has class ErrVersion, and p
// its first fields.
func ParsePreface(b []byte) (p Preface, size int, err *Error) {
	if err := checkPreface(b); err != nil || len(b) < PrefaceSize {
		return p, 0, err
	}
	p.Version, p.Highest = b[4], b[5]
	p.Settings = DefaultSettings()
	p.Settings.Window = binary.LittleEndian.Uint32(b[8:])
	length := binary.LittleEndian.Uint32(b[12:])
	switch {
	case p.Version != Version:
		return p, 0, violation(ErrVersion, "the peer speaks version %d (at most %d), this side version %d", p.Version, p.Highest, Version)
	case length > MaxSettings:
		return p, 0, violation(ErrPreface, "%d bytes of settings exceed %d", length, MaxSettings)
	}
	size = PrefaceSize + int(length)
	if len(b) < size {
		return p, 0, nil
	}
	if err := p.Settings.parse(b[PrefaceSize:size]); err != nil {
		return p, 0, err
	}
	return p, size, nil
}

// checkPreface makes the checks of the fixed part whose bytes have arrived, but
// for those that need all of it.
func checkPreface(b []byte) *Error {
	for i := range min(len(b), len(Magic)) {
		if b[i] != Magic[i] {
			return violation(ErrPreface, "the first bytes are not Trunkcall's")
		}
	}
	switch {
	case len(b) > 4 && b[4] == 0:
		return violation(ErrPreface, "version 0")
	case len(b) > 5 && b[5] < b[4]:
		return violation(ErrPreface, "version %d with highest version %d", b[4], b[5])
	case len(b) >= 12 && b[4] == Version:
		if window := binary.LittleEndian.Uint32(b[8:]); window < DefaultWindow || window > MaxWindow {
			return violation(ErrPreface, "initial window of %d bytes", window)
		}
	}
	return nil
}

func (s *Settings) parse(b []byte) *Error {
	var seen [knownSettings]bool
	return eachTLV(b, func(kind uint16, value []byte) *Error {
		if kind == 0 || kind >= knownSettings {
			if kind&criticalBit != 0 {
				return violation(ErrSetting, "unknown critical setting %#04x", kind)
			}
			return nil
		}
		if seen[kind] {
			return violation(ErrSetting, "setting %d is repeated", kind)
		}
		seen[kind] = true
		switch n := numbers[kind]; {
		case n == nil && kind == setCodecs:
			return s.parseCodecs(value)
		case n == nil:
			return s.parseCompressions(value)
		case len(value) != 4:
			return violation(ErrSetting, "%s has %d bytes instead of 4", n.name, len(value))
		default:
			v := binary.LittleEndian.Uint32(value)
			if v < n.least || v > n.most {
				return violation(ErrSetting, "%s %d is not in %d..%d", n.name, v, n.least, n.most)
			}
			*n.field(s) = v
			return nil
		}
	})
}

func (s *Settings) parseCodecs(b []byte) *Error {
	s.Codecs = map[uint8]string{}
	for len(b) > 0 {
		if len(b) < 2 || b[1] == 0 || len(b) < 2+int(b[1]) {
			return violation(ErrSetting, "codecs: an entry is cut short or has no name")
		}
		n := b[0]
		if n < 8 || n > 15 || s.Codecs[n] != "" {
			return violation(ErrSetting, "codecs: number %d is out of range or repeated", n)
		}
		s.Codecs[n] = string(b[2 : 2+int(b[1])])
		b = b[2+int(b[1]):]
	}
	return nil
}

func (s *Settings) parseCompressions(b []byte) *Error {
	for _, n := range b {
		if n == 0 || n > 15 {
			return violation(ErrSetting, "compressions: number %d", n)
		}
		s.Compressions |= 1 << n & knownCompressions
	}
	return nil
}

func appendTLVHeader(dst []byte, kind uint16, length int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, kind)
	return binary.LittleEndian.AppendUint16(dst, uint16(length))
}

func eachTLV(b []byte, visit func(kind uint16, value []byte) *Error) *Error {
	for len(b) > 0 {
		if len(b) < 4 {
			return violation(ErrSetting, "%d stray bytes after the last entry", len(b))
		}
		kind, length := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		if len(b)-4 < length {
			return violation(ErrSetting, "entry %#04x is cut short", kind)
		}
		if err := visit(kind, b[4:4+length]); err != nil {
			return err
		}
		b = b[4+length:]
	}
	return nil
}
