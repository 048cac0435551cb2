package grpcstub

import (
	"errors"
	"fmt"
	"io"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/trunkcall/trunkcall/go"
)

// callError is the error of a call as callers of gRPC stubs know it.
type callError struct{ error }

func (e *callError) Error() string {
	s := trunkcall.StatusOf(e.error)
	return fmt.Sprintf("rpc error: code = %s desc = %s", codes.Code(s.Code), s.Message)
}

func (e *callError) Unwrap() error { return e.error }

// GRPCStatus is what package status looks for.
func (e *callError) GRPCStatus() *status.Status {
	s := trunkcall.StatusOf(e.error)
	p := &spb.Status{Code: int32(s.Code), Message: s.Message}
	for _, d := range s.Details {
		p.Details = append(p.Details, &anypb.Any{TypeUrl: d.TypeURL, Value: d.Value})
	}
	return status.FromProto(p)
}

// toGRPC turns an error of a call into what a stub returns; io.EOF stays.
func toGRPC(err error) error {
	if err == nil || atEnd(err) {
		return err
	}
	return &callError{trunkcall.StatusOf(err).Err()}
}

// atEnd reports whether an error says that there are no more messages, and not that a
// call failed.
func atEnd(err error) bool { return errors.Is(err, io.EOF) && !ours(err) }

// ours reports whether an error is or wraps a status of Trunkcall.
func ours(err error) bool {
	var e trunkcall.StatusError
	return errors.As(err, &e)
}

// fromGRPC turns an error that a handler returned into one of Trunkcall. An error
// without a status becomes UNKNOWN with its text, as with gRPC's own server, unless
// that is to be hidden; one that wraps a status tells all of its text.
func fromGRPC(err error, hidden bool) error {
	switch err.(type) { //nolint:errorlint // what wraps them has more to tell
	case nil, trunkcall.StatusError, *callError:
		return err
	}
	s, ok := status.FromError(err)
	switch {
	case ok:
	case ours(err):
		return err
	case hidden:
		return err
	default:
		s = status.FromContextError(err)
	}
	converted := trunkcall.StatusOf(trunkcall.Errorf(trunkcall.Code(s.Code()), "%s", s.Message()))
	for _, d := range s.Proto().GetDetails() {
		converted.Details = append(converted.Details, trunkcall.Detail{TypeURL: d.GetTypeUrl(), Value: d.GetValue()})
	}
	return converted.Err()
}
