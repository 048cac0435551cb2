package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// limit bounds a case in which something hangs.
const limit = 60 * time.Second

// carrying is one case while it is carried out.
type carrying struct {
	conn     *grpc.ClientConn
	do       func(what string) error
	released chan struct{} // closed when calls that hold may go on
	calls    []*carried
}

// carried is one of its calls.
type carried struct {
	line     *callLine
	id       string // of its plan
	answered chan struct{}
	ended    chan struct{}
	outcome  *outcome
	broken   error // why there is none
}

func newCarrying(conn *grpc.ClientConn, do func(string) error) *carrying {
	return &carrying{conn: conn, do: do, released: make(chan struct{})}
}

func (c *carrying) carryOut(lines []callLine) ([]*outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	release := sync.OnceFunc(func() { close(c.released) })
	defer release()
	for n := range lines {
		one := &carried{line: &lines[n], answered: make(chan struct{}), ended: make(chan struct{})}
		made, err := c.prepare(one)
		if err == nil {
			err = c.turnOf(ctx, one)
		}
		if err != nil {
			return nil, err
		}
		c.calls = append(c.calls, one)
		running.Go(func() {
			defer close(one.ended)
			one.outcome, one.broken = c.make(ctx, one, made)
		})
	}
	for _, one := range c.calls {
		if !one.line.Hold {
			<-one.ended
		}
	}
	release()
	running.Wait()
	var outcomes []*outcome
	for _, one := range c.calls {
		if one.broken != nil {
			return nil, one.broken
		}
		outcomes = append(outcomes, one.outcome)
	}
	return outcomes, nil
}

func (c *carrying) prepare(one *carried) (*call, error) {
	made := &call{conn: c.conn, method: one.line.Method, waits: one.line.WaitForReady, answered: func() { close(one.answered) }}
	if one.line.Hold {
		made.held = c.released
	}
	for n, line := range one.line.Requests {
		in, err := line.message()
		if err != nil {
			return nil, err
		}
		if request, ok := in.(*conformancev1.Request); ok && n == 0 {
			one.id = request.GetPlan().GetId()
		}
		made.requests = append(made.requests, in)
	}
	return made, nil
}

// turnOf waits until a call may begin, and has done what is to be done before.
func (c *carrying) turnOf(ctx context.Context, one *carried) error {
	if len(c.calls) > 0 {
		before := c.calls[len(c.calls)-1]
		switch one.line.Begin {
		case "at-once":
		case "beside":
			if err := c.started(ctx, before); err != nil {
				return err
			}
		default:
			<-before.ended
		}
	}
	if one.line.Do != "" {
		return c.do(one.line.Do)
	}
	return nil
}

// started waits until the handler of a call has started.
func (c *carrying) started(ctx context.Context, one *carried) error {
	if !one.line.Hold {
		_, err := c.observe(ctx, one.id, conformancev1.Until_STARTED)
		return err
	}
	select {
	case <-one.answered:
		return nil
	case <-one.ended:
		return errors.New("a call that was to go on has ended")
	}
}

func (c *carrying) observe(ctx context.Context, id string, until conformancev1.Until) (*conformancev1.Observed, error) {
	if id == "" {
		return nil, errors.New("the call has no plan with an id")
	}
	request := &conformancev1.ObserveRequest{Id: id, Until: until}
	got, err := conformancev1.NewConformanceServiceClient(c.conn).Observe(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("observing: %w", err)
	}
	return got, nil
}

// make makes a call, gives it up when its line says so, and looks what became of it.
func (c *carrying) make(ctx context.Context, one *carried, made *call) (*outcome, error) {
	flat, err := pairsToSend(one.line.Metadata)
	if err != nil {
		return nil, err
	}
	// Not with the deadline of the case, which would go along with the call.
	callCtx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(context.Background(), flat...))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if one.line.TimeoutMs != nil {
		var end context.CancelFunc
		callCtx, end = context.WithTimeout(callCtx, time.Duration(*one.line.TimeoutMs)*time.Millisecond)
		defer end()
	}
	watched := make(chan error, 1)
	switch one.line.Cancel {
	case "before":
		cancel()
	case "answered":
		tell := made.answered
		made.answered = func() { tell(); cancel() }
	case "started":
		go func() {
			watched <- c.started(ctx, one)
			cancel()
		}()
	}
	got := made.make(callCtx)
	if one.line.Cancel == "started" {
		if err := <-watched; err != nil {
			return nil, err
		}
	}
	told, err := got.outcome()
	if err == nil && one.line.Observe != "" {
		var seen *conformancev1.Observed
		if seen, err = c.observe(ctx, one.id, conformancev1.Until(conformancev1.Until_value[one.line.Observe])); err == nil {
			told.Observed, err = protojson.Marshal(seen)
		}
	}
	return told, err
}

// codeName is the name that the specification gives a code.
func codeName(code codes.Code) string {
	return names[code]
}

var names = map[codes.Code]string{
	codes.OK: "OK", codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE",
	codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}

// rawCodec is the codec of Protobuf that lets bytes pass as they are.
type rawCodec struct{}

func (rawCodec) Marshal(message any) ([]byte, error) {
	if raw, ok := message.(asIs); ok {
		return raw, nil
	}
	return proto.Marshal(message.(proto.Message)) //nolint:forcetypeassert // there is nothing else
}

func (rawCodec) Unmarshal(data []byte, message any) error {
	return proto.Unmarshal(data, message.(proto.Message)) //nolint:forcetypeassert // likewise
}

func (rawCodec) Name() string { return "proto" }
