package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Code is a status code, one of gRPC's (spec/status.md).
type Code = wire.Code

// The status codes.
const (
	OK                 = wire.OK
	Canceled           = wire.Canceled
	Unknown            = wire.Unknown
	InvalidArgument    = wire.InvalidArgument
	DeadlineExceeded   = wire.DeadlineExceeded
	NotFound           = wire.NotFound
	AlreadyExists      = wire.AlreadyExists
	PermissionDenied   = wire.PermissionDenied
	ResourceExhausted  = wire.ResourceExhausted
	FailedPrecondition = wire.FailedPrecondition
	Aborted            = wire.Aborted
	OutOfRange         = wire.OutOfRange
	Unimplemented      = wire.Unimplemented
	Internal           = wire.Internal
	Unavailable        = wire.Unavailable
	DataLoss           = wire.DataLoss
	Unauthenticated    = wire.Unauthenticated
)

// Delivery says of a failed call whether its handler ran (spec/status.md). The
// zero value is DeliveryUnknown.
type Delivery = wire.Delivery

// The delivery classes. Only NotSent and Refused are safe to repeat blindly.
const (
	DeliveryUnknown = wire.DeliveryUnknown // the handler may have run
	NotSent         = wire.NotSent         // no byte of the call left this process
	Refused         = wire.Refused         // the server says that it never started the handler
	Executed        = wire.Executed        // the handler itself answered
)

// Detail is one typed detail of a Status: a google.protobuf.Any by its parts, TypeURL (text) and
// Value (bytes). Status.WithDetails makes them of messages, Status.Detail finds one.
type Detail = wire.Detail

// Status is how a call ended. The zero value is a success. It is not an error itself, so that a
// success is never returned as an error by accident. Err makes an error of it, and StatusOf finds
// it again.
type Status struct {
	Code     Code
	Message  string
	Details  []Detail
	Delivery Delivery // as the caller learnt it; a handler need not set it
	// RetryAfter is when a refused call may be made again; 0: making it again is pointless. A
	// server's interceptor or admission that rejects a call may set it.
	RetryAfter time.Duration
	// Local says that the caller's side made the status up: the server did not send
	// it.
	Local bool
	// At the caller, Header and Trailer are the metadata that came ahead of the failure and with
	// it, and Peer is who sent it. A handler cannot send metadata by them: it calls
	// ServerCall.SetHeader and SetTrailer.
	Header, Trailer Metadata
	Peer            Peer

	cause error
}

// StatusError is the type of the errors of calls, for errors.As. StatusOf is simpler, and works for
// other errors too. If a handler or interceptor returns an error of its own with this method, it
// counts as that Status.
type StatusError interface {
	error
	Status() Status
}

// Errorf returns the error of a failed call, for a handler to answer with. It is never nil: OK and
// unknown codes become UNKNOWN.
func Errorf(code Code, format string, args ...any) error {
	return failure(code, fmt.Sprintf(format, args...)).Err()
}

// failure is a Status that is certainly none of a success.
func failure(code Code, message string) Status {
	if code == OK || code > Unauthenticated {
		code = Unknown
	}
	return Status{Code: code, Message: message}
}

// Err returns the status as an error, nil for a success. The error unwraps to
// context.DeadlineExceeded or context.Canceled when the caller's context ended the
// call, and to ErrClientClosed when Close did, so that errors.Is works as usual.
func (s Status) Err() error {
	if s.Code == OK {
		return nil
	}
	return &statusError{s}
}

// String is "CODE: message", and for a failure that the handler did not answer with
// what is known of its delivery: " (delivery unknown)", " (not sent)" or " (refused)".
func (s Status) String() string {
	switch {
	case s.Code == OK:
		return OK.String()
	case s.Delivery == Executed:
		return s.Code.String() + ": " + s.Message
	}
	return s.Code.String() + ": " + s.Message + " (" + deliveryTexts[s.Delivery&3] + ")"
}

var deliveryTexts = [...]string{DeliveryUnknown: "delivery unknown", NotSent: "not sent", Refused: "refused", Executed: "executed"}

// WithDetails returns s with messages added to its details. A message that
// cannot be marshalled is left out.
func (s Status) WithDetails(messages ...proto.Message) Status {
	s.Details = append([]Detail(nil), s.Details...)
	for _, m := range messages {
		if packed, err := anypb.New(m); err == nil {
			s.Details = append(s.Details, Detail{TypeURL: packed.TypeUrl, Value: packed.Value})
		}
	}
	return s
}

// Detail fills in message from the first detail of its type, and reports whether there is one that
// can be read:
//
//	var why errdetails.QuotaFailure
//	if trunkcall.StatusOf(err).Detail(&why) {
func (s Status) Detail(message proto.Message) bool {
	want := message.ProtoReflect().Descriptor().FullName()
	for _, d := range s.Details {
		if d.TypeURL[strings.LastIndexByte(d.TypeURL, '/')+1:] == string(want) && proto.Unmarshal(d.Value, message) == nil {
			return true
		}
	}
	return false
}

// statusError is a Status as an error. It is not exported, so that nobody else can
// make one that is nil.
type statusError struct{ status Status }

func (e *statusError) Error() string  { return e.status.String() }
func (e *statusError) Status() Status { return e.status }
func (e *statusError) Unwrap() error  { return e.status.cause }

// StatusOf returns the Status that err is or wraps, and a success for nil. Any other error becomes
// a Status with its text and an unknown delivery. Its code is DEADLINE_EXCEEDED or CANCELED for the
// errors of contexts, else UNKNOWN.
func StatusOf(err error) Status {
	if err == nil {
		return Status{}
	}
	if s, ok := statusWithin(err); ok {
		return s
	}
	return Status{Code: codeOf(err), Message: err.Error(), cause: err}
}

// statusWithin returns the Status that an error is or wraps. One that calls itself a
// success is a failure all the same: it is an error.
func statusWithin(err error) (s Status, ok bool) {
	if own, ok := err.(*statusError); ok { //nolint:errorlint // the others take longer
		return own.status, true
	}
	var e StatusError
	if !errors.As(err, &e) {
		return s, false
	}
	s = e.Status()
	if s.Code == OK || s.Code > Unauthenticated {
		s.Code = Unknown
	}
	return s, true
}

// codeOf is the code of an error that is no Status.
func codeOf(err error) Code {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Unknown
}

// statusOfEnding is how a call ended.
func statusOfEnding(e *wire.Ending) Status {
	return Status{
		Code: e.Code, Message: e.Message, Details: e.Details, Delivery: e.Delivery, Local: e.Local, Trailer: e.Metadata,
		RetryAfter: time.Duration(e.RetryAfter) * time.Millisecond,
	}
}

// notSent is the error of a call of which nothing was sent.
func notSent(err error) error {
	s := StatusOf(err)
	s.Delivery, s.Local = NotSent, true
	return s.Err()
}

// local is the error of a call that this side has failed, whatever became of it at
// the other.
func local(err error, delivery Delivery) error {
	s := StatusOf(err)
	s.Delivery, s.Local = delivery, true
	return s.Err()
}
