package http2

import (
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Field is a header or trailer field; its name is in lower case.
type Field struct{ Name, Value string }

// Request is the head of a request. It and its Fields are valid during
// Handler.Accept only; the strings may be kept.
type Request struct {
	Method, Path, Scheme, Authority string
	// Fields are the regular fields in order.
	Fields []Field
	// Ended says that no body follows.
	Ended bool
	// Length is the body's as content-length has it, -1 if it does not say.
	Length int64
	// TooLarge names the limit that the header list crossed, "" as a rule. Fields then holds those before.
	TooLarge string
}

// headerBlock is a header block that is being read.
type headerBlock struct {
	stream        uint32
	trailers      bool
	ended         bool  // END_STREAM
	size          int   // bytes of it that have come
	continuations int   // frames
	began         int64 // when the first has come, 0: there is none
	list          uint32
	fault         string // why the request is malformed
	regular       bool   // a field that is no pseudo-header was there
	seen          uint8  // pseudo-headers
	host          string
	length        string
	expects       bool // leave to send the body
	request       Request
}

const (
	// blockFactor is how much longer than its limit a header block may be before the
	// connection is closed instead of the request refused: it must be decoded
	// whatever becomes of the request.
	blockFactor = 4
	// maxContinuations is how many frames a header block may be strewn over.
	maxContinuations = 64
)

const (
	seenMethod = 1 << iota
	seenPath
	seenScheme
	seenAuthority
)

func (c *Conn) headersLocked(f *h2.HeadersFrame) error {
	id := f.StreamID
	b := &c.block
	fields := b.request.Fields[:0]
	clear(b.request.Fields)
	*b = headerBlock{stream: id, ended: f.StreamEnded(), request: Request{Length: -1, Fields: fields}}
	if id&1 == 0 {
		return violate(h2.ErrCodeProtocol, "a client opens stream %d, an even number", id)
	}
	if id <= c.lastID {
		b.trailers = true
		s := c.streams[id]
		switch {
		case s == nil && !c.recentlyShut.has(id):
			return violate(h2.ErrCodeStreamClosed, "HEADERS on stream %d, which is closed", id)
		case s != nil && s.ended:
			return violate(h2.ErrCodeStreamClosed, "HEADERS on stream %d after END_STREAM", id)
		}
	} else {
		c.lastID = id
	}
	if f.HasPriority() && f.Priority.StreamDep == id {
		b.fault = "the stream depends on itself"
	}
	return c.fragmentLocked(f.HeaderBlockFragment(), f.HeadersEnded())
}

func (c *Conn) continuationLocked(f *h2.ContinuationFrame) error {
	c.block.continuations++
	if c.block.continuations > maxContinuations {
		return violate(h2.ErrCodeEnhanceYourCalm, "a header block in more than %d CONTINUATION frames", maxContinuations)
	}
	return c.fragmentLocked(f.HeaderBlockFragment(), f.HeadersEnded())
}

// fragmentLocked decodes a part of a header block. All are decoded, whatever
// becomes of the request, since later ones build upon them.
func (c *Conn) fragmentLocked(fragment []byte, last bool) error {
	b := &c.block
	if b.size += len(fragment); b.size > blockFactor*int(c.config.HeaderBytes) {
		return violate(h2.ErrCodeEnhanceYourCalm, "a header block exceeds %d times SETTINGS_MAX_HEADER_LIST_SIZE %d", blockFactor, c.config.HeaderBytes)
	}
	if _, err := c.decoder.Write(fragment); err != nil {
		return violate(h2.ErrCodeCompression, "%v", err)
	}
	if !last {
		if b.began == 0 {
			if b.began = c.frameBegan; b.began == 0 {
				b.began = c.lastRead
			}
			c.armLocked(b.began + int64(c.config.Handshake))
		}
		return nil
	}
	b.began = 0
	c.decoder.SetEmitEnabled(true)
	if err := c.decoder.Close(); err != nil {
		return violate(h2.ErrCodeCompression, "%v", err)
	}
	if b.trailers {
		return c.trailersLocked()
	}
	b.check()
	return c.openLocked()
}

// field takes one field of a block; the decoder calls it.
func (c *Conn) field(f hpack.HeaderField) {
	b := &c.block
	if b.fault != "" {
		c.decoder.SetEmitEnabled(false)
		return
	}
	if b.list += f.Size(); b.list > c.config.HeaderBytes {
		b.request.TooLarge = "header list exceeds max_header_list_size " + strconv.Itoa(int(c.config.HeaderBytes))
	} else if len(b.request.Fields) >= c.config.Fields {
		b.request.TooLarge = "header fields exceed their limit of " + strconv.Itoa(c.config.Fields)
	}
	if b.request.TooLarge != "" {
		c.decoder.SetEmitEnabled(false)
		return
	}
	if !validValue(f.Value) {
		b.fault = "a field has a value that no field may have"
	} else if strings.HasPrefix(f.Name, ":") {
		b.pseudo(f.Name, f.Value)
	} else {
		b.ordinary(f.Name, f.Value)
	}
}

// validValue is RFC 9113 8.2.1: no NUL, CR or LF, no space around it; and no other
// control characters (RFC 9110 5.5).
func validValue(v string) bool {
	if v == "" {
		return true
	}
	if first, last := v[0], v[len(v)-1]; first == ' ' || first == '\t' || last == ' ' || last == '\t' {
		return false
	}
	for i := range len(v) {
		if v[i] < 0x20 && v[i] != '\t' || v[i] == 0x7f {
			return false
		}
	}
	return true
}

func (b *headerBlock) pseudo(name, value string) {
	var bit uint8
	r := &b.request
	switch name {
	case ":method":
		bit, r.Method = seenMethod, value
	case ":path":
		bit, r.Path = seenPath, value
	case ":scheme":
		bit, r.Scheme = seenScheme, value
	case ":authority":
		bit, r.Authority = seenAuthority, value
	}
	if bit == 0 || b.seen&bit != 0 || b.regular || b.trailers {
		b.fault = "a pseudo-header is unknown, repeated, or not where it belongs"
	}
	b.seen |= bit
}

func (b *headerBlock) ordinary(name, value string) {
	b.regular = true
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		b.fault = "a field that HTTP/2 forbids"
	case "te":
		if value != "trailers" {
			b.fault = "te other than trailers"
		}
	case "expect":
		b.expects = strings.EqualFold(value, "100-continue")
	case "host":
		if b.host != "" && b.host != value {
			b.fault = "two hosts"
		}
		b.host = value
	case "content-length":
		if b.length != "" && b.length != value {
			b.fault = "two content-lengths"
		}
		b.length = value
	default:
		if !validName(name) {
			b.fault = "a field has a name that no field may have"
		}
	}
	if b.fault == "" && !b.trailers {
		b.request.Fields = append(b.request.Fields, Field{name, value})
	}
}

