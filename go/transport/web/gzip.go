package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"

	"github.com/trunkcall/trunkcall/go/transport"
	"github.com/trunkcall/trunkcall/go/wire"
)

// compressFrom is the size below which compressing a message gains nothing.
const compressFrom = 256

var (
	gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	gzipReaders sync.Pool
)

// compress returns a message compressed, behind Headroom bytes.
func compress(message []byte) []byte {
	var out bytes.Buffer
	out.Write(make([]byte, Headroom))
	w := gzipWriters.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool holds nothing else
	w.Reset(&out)
	_, _ = w.Write(message) // memory takes everything
	_ = w.Close()
	gzipWriters.Put(w)
	return out.Bytes()
}

// decompress returns a message as it was, which is at most limit bytes long: it
// stops at the byte after that.
func decompress(packed []byte, limit int) (*transport.Buffer, error) {
	malformed := func(err error) error {
		return &Fault{wire.InvalidArgument, "a message does not decompress: " + err.Error()}
	}
	r, ok := gzipReaders.Get().(*gzip.Reader)
	if ok {
		if err := r.Reset(bytes.NewReader(packed)); err != nil {
			return nil, malformed(err)
		}
	} else {
		var err error
		if r, err = gzip.NewReader(bytes.NewReader(packed)); err != nil {
			return nil, malformed(err)
		}
	}
	defer gzipReaders.Put(r)
	out := transport.GetBuffer(min(4*len(packed), limit) + bytes.MinRead)
	rest := bytes.NewBuffer(out.B)
	_, err := rest.ReadFrom(io.LimitReader(r, int64(limit)+1))
	out.B = rest.Bytes()
	switch {
	case err != nil:
		out.Free()
		return nil, malformed(err)
	case len(out.B) > limit:
		out.Free()
		return nil, &Fault{wire.ResourceExhausted, fmt.Sprintf("a message that decompresses to more than max_message %d", limit)}
	}
	return out, nil
}
