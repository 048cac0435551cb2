package web

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The Connect protocol: a unary call is a plain request of HTTP, any other has
// its messages behind prefixes and says at the end of the body how it ended.

// readProtocol takes what the protocol says in fields.
func (x *httpCall) readProtocol() *wire.Refusal {
	h := x.r.Header
	if version := h.Get(fieldVersion); version != "" && version != "1" {
		return &wire.Refusal{Code: wire.InvalidArgument, Message: "connect-protocol-version is " + strconv.Quote(version) + ", here 1"}
	}
	encoding, accepts := h.Get("Content-Encoding"), strings.Join(h.Values("Accept-Encoding"), ",")
	switch {
	case x.spoken >= grpcWeb:
		return x.readWebProtocol()
	case x.spoken == connectStream:
		encoding, accepts = h.Get(fieldStreamEncoding), strings.Join(h.Values(fieldStreamAccepts), ",")
	case x.query != nil:
		encoding = x.query.Get("compression")
	}
	if refusal := x.readEncodings(encoding, accepts); refusal != nil {
		return refusal
	}
	return x.setTimeout(fieldTimeout, h.Get(fieldTimeout), timeoutMs)
}

// refuse answers a call that does not run; known says that its method exists.
func (x *httpCall) refuse(why *wire.Refusal, known bool) {
	if x.spoken == connectUnary || !known && x.spoken == connectStream {
		status := 0
		if !known {
			status = http.StatusNotFound
		}
		writeError(x.w, status, refused(why))
		return
	}
	x.failLocked(refused(why))
}

// refuseRequest answers what is no call.
func refuseRequest(w http.ResponseWriter, status int, code wire.Code, message string) {
	writeError(w, status, &wire.Ending{Code: code, Message: message, Delivery: wire.Refused})
}

// refusePlainly answers what is no call in a form that Connect takes for no error of
// its own: its clients go by the status of HTTP.
func refusePlainly(w http.ResponseWriter, status int, message string) {
	h := w.Header()
	h["Content-Type"] = []string{"text/plain; charset=utf-8"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Trunk-Delivery"] = []string{wire.Refused.String()}
	h["Content-Length"] = []string{strconv.Itoa(len(message) + 1)}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, message+"\n") //nolint:gosec // as text, and not to be sniffed at
}

// beginLocked begins the answer of a call that streams, unless it has begun.
func (x *httpCall) beginLocked(m wire.Metadata) {
	if x.begun {
		return
	}
	x.begun = true
	h := x.w.Header()
	x.closeIfClosing()
	addFields(h, "", m)
	switch x.spoken {
	case connectUnary: // its header waits for the status
		return
	case grpcWeb, grpcWebText:
		x.setWebFields(h)
	case connectStream:
		h["Content-Type"] = []string{typeOfStream + x.call.CodecName}
		h[fieldStreamAccepts] = []string{acceptedEncodings(x.protocol.Compressions)}
		if n := x.packs(); n != 0 {
			h[fieldStreamEncoding] = []string{encodings[n]}
		}
	}
	x.w.WriteHeader(http.StatusOK)
}

func (x *httpCall) closeIfClosing() {
	if x.peer.Closing() {
		x.w.Header()["Connection"] = []string{"close"}
	}
}

func (x *httpCall) packs() uint8 {
	if x.served == nil {
		return 0
	}
	return x.served.Compression()
}

// answerLocked writes the answer that a handler has given.
func (x *httpCall) answerLocked(a *Answer) {
	e := &a.Ending
	if x.spoken == connectUnary {
		x.beginLocked(a.Header)
		if e.Code != wire.OK {
			writeError(x.w, 0, e)
			return
		}
		x.answerUnary(a)
		return
	}
	x.beginLocked(a.Header)
	if e.HasMessage {
		_ = x.writeLocked(frame(a.Scratch, e.Compression != 0))
	}
	x.failLocked(e)
}

// answerUnary writes the one message of an answer.
func (x *httpCall) answerUnary(a *Answer) {
	h, message := x.w.Header(), a.Scratch[Headroom:]
	addFields(h, "Trailer-", a.Ending.Metadata)
	h["Content-Type"] = []string{typeOfUnary + x.call.CodecName}
	h["Accept-Encoding"] = []string{acceptedEncodings(x.protocol.Compressions)}
	if a.Ending.Compression != 0 {
		h["Content-Encoding"] = []string{encodings[a.Ending.Compression]}
	}
	if x.query != nil {
		h.Add("Vary", "Accept-Encoding")
	}
	if len(message) == 0 && x.call.Codec == codecJSON {
		message = []byte("{}") // of a one-way method: nothing is no JSON
	}
	h["Content-Length"] = []string{strconv.Itoa(len(message))}
	_ = x.writeLocked(message)
}