func validName(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		if c := name[i]; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' {
			continue
		} else if 'A' <= c && c <= 'Z' || !httpguts.IsTokenRune(rune(c)) {
			return false
		}
	}
	return true
}

// check looks at the head as a whole (RFC 9113 8.1.1, 8.3.1).
func (b *headerBlock) check() {
	r := &b.request
	switch {
	case b.fault != "" || r.TooLarge != "":
	case r.Method == "CONNECT":
		if b.seen&(seenPath|seenScheme) != 0 {
			b.fault = "CONNECT with a path or scheme"
		}
	case b.seen&(seenMethod|seenPath|seenScheme) != seenMethod|seenPath|seenScheme || r.Path == "":
		b.fault = "a pseudo-header is missing"
	case r.Path[0] != '/' && r.Path != "*":
		b.fault = "a path that does not begin with /"
	}
	if b.host != "" {
		if r.Authority == "" {
			r.Authority = b.host
		} else if r.Authority != b.host {
			b.fault = "host differs from :authority"
		}
	}
	if b.length != "" {
		length, err := strconv.ParseUint(b.length, 10, 63)
		if err != nil || b.ended && length != 0 {
			b.fault = "a content-length that is wrong"
		}
		r.Length = int64(length)
	}
	r.Ended = b.ended
}
