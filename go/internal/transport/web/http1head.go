package web

import (
	"bytes"
	"strconv"
)

// heads follows the input of an HTTP/1.1 connection closely enough to tell the heads of requests
// from their bodies. It ends the connection at a head that net/http accepts but other
// implementations may read differently: conflicting lengths, and obsolete folding (RFC 9112 5.2,
// 6.1, 6.3). net/http reads and parses the same bytes afterwards.
type heads struct {
	at   place
	left int64 // bytes until what next says
	next place

	line   [64]byte // how the present line begins
	kept   int      // bytes of it in line
	length int64    // bytes of it in all
	last   [8]byte  // how it ends so far

	began   bool // the request's first line was there
	old     bool // it is of HTTP/1.0
	chunked bool
	sized   bool // there is a Content-Length
	size    int64
}

// place is what comes next on a connection.
type place uint8

const (
	inHead      place = iota // a line of a head
	inBody                   // bytes that are no lines
	inChunkSize              // the line ahead of a chunk
	inTrailer                // a line behind the last chunk
	anywhere                 // what net/http refuses or has given away
)

// pass returns how many of the bytes may be passed on; good is false if what
// follows them may not.
func (h *heads) pass(b []byte) (n int, good bool) {
	for n < len(b) {
		switch h.at {
		case anywhere:
			return len(b), true
		case inBody:
			piece := min(h.left, int64(len(b)-n))
			n += int(piece)
			if h.left -= piece; h.left == 0 {
				h.at = h.next
			}
		default:
			end := bytes.IndexByte(b[n:], '\n') + 1
			if end == 0 {
				h.keep(b[n:])
				return len(b), true
			}
			h.keep(b[n : n+end])
			n += end
			if !h.take() {
				return n - 1, false // so the head is never complete
			}
			h.kept, h.length, h.last = 0, 0, [8]byte{}
		}
	}
	return n, true
}

// keep adds to the present line.
func (h *heads) keep(b []byte) {
	h.kept += copy(h.line[h.kept:], b)
	h.length += int64(len(b))
	for _, c := range b[max(0, len(b)-len(h.last)-2):] {
		if c != '\r' && c != '\n' {
			copy(h.last[:], h.last[1:])
			h.last[len(h.last)-1] = c
		}
	}
}

// take takes the present line, which is complete. It reports false if its
// connection is to end.
func (h *heads) take() bool {
	line := bytes.TrimSuffix(bytes.TrimSuffix(h.line[:h.kept], []byte("\n")), []byte("\r"))
	switch h.at {
	case inChunkSize:
		h.chunk(line)
		return true
	case inTrailer:
		if len(line) == 0 {
			h.at = inHead
		}
		return true
	}
	switch {
	case len(line) == 0:
		return h.whole()
	case !h.began:
		h.began, h.old = true, string(h.last[:]) == "HTTP/1.0"
		return true
	case line[0] == ' ' || line[0] == '\t':
		return false
	}
	return h.field(line)
}

// field looks at one field of a head.
func (h *heads) field(line []byte) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		h.chunked = true
	case bytes.EqualFold(name, []byte("content-length")):
		size, err := strconv.ParseUint(string(bytes.Trim(value, " \t")), 10, 63)
		if err != nil || h.length > int64(len(h.line)) || h.sized && int64(size) != h.size {
			return false
		}
		h.sized, h.size = true, int64(size)
	}
	return true
}

// whole takes the end of a head.
func (h *heads) whole() bool {
	if !h.began {
		return true // net/http bears with empty lines ahead of one
	}
	chunked, size := h.chunked, h.size
	if chunked && (h.sized || h.old) {
		return false
	}
	*h = heads{}
	switch {
	case chunked:
		h.at = inChunkSize
	case size > 0:
		h.at, h.left, h.next = inBody, size, inHead
	}
	return true
}

// chunk takes the line ahead of a chunk.
func (h *heads) chunk(line []byte) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimRight(digits, " \t")), 16, 62)
	switch {
	case err != nil:
		h.at = anywhere // net/http ends the connection for it
	case size == 0:
		h.at = inTrailer
	default:
		h.at, h.left, h.next = inBody, int64(size)+2, inChunkSize // with the end of its line
	}
}
