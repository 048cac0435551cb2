package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"

	"github.com/trunkcall/trunkcall/lab/peers/go/internal/codec"
)

// wire puts messages on a connection. A frame is its length in four bytes, the
// sequence number, the method, the error (empty when there is none) and the
// message. Net/rpc calls the writing half from one goroutine at a time, and the
// reading half too, so the buffers need no lock.
type wire struct {
	connection net.Conn
	codec      codec.Codec
	reader     *bufio.Reader
	out        []byte
	in         []byte
	body       []byte // the part of in that is the message
}

func newWire(connection net.Conn, codec codec.Codec) *wire {
	return &wire{connection: connection, codec: codec, reader: bufio.NewReaderSize(connection, 64<<10)}
}

func (w *wire) Close() error { return w.connection.Close() }

// write encodes straight into the buffer that is written, in one system call.
func (w *wire) write(sequence uint64, method, failure string, message codec.Message) error {
	out := append(w.out[:0], 0, 0, 0, 0)
	out = binary.AppendUvarint(out, sequence)
	out = appendString(appendString(out, method), failure)
	if message != nil {
		var err error
		if out, err = w.codec.Append(out, message); err != nil {
			return err
		}
	}
	binary.LittleEndian.PutUint32(out, uint32(len(out)-4))
	w.out = out
	_, err := w.connection.Write(out)
	return err
}

func appendString(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

var errMalformed = errors.New("malformed frame")

const maxFrame = 64 << 20

// read takes in a frame and parses all of it but the message.
func (w *wire) read() (sequence uint64, method, failure string, err error) {
	var length [4]byte
	if _, err := io.ReadFull(w.reader, length[:]); err != nil {
		return 0, "", "", err
	}
	size := binary.LittleEndian.Uint32(length[:])
	if size > maxFrame {
		return 0, "", "", errMalformed
	}
	if int(size) > cap(w.in) {
		w.in = make([]byte, size)
	}
	w.in = w.in[:size]
	if _, err := io.ReadFull(w.reader, w.in); err != nil {
		return 0, "", "", err
	}
	sequence, n := binary.Uvarint(w.in)
	if n <= 0 {
		return 0, "", "", errMalformed
	}
	method, rest, ok := cutString(w.in[n:])
	if !ok {
		return 0, "", "", errMalformed
	}
	if failure, w.body, ok = cutString(rest); !ok {
		return 0, "", "", errMalformed
	}
	return sequence, method, failure, nil
}

func cutString(data []byte) (s string, rest []byte, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return "", nil, false
	}
	end := n + int(length)
	return string(data[n:end]), data[end:], true
}

// unmarshal decodes the message of the frame just read; nil skips it.
func (w *wire) unmarshal(into any) error {
	if into == nil {
		return nil
	}
	message, ok := into.(codec.Message)
	if !ok {
		return fmt.Errorf("%T is not a message with generated marshalling code", into)
	}
	return w.codec.Unmarshal(w.body, message)
}

type clientCodec struct{ *wire }

func (c *clientCodec) WriteRequest(request *rpc.Request, body any) error {
	return c.write(request.Seq, request.ServiceMethod, "", body.(codec.Message))
}

func (c *clientCodec) ReadResponseHeader(response *rpc.Response) (err error) {
	response.Seq, response.ServiceMethod, response.Error, err = c.read()
	return err
}

func (c *clientCodec) ReadResponseBody(body any) error { return c.unmarshal(body) }

type serverCodec struct{ *wire }

func (c *serverCodec) ReadRequestHeader(request *rpc.Request) (err error) {
	request.Seq, request.ServiceMethod, _, err = c.read()
	return err
}

func (c *serverCodec) ReadRequestBody(body any) error { return c.unmarshal(body) }

// WriteResponse sends no method back: the client knows it by the sequence number.
func (c *serverCodec) WriteResponse(response *rpc.Response, body any) error {
	var message codec.Message
	if reply, ok := body.(*Answer); ok {
		message = reply.message
	}
	return c.write(response.Seq, "", response.Error, message)
}
