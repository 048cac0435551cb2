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

// callError is a *trunkcall.Status as callers of gRPC stubs know it.
type callError struct{ *trunkcall.Status }

func (e *callError) Error() string {
	return fmt.Sprintf("rpc error: code = %s desc = %s", codes.Code(e.Code), e.Message)
}

func (e *callError) Unwrap() error { return e.Status }

// GRPCStatus is what package status looks for.
func (e *callError) GRPCStatus() *status.Status {
	p := &spb.Status{Code: int32(e.Code), Message: e.Message}
	for _, d := range e.Details {
		p.Details = append(p.Details, &anypb.Any{TypeUrl: d.TypeURL, Value: d.Value})
	}
	return status.FromProto(p)
}

// toGRPC turns an error of a call into what a stub returns; io.EOF stays.
func toGRPC(err error) error {
	if err == nil || errors.Is(err, io.EOF) && trunkStatus(err) == nil {
		return err
	}
	return &callError{trunkcall.StatusOf(err)}
}

func trunkStatus(err error) *trunkcall.Status {
	var s *trunkcall.Status
	errors.As(err, &s)
	return s
}

// fromGRPC turns an error that a handler returned into a *trunkcall.Status. An
// error without a gRPC status becomes UNKNOWN, as with gRPC's own server, and one
// that wraps a status tells all of its text.
func fromGRPC(err error) error {
	switch err.(type) { //nolint:errorlint // what wraps them has more to tell
	case nil, *trunkcall.Status, *callError:
		return err
	}
	s, ok := status.FromError(err)
	switch {
	case ok:
	case trunkStatus(err) != nil:
		return err
	default:
		s = status.FromContextError(err)
	}
	converted := &trunkcall.Status{Code: trunkcall.Code(s.Code()), Message: s.Message()}
	for _, d := range s.Proto().GetDetails() {
		converted.Details = append(converted.Details, trunkcall.Detail{TypeURL: d.GetTypeUrl(), Value: d.GetValue()})
	}
	return converted
}
