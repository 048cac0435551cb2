package http2

import (
	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Block is fields that many answers have in common. A connection remembers how
// it encodes a block, so that it costs a copy only. It must not be changed.
type Block struct{ fields []Field }

// NewBlock returns a block of these fields; the head of an answer begins with
// ":status".
func NewBlock(fields ...Field) *Block { return &Block{fields} }

// Answer is what ends a request.
type Answer struct {
	// Head and HeadFields are the header, sent unless it was sent before.
	Head       *Block
	HeadFields []Field
	// Body is what follows, perhaps nothing.
	Body []byte
	// Tail and TailFields are the trailers, if there are any.
	Tail       *Block
	TailFields []Field
	// Merge sends header and trailers as one, if there is no body between them.
	Merge bool
}

func (a *Answer) hasTail() bool { return a.Tail != nil || len(a.TailFields) > 0 }

// knownBlock is how a Block is encoded while the encoder's table stays as it is.
type knownBlock struct {
	block   *Block
	inserts uint32
	encoded []byte
}

// encodeLocked appends a block and further fields to c.encoded.
func (c *Conn) encodeLocked(b *Block, fields []Field) {
	if b != nil {
		c.encodeBlockLocked(b)
	}
	for i := range fields {
		c.encodeFieldLocked(&fields[i])
	}
}

func (c *Conn) encodeBlockLocked(b *Block) {
	for i := range c.blocks {
		if known := &c.blocks[i]; known.block == b && known.inserts == c.inserts {
			c.encoded.Write(known.encoded)
			return
		}
	}
	inserts, start := c.inserts, c.encoded.Len()
	for i := range b.fields {
		c.encodeFieldLocked(&b.fields[i])
	}
	if inserts != c.inserts {
		return // it would not be encoded like that again
	}
	known := &c.blocks[c.nextBlock]
	c.nextBlock = (c.nextBlock + 1) % len(c.blocks)
	*known = knownBlock{b, c.inserts, append(known.encoded[:0], c.encoded.Bytes()[start:]...)}
}

func (c *Conn) encodeFieldLocked(f *Field) {
	start := c.encoded.Len()
	_ = c.encoder.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value})
	// An addition to the table, or before it a change of the table's size,
	// shifts what is there (RFC 7541 6.2.1, 6.3).
	if first := c.encoded.Bytes()[start]; first&0xc0 == 0x40 || first&0xe0 == 0x20 {
		c.inserts++
	}
}

// writeFieldsLocked appends what is in c.encoded as a header block of a stream.
func (c *Conn) writeFieldsLocked(id uint32, end bool) {
	rest := c.encoded.Bytes()
	n := min(len(rest), c.peer.frame)
	_ = c.framer.WriteHeaders(h2.HeadersFrameParam{
		StreamID: id, BlockFragment: rest[:n], EndStream: end, EndHeaders: n == len(rest),
	})
	for rest = rest[n:]; len(rest) > 0; rest = rest[n:] {
		n = min(len(rest), c.peer.frame)
		_ = c.framer.WriteContinuation(id, n == len(rest), rest[:n])
	}
	c.encoded.Reset()
}

// PeerFieldBytes is the longest header list that the peer takes, as it says, 0
// if it has not said.
func (s *Stream) PeerFieldBytes() int {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return int(s.conn.peer.headerList)
}
