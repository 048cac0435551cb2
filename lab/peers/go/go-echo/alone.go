package main

import (
	"bytes"
	"fmt"
	"io"
	"net"

	"github.com/trunkcall/trunkcall/go/peer/load"
)

// newPingPong is a caller with a connection to itself: one write, then reads
// until the answer is whole, on the caller's goroutine.
func newPingPong(connection net.Conn, payload []byte) load.Call {
	frame := appendFrame(nil, 0, payload)
	answer := make([]byte, len(frame))
	checked := false
	return func() error {
		if _, err := connection.Write(frame); err != nil {
			return err
		}
		if _, err := io.ReadFull(connection, answer); err != nil {
			return err
		}
		if !checked {
			if checked = bytes.Equal(answer, frame); !checked {
				return wrongEcho(answer)
			}
		}
		return nil
	}
}

// newStream sends without pause and, in each call, takes one frame of what comes
// back. Short frames are written many at a time.
func newStream(connection net.Conn, payload []byte) load.Call {
	frame := appendFrame(nil, 0, payload)
	const writeSize = 64 << 10
	chunk := bytes.Repeat(frame, max(writeSize/len(frame), 1))
	sending := make(chan error, 1)
	go func() {
		for {
			if _, err := connection.Write(chunk); err != nil {
				sending <- err
				return
			}
		}
	}()
	buffer := make([]byte, 256<<10)
	available := 0
	return func() error {
		wanted := len(frame) - available
		for wanted > 0 {
			n, err := connection.Read(buffer)
			if err != nil {
				return fmt.Errorf("%w; sending: %v", err, <-sending)
			}
			wanted -= n
		}
		available = -wanted
		return nil
	}
}
