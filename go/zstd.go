package trunkcall

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Zstd is the compression zstd (RFC 8878) at its fastest level; a message is
// one frame, without a dictionary, whose window is 8 MiB at most.
var Zstd Compression = zstandard{}

type zstandard struct{}

func (zstandard) Name() string  { return "zstd" }
func (zstandard) Number() uint8 { return wire.Zstd }

// maxZstdWindow bounds how far back a frame may refer (spec/limits.md 1).
const maxZstdWindow = 8 << 20

// The process has one encoder and one decoder. They have channels, so those that are made in a bubble of
// testing/synctest stay there (roles.InBubble): they are for one message.
var (
	zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) { return newZstdEncoder(cap(turns)) })
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) { return newZstdDecoder(cap(turns)) })
)

func newZstdEncoder(concurrency int) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(concurrency), zstd.WithLowerEncoderMem(true))
}

func newZstdDecoder(concurrency int) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(concurrency), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecodeAllCapLimit(true))
}

func takeZstdEncoder() (*zstd.Encoder, error) {
	if roles.InBubble() {
		return newZstdEncoder(1)
	}
	return zstdEncoder()
}

func takeZstdDecoder() (*zstd.Decoder, error) {
	if roles.InBubble() {
		return newZstdDecoder(1)
	}
	return zstdDecoder()
}

func (zstandard) Compress(dst, message []byte) ([]byte, error) {
	e, err := takeZstdEncoder()
	if err != nil {
		return dst, err
	}
	return e.EncodeAll(message, dst), nil
}

func (zstandard) Decompress(dst, data []byte, limit int) ([]byte, error) {
	d, err := takeZstdDecoder()
	if err != nil {
		return dst, err
	}
	frame, err := measureZstd(data)
	if err != nil {
		return dst, err
	}
	least := frame.most
	if frame.known {
		if frame.size > uint64(limit) {
			return dst, ErrTooLong
		}
	} else {
		least = min(least, uint64(max(64<<10, 8*len(data))))
	}
	begin := len(dst)
	// The last block may have to be decoded whole before its end is known.
	room := limit + largestZstdBlock
	for size := int(min(least, uint64(limit))); ; size = min(max(4*size, largestZstdBlock), room) {
		dst = slices.Grow(dst[:begin], size)
		out, err := d.DecodeAll(data, dst[:begin:begin+size])
		switch {
		case err == nil && len(out)-begin > limit:
			return dst, ErrTooLong
		case err == nil:
			return out, nil
		case uint64(size) >= frame.most: // it is not for want of room
			return dst, cutShort(err)
		case size >= room:
			return dst, ErrTooLong
		}
	}
}

// zstdFrame is what the headers of a frame and of its blocks tell.
type zstdFrame struct {
	size  uint64 // of the content, if known
	known bool
	most  uint64 // that the blocks there are can come to, and not more than size
}

// largestZstdBlock bounds what one block comes to (RFC 8878 3.1.1.2.4).
const largestZstdBlock = 128 << 10

// measureZstd walks along the blocks of a frame, which must be all of data. So
// no size that the frame claims is believed that its blocks cannot come to, and
// nothing can stand behind it.
func measureZstd(data []byte) (f zstdFrame, err error) {
	var h zstd.Header
	switch err := h.Decode(data); {
	case err != nil:
		return f, cutShort(err)
	case h.Skippable:
		return f, errors.New("the data is a frame to be skipped")
	case h.DictionaryID != 0:
		return f, fmt.Errorf("the data asks for dictionary %d", h.DictionaryID)
	}
	rest := data[h.HeaderSize:]
	for last := false; !last; {
		if len(rest) < 3 {
			return f, errCutShort
		}
		header := uint32(rest[0]) | uint32(rest[1])<<8 | uint32(rest[2])<<16
		last = header&1 != 0
		size := int(header >> 3)
		comesTo := size
		switch header >> 1 & 3 {
		case 1: // one byte, repeated
			size = 1
		case 2: // compressed
			comesTo = largestZstdBlock
		}
		if len(rest)-3 < size {
			return f, errCutShort
		}
		rest = rest[3+size:]
		f.most += uint64(comesTo)
	}
	if h.HasCheckSum {
		if len(rest) < 4 {
			return f, errCutShort
		}
		rest = rest[4:]
	}
	if len(rest) > 0 {
		return f, errLeftOver
	}
	if h.HasFCS {
		f.size, f.known = h.FrameContentSize, true
		if f.size > f.most {
			return f, fmt.Errorf("the frame claims %d bytes, its blocks come to %d at most", f.size, f.most)
		}
		f.most = f.size
	}
	return f, nil
}