const codecJSON = 2

// failLocked writes the end of a call, and its beginning if nothing was written
// yet.
func (x *httpCall) failLocked(e *wire.Ending) {
	x.over = true
	if x.spoken == connectUnary {
		x.closeIfClosing()
		writeError(x.w, 0, e)
		return
	}
	x.beginLocked(nil)
	if x.spoken == connectStream {
		_ = x.writeLocked(connectEnd(e))
	} else {
		_ = x.writeLocked(webEnd(e))
	}
}

// connectEnd says at the end of a stream how the call ended.
func connectEnd(e *wire.Ending) []byte {
	end := struct {
		Error    *connectError       `json:"error,omitempty"`
		Metadata map[string][]string `json:"metadata,omitempty"`
	}{Error: errorOf(e)}
	trailers := http.Header{}
	addFields(trailers, "", e.Metadata)
	addDelivery(trailers, e)
	for name, values := range trailers {
		if end.Metadata == nil {
			end.Metadata = map[string][]string{}
		}
		end.Metadata[strings.ToLower(name)] = values
	}
	text, _ := json.Marshal(&end)
	message := frame(append(make([]byte, Headroom, Headroom+len(text)), text...), false)
	message[0] = flagEnd
	return message
}

// flagEnd marks the end of a Connect stream.
const flagEnd = 2

// connectError is an error as Connect writes it.
type connectError struct {
	Code    string          `json:"code"`
	Message string          `json:"message,omitempty"`
	Details []connectDetail `json:"details,omitempty"`
}

type connectDetail struct {
	Type  string `json:"type"`
	Value string `json:"value"` // base64 without padding
}

// errorOf returns nil for success.
func errorOf(e *wire.Ending) *connectError {
	if e.Code == wire.OK {
		return nil
	}
	out := &connectError{Code: codeName(e.Code), Message: strings.ToValidUTF8(e.Message, "\ufffd")}
	for i := range e.Details {
		name := e.Details[i].TypeURL
		out.Details = append(out.Details, connectDetail{
			Type: name[strings.LastIndexByte(name, '/')+1:], Value: base64.RawStdEncoding.EncodeToString(e.Details[i].Value),
		})
	}
	return out
}

// codeName is what Connect calls a code.
func codeName(c wire.Code) string {
	if c == wire.Canceled {
		return "canceled"
	}
	return strings.ToLower(c.String())
}

// httpStatus is the status of HTTP that goes with a code.
func httpStatus(c wire.Code) int {
	switch c {
	case wire.Canceled:
		return 499
	case wire.InvalidArgument, wire.FailedPrecondition, wire.OutOfRange:
		return http.StatusBadRequest
	case wire.DeadlineExceeded:
		return http.StatusGatewayTimeout
	case wire.NotFound:
		return http.StatusNotFound
	case wire.AlreadyExists, wire.Aborted:
		return http.StatusConflict
	case wire.PermissionDenied:
		return http.StatusForbidden
	case wire.ResourceExhausted:
		return http.StatusTooManyRequests
	case wire.Unimplemented:
		return http.StatusNotImplemented
	case wire.Unavailable:
		return http.StatusServiceUnavailable
	case wire.Unauthenticated:
		return http.StatusUnauthorized
	default:
		return http.StatusInternalServerError
	}
}

// writeError answers with an error; status 0 is the one that goes with its code.
func writeError(w http.ResponseWriter, status int, e *wire.Ending) {
	h := w.Header()
	addFields(h, "Trailer-", e.Metadata)
	addDelivery(h, e)
	text, _ := json.Marshal(errorOf(e))
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(text))}
	if status == 0 {
		status = httpStatus(e.Code)
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// addDelivery tells of a failure whether its handler ran, and when it may be
// tried again.
func addDelivery(h http.Header, e *wire.Ending) {
	if e.Code == wire.OK {
		return
	}
	if e.Delivery != wire.Executed {
		h["Trunk-Delivery"] = []string{e.Delivery.String()}
	}
	if e.Delivery == wire.Refused && e.RetryAfter > 0 {
		h["Retry-After"] = []string{strconv.FormatUint((uint64(e.RetryAfter)+999)/1000, 10)}
	}
}
