package trunkcall

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Gzip is the compression gzip (RFC 1952) at its fastest level; a message is one
// member.
var Gzip Compression = gzipped{}

type gzipped struct{}

func (gzipped) Name() string  { return "gzip" }
func (gzipped) Number() uint8 { return wire.Gzip }

// appender is a buffer to write to.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

var (
	gzipWriters sync.Pool // of *gzip.Writer
	gzipReaders sync.Pool // of *gzipReader
)

type gzipReader struct {
	gzip.Reader
	input bytes.Reader
}

func (gzipped) Compress(dst, message []byte) ([]byte, error) {
	w, ok := gzipWriters.Get().(*gzip.Writer)
	if !ok {
		var err error
		if w, err = gzip.NewWriterLevel(nil, gzip.BestSpeed); err != nil {
			return dst, err
		}
	}
	out := appender{dst}
	w.Reset(&out)
	_, err := w.Write(message)
	if err == nil {
		err = w.Close()
	}
	w.Reset(nil)
	gzipWriters.Put(w)
	return out.b, err
}

// What is wrong with data, in words that callers see.
var (
	errLeftOver = errors.New("bytes are left over behind the message")
	errCutShort = errors.New("the data is cut short")
)

func (gzipped) Decompress(dst, data []byte, limit int) ([]byte, error) {
	r, ok := gzipReaders.Get().(*gzipReader)
	if !ok {
		r = &gzipReader{}
	}
	defer func() {
		r.input.Reset(nil)
		gzipReaders.Put(r)
	}()
	r.input.Reset(data)
	if err := r.Reset(&r.input); err != nil {
		return dst, cutShort(err)
	}
	r.Multistream(false)
	dst, err := readTo(dst, &r.Reader, limit)
	if err == nil && r.input.Len() > 0 {
		err = errLeftOver
	}
	return dst, err
}

// readTo appends what r gives, up to limit bytes. Memory grows with what there
// is: at most to twice that.
func readTo(dst []byte, r io.Reader, limit int) ([]byte, error) {
	begin := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, max(1<<10, min(len(dst)-begin, limit-(len(dst)-begin)+1)))
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst)-begin > limit:
			return dst, ErrTooLong
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, cutShort(err)
		}
	}
}

// cutShort says in words what io.EOF in the midst of data means.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCutShort
	}
	return err
}
