package web

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// DeclineHTTP2 tells a peer whose preface was read why it is not served here, and closes the socket
// (spec/http.md 1). For a second its requests are answered one by one. With GOAWAY alone, gRPC
// clients would make them again at once, on a new connection that would end in the same way.
func DeclineHTTP2(socket net.Conn, text string) {
	_ = socket.SetDeadline(time.Now().Add(transport.LingerTime))
	framer := h2.NewFramer(socket, io.LimitReader(socket, declinedHTTP2))
	framer.SetMaxReadFrameSize(declinedFrame)
	framer.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)
	framer.MaxHeaderListSize = defaultHeaderBytes
	last, err := uint32(0), framer.WriteSettings()
	for err == nil {
		var f h2.Frame
		if f, err = framer.ReadFrame(); err != nil {
			break
		}
		switch f := f.(type) {
		case *h2.SettingsFrame:
			if !f.IsAck() {
				err = framer.WriteSettingsAck()
			}
		case *h2.MetaHeadersFrame:
			last = max(last, f.StreamID)
			err = declineRequest(framer, f, text)
		}
	}
	_ = socket.SetDeadline(time.Now().Add(transport.LingerTime))
	if framer.WriteGoAway(last, h2.ErrCodeInadequateSecurity, []byte(text)) == nil {
		transport.Linger(socket)
	}
	_ = socket.Close()
}

// What is read of a peer that is declined: SETTINGS and some requests.
const (
	declinedHTTP2 = 64 << 10
	declinedFrame = 16 << 10
)

// declineRequest answers one request, as its protocol has it.
func declineRequest(framer *h2.Framer, f *h2.MetaHeadersFrame, text string) error {
	kind := ""
	for _, field := range f.RegularFields() {
		if field.Name == "content-type" {
			kind = field.Value
		}
	}
	if _, ok := grpcCodec(kind); ok {
		e := wire.Ending{Code: wire.Unavailable, Message: text, Delivery: wire.Refused}
		return writeFields(framer, f.StreamID, true, AppendStatus([]http2.Field{
			{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"},
		}, &e))
	}
	bare := f.PseudoValue("method") == http.MethodHead
	err := writeFields(framer, f.StreamID, bare, []http2.Field{
		{Name: ":status", Value: "400"}, {Name: "content-type", Value: "text/plain"},
		{Name: "content-length", Value: strconv.Itoa(len(text) + 1)},
	})
	if err != nil || bare {
		return err
	}
	return framer.WriteData(f.StreamID, true, []byte(text+"\n"))
}

func writeFields(framer *h2.Framer, stream uint32, end bool, fields []http2.Field) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0) // so that no answer depends on another, nor on the peer's settings
	for i := range fields {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i].Name, Value: fields[i].Value})
	}
	return framer.WriteHeaders(h2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: end, EndHeaders: true})
}
