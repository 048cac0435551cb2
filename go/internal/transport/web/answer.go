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

// Answers of calls that came as requests of HTTP. Errors that are said by the status of HTTP are Connect's, whichever protocol
// a request may have meant.

// readFields takes what the protocol says in fields.
func (x *httpCall) readFields() *wire.Refusal {
	said, refusal := x.spoken.Read(x.r.Header, x.query)
	if refusal == nil {
		refusal = x.readEncodings(said.Encoding, said.Accepts)
	}
	if refusal == nil {
		refusal = x.setTimeout(said.TimeoutField, said.Timeout, said.ReadTimeout)
	}
	return refusal
}

// refuse answers a call that does not run; known says that its method exists.
func (x *httpCall) refuse(why *wire.Refusal, known bool) {
	if x.spoken.Plain() || !known && x.spoken.ByStatus() {
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

// refusePlainly answers a request that is no call. The form is none of Connect's errors, so that
// Connect clients go by the HTTP status.
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
	AddFields(h, "", m)
	if x.spoken.Plain() { // its header waits for the status
		return
	}
	h["Content-Type"] = []string{x.spoken.ContentType(x.call.CodecName)}
	x.spoken.Head(h, AcceptedEncodings(x.protocol.Compressions), Encodings[x.packs()])
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
	if x.spoken.Plain() {
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
		_ = x.writeLocked(Frame(a.Scratch, e.Compression != 0))
	}
	x.failLocked(e)
}

// answerUnary writes the one message of an answer.
func (x *httpCall) answerUnary(a *Answer) {
	h, message := x.w.Header(), a.Scratch[Headroom:]
	AddFields(h, "Trailer-", a.Ending.Metadata)
	h["Content-Type"] = []string{x.spoken.ContentType(x.call.CodecName)}
	h["Accept-Encoding"] = []string{AcceptedEncodings(x.protocol.Compressions)}
	if a.Ending.Compression != 0 {
		h["Content-Encoding"] = []string{Encodings[a.Ending.Compression]}
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
	if x.spoken.Plain() {
		x.closeIfClosing()
		writeError(x.w, 0, e)
		return
	}
	x.beginLocked(nil)
	_ = x.writeLocked(x.spoken.End(e))
}

// Error is an error as Connect writes it.
type Error struct {
	Code    string        `json:"code"`
	Message string        `json:"message,omitempty"`
	Details []errorDetail `json:"details,omitempty"`
}

type errorDetail struct {
	Type  string `json:"type"`
	Value string `json:"value"` // base64 without padding
}

// ErrorOf returns nil for success.
func ErrorOf(e *wire.Ending) *Error {
	if e.Code == wire.OK {
		return nil
	}
	out := &Error{Code: codeName(e.Code), Message: strings.ToValidUTF8(e.Message, "\ufffd")}
	for i := range e.Details {
		name := e.Details[i].TypeURL
		out.Details = append(out.Details, errorDetail{
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
	AddFields(h, "Trailer-", e.Metadata)
	AddDelivery(h, e)
	text, _ := json.Marshal(ErrorOf(e))
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(text))}
	if status == 0 {
		status = httpStatus(e.Code)
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// AddDelivery tells of a failure whether its handler ran, and when it may be
// tried again.
func AddDelivery(h http.Header, e *wire.Ending) {
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
