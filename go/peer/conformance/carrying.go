package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
)

// carrying is one case while it is carried out.
type carrying struct {
	ctx    context.Context
	client *trunkcall.Client
	do     func(what string) error
	calls  []*carried
}

// carried is one of its calls.
type carried struct {
	line     *callLine
	id       string // of its plan
	answered chan struct{}
	ended    chan struct{}
	result   *result
}

func (c *carrying) carryOut(lines []callLine) ([]outcomeLine, error) {
	var running sync.WaitGroup
	defer running.Wait()
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	for n := range lines {
		one := &carried{line: &lines[n], id: planID(&lines[n]), answered: make(chan struct{}), ended: make(chan struct{})}
		if err := c.turnOf(one); err != nil {
			return nil, err
		}
		prepared, err := c.prepare(one, released)
		if err != nil {
			return nil, err
		}
		c.calls = append(c.calls, one)
		running.Go(func() {
			defer close(one.ended)
			one.result = c.make(one, prepared)
		})
	}
	for _, one := range c.calls {
		if !one.line.Hold {
			<-one.ended
		}
	}
	release()
	return c.tell()
}

func (c *carrying) tell() ([]outcomeLine, error) {
	var outcomes []outcomeLine
	for _, one := range c.calls {
		<-one.ended
		line, err := one.result.line()
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, line)
	}
	return outcomes, nil
}

// turnOf waits until a call may begin, and has done what is to be done before.
func (c *carrying) turnOf(one *carried) error {
	if len(c.calls) > 0 {
		before := c.calls[len(c.calls)-1]
		switch one.line.Begin {
		case "at-once":
		case "beside":
			if err := c.started(before); err != nil {
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
func (c *carrying) started(one *carried) error {
	if one.line.Hold {
		select {
		case <-one.answered:
		case <-one.ended:
			return errors.New("a call that was to go on has ended")
		}
		return nil
	}
	_, err := c.observe(one.id, conformancev1.Until_STARTED)
	return err
}

func (c *carrying) observe(id string, until conformancev1.Until) (*observed, error) {
	if id == "" {
		return nil, errors.New("the call has no plan with an id")
	}
	got, err := observeMethod.Call(c.ctx, c.client, &conformancev1.ObserveRequest{Id: id, Until: until})
	if err != nil {
		return nil, fmt.Errorf("observing: %w", err)
	}
	return got, nil
}

func planID(line *callLine) string {
	if len(line.Requests) == 0 {
		return ""
	}
	if in, err := line.Requests[0].message(); err == nil {
		if in, ok := in.(*request); ok {
			return in.GetPlan().GetId()
		}
	}
	return ""
}

func (c *carrying) prepare(one *carried, released <-chan struct{}) (*call, error) {
	made := &call{through: c.client, name: one.line.Method, answered: func() { close(one.answered) }}
	if !strings.HasPrefix(made.name, "/") {
		made.name, made.kind = service+one.line.Method, kinds[one.line.Method]
	}
	if one.line.Hold {
		made.held = released
	}
	if one.line.Ready {
		made.options = append(made.options, trunkcall.WaitForReady())
	}
	for _, line := range one.line.Requests {
		in, err := line.message()
		if err != nil {
			return nil, err
		}
		made.requests = append(made.requests, in)
	}
	return made, nil
}

// make makes a call, and gives it up when its line says so.
func (c *carrying) make(one *carried, made *call) *result {
	metadata, err := one.line.Metadata.metadata()
	if err != nil {
		return &result{broken: err}
	}
	// Not with the deadline of the case, which would go along with the call.
	ctx, cancel := context.WithCancel(trunkcall.WithMetadata(context.Background(), metadata))
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	if one.line.TimeoutMs != nil {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, time.Duration(*one.line.TimeoutMs)*time.Millisecond)
		defer end()
	}
	cancelled := make(chan error, 1)
	switch one.line.Cancel {
	case "before":
		cancel()
		cancelled <- nil
	case "started":
		go func() {
			cancelled <- c.started(one)
			cancel()
		}()
	case "answered":
		tell := made.answered
		made.answered = func() { tell(); cancel() }
		cancelled <- nil
	default:
		cancelled <- nil
	}
	var got *result
	if one.line.Arguments != nil {
		got = codeFirst(ctx, made, one.line.Arguments)
	} else {
		got = made.make(ctx)
		for one.line.WhileOK && got.status.Code == trunkcall.OK {
			made.answered = nil
			got = made.make(ctx)
		}
	}
	cancel()
	got.broken = <-cancelled
	c.look(one, got)
	return got
}

// look asks what became of the handler.
func (c *carrying) look(one *carried, got *result) {
	if one.line.Observe == "" || got.broken != nil {
		return
	}
	got.observed, got.broken = c.observe(one.id, conformancev1.Until(conformancev1.Until_value[one.line.Observe]))
}

// codeFirst makes a call whose request is a list of arguments.
func codeFirst(ctx context.Context, made *call, arguments json.RawMessage) *result {
	r := &result{}
	var values []any
	if r.broken = codefirst.JSON.Decode(arguments, &values); r.broken != nil {
		return r
	}
	var got any
	if err := made.do(ctx, r, values, &got, trunkcall.CallCodec(codefirst.MessagePack)); err != nil {
		r.status = trunkcall.StatusOf(err)
		return r
	}
	r.results, r.broken = codefirst.JSON.Append(nil, got)
	return r
}
