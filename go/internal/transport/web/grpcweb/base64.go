package grpcweb

import (
	"encoding/base64"
	"errors"
	"io"

	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// base64Groups decodes base64 that may be padded anywhere, as it is where pieces
// were encoded one by one.
type base64Groups struct {
	source io.Reader
	in     [1 << 10]byte
	have   int // of in
	out    [768]byte
	rest   []byte // of out
	err    error
}

// Read returns what was decoded.
func (g *base64Groups) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		if g.err != nil {
			return 0, g.err
		}
		g.decode()
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// decode decodes the groups of four characters that have come.
func (g *base64Groups) decode() {
	n, err := g.source.Read(g.in[g.have:])
	g.have += n
	g.err = err
	decoded, whole := 0, g.have/4*4
	for at := 0; at < whole; {
		end := at + 4
		for end < whole && g.in[end-1] != '=' {
			end += 4
		}
		n, err := base64.StdEncoding.Decode(g.out[decoded:], g.in[at:end])
		decoded += n
		if err != nil {
			g.err = &web.Fault{Code: wire.InvalidArgument, Text: "the body is not base64"}
			break
		}
		at = end
	}
	g.rest = g.out[:decoded]
	g.have = copy(g.in[:], g.in[whole:g.have])
	if g.have > 0 && errors.Is(g.err, io.EOF) {
		g.err = &web.Fault{Code: wire.InvalidArgument, Text: "the body ends within a group of base64"}
	}
}
