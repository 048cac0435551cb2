package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/trunkcall/trunkcall/go/wire"
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

// Delivery says of a failed call whether its handler ran (spec/status.md).
type Delivery = wire.Delivery

// The delivery classes. Only NotSent and Refused are safe to repeat blindly.
const (
	Executed        = wire.Executed        // the handler itself answered
	NotSent         = wire.NotSent         // no byte of the call left this process
	Refused         = wire.Refused         // the server says that it never started the handler
	DeliveryUnknown = wire.DeliveryUnknown // the handler may have run
)

// Detail is one typed detail of a Status: a google.protobuf.Any by its parts.
type Detail = wire.Detail

// Status is how a failed call ended. It is an error. A Status is not changed
// once it was returned, so it may be shared.
type Status struct {
	Code     Code
	Message  string
	Details  []Detail
	Delivery Delivery // as the caller learnt it; a handler need not set it
	// Trailer is the metadata that came with the failure. A handler adds to it by
	// ServerCall.SetTrailer.
	Trailer Metadata

	cause error
}

// Errorf returns a failure for a handler to answer with.
func Errorf(code Code, format string, args ...any) *Status {
	return &Status{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error is "CODE: message (delivery)"; the delivery is left out when the
// handler itself answered.
func (s *Status) Error() string {
	if s == nil {
		return OK.String()
	}
	var b strings.Builder
	b.WriteString(s.Code.String())
	b.WriteString(": ")
	b.WriteString(s.Message)
	if s.Delivery != Executed {
		b.WriteString(" (" + s.Delivery.String() + ")")
	}
	return b.String()
}

// Unwrap returns context.DeadlineExceeded or context.Canceled when the caller's
// context ended the call, and ErrClientClosed when Close did, so that errors.Is
// works as usual.
func (s *Status) Unwrap() error {
	if s == nil {
		return nil
	}
	return s.cause
}

// WithDetails returns s with messages added to its details. A message that
// cannot be marshalled is left out.
func (s *Status) WithDetails(messages ...proto.Message) *Status {
	copied := *s
	copied.Details = append([]Detail(nil), s.Details...)
	for _, m := range messages {
		if packed, err := anypb.New(m); err == nil {
			copied.Details = append(copied.Details, Detail{TypeURL: packed.TypeUrl, Value: packed.Value})
		}
	}
	return &copied
}

// StatusOf returns the Status that err is or wraps. Other errors become one:
// context.DeadlineExceeded and context.Canceled the code of that name, any
// other UNKNOWN with its text. It returns nil for nil, and for a *Status that is
// nil, which handlers and interceptors may therefore return for a success.
func StatusOf(err error) *Status {
	var s *Status
	switch {
	case failureOf(err) == nil:
		return nil
	case errors.As(err, &s) && s != nil:
		return s
	case errors.Is(err, context.DeadlineExceeded):
		return &Status{Code: DeadlineExceeded, Message: err.Error(), cause: err}
	case errors.Is(err, context.Canceled):
		return &Status{Code: Canceled, Message: err.Error(), cause: err}
	case errors.Is(err, io.EOF):
		return &Status{Code: Internal, Message: "the stream ended early", cause: err}
	default:
		return &Status{Code: Unknown, Message: err.Error(), cause: err}
	}
}

// failureOf is err, nil if that is a *Status that is nil: an error to Go, but no
// failure.
func failureOf(err error) error {
	if s, ok := err.(*Status); ok && s == nil { //nolint:errorlint // what wraps something is an error
		return nil
	}
	return err
}

// statusOfEnding is the failure that a call ended with, nil if it succeeded.
func statusOfEnding(e *wire.Ending) *Status {
	if e.Code == OK {
		return nil
	}
	return &Status{Code: e.Code, Message: e.Message, Details: e.Details, Delivery: e.Delivery, Trailer: e.Metadata}
}

// endingOf fills in what a handler's error makes of its call.
func endingOf(e *wire.Ending, err error) {
	s := StatusOf(err)
	e.Code, e.Message, e.Details = s.Code, s.Message, s.Details
	if s.Code == OK || s.Code > Unauthenticated {
		e.Code = Unknown
	}
}
