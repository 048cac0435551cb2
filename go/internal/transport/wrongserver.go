package transport

import (
	"bytes"
	"fmt"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// firstQuoted is how many of an unknown server's first bytes an error quotes.
const firstQuoted = 24

// wrongServer is the error for a server that does not speak Trunkcall. By its first bytes it says
// what the server speaks, and what to do.
func wrongServer(input []byte) *wire.Error {
	text := fmt.Sprintf("its first bytes are %q", input[:min(len(input), firstQuoted)])
	switch {
	case bytes.HasPrefix(input, []byte("HTTP/")):
		text = "it speaks HTTP/1.1: call it with a client of HTTP, or, if a Trunkcall server is behind it, by ws://HOST:PORT/PATH"
	case len(input) >= http2FrameHeader && input[3] == http2Settings && input[4]&^1 == 0 && bytes.Equal(input[5:9], make([]byte, 4)):
		text = "it speaks HTTP/2, as servers of gRPC do: call it with a client of gRPC, or dial the port of a Trunkcall server"
	case len(input) >= 2 && input[0] == tlsAlertRecord && input[1] == 3:
		text = "it speaks TLS: dial it with TLS"
	}
	return &wire.Error{Class: wire.ErrPreface, Text: text}
}

// What HTTP/2 (RFC 9113 4.1, 6.5) and TLS (RFC 8446 5.1) begin with when they answer.
const (
	http2FrameHeader = 9
	http2Settings    = 4
	tlsAlertRecord   = 0x15
)
