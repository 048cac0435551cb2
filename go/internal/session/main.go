// Command session is one end of a connection without a connection: a
// wire.Session whose user acts at random, driven in lockstep over standard
// input and output. conformance/random_sessions.py joins it with one of
// another language; conformance/peer.md, section 9, has the commands, the
// configuration and the ledger.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := serve(bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)); err != nil {
		fmt.Fprintln(os.Stderr, "session-go:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out *bufio.Writer) error {
	var s *side
	var head [5]byte
	for {
		if _, err := io.ReadFull(in, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		body := make([]byte, binary.LittleEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		var answer []byte
		var err error
		if head[0] == 'S' {
			s, err = newSide(body)
		} else {
			answer, err = s.command(head[0], body)
		}
		if err != nil {
			return err
		}
		_, _ = out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(answer))))
		_, _ = out.Write(answer)
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func (s *side) command(letter byte, body []byte) ([]byte, error) {
	switch {
	case s == nil:
		return nil, errors.New("no session was begun")
	case letter == 'L':
		return json.Marshal(s.ledger())
	case len(body) < 9:
		return nil, fmt.Errorf("command %q of %d bytes", letter, len(body))
	}
	now := int64(binary.LittleEndian.Uint64(body)) * 1000
	switch letter {
	case 'R':
		return s.round(now, body[8], body[9:]), nil
	case 'E':
		s.end(now) // lost or only half-closed, it is the same
		return nil, nil
	}
	return nil, fmt.Errorf("unknown command %q", letter)
}
