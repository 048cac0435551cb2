package transport

import (
	"net"
	"testing"
)

// endless is a socket from which there is always something to read.
type endless struct{ net.Conn }

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// However small its frames are, a WebSocket that brings something goes on.
func TestSmallFramesOfAWebSocketAreNoFlood(t *testing.T) {
	i, frame := &WebSocketInput{}, make([]byte, 7) // with one byte of content
	i.begin(func() { t.Fatal("a flood") })
	for range 100_000 {
		_, _ = i.Read(endless{}, frame)
		i.gave(1)
	}
}
