package publicsuite

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/trunkcall/trunkcall/go"
)

// The suite's service: a request says what its answer is to be, and the answer
// repeats what came.

// request is the parts of all kinds of requests.
type request struct {
	ResponseDefinition *definition
	FullDuplex         bool
}

// definition is a UnaryResponseDefinition or a StreamResponseDefinition.
type definition struct {
	ResponseHeaders, ResponseTrailers []header
	ResponseData                      json.RawMessage // one, or a list of them
	ResponseDelayMs                   int
	Error                             *failure
}

type header struct {
	Name  string   `json:"name"`
	Value []string `json:"value"`
}

type failure struct {
	Code    string
	Message string
	Details []json.RawMessage
}

// codeName is a code as the suite calls it.
func codeName(code trunkcall.Code) string {
	return "CODE_" + strings.Replace(code.String(), "CANCELLED", "CANCELED", 1)
}

// data is what is to be answered.
func (d *definition) data() (all []json.RawMessage) {
	if d == nil || len(d.ResponseData) == 0 {
		return nil
	}
	if json.Unmarshal(d.ResponseData, &all) != nil {
		all = []json.RawMessage{d.ResponseData}
	}
	return all
}

// begin sets headers and trailers.
func (d *definition) begin(call *trunkcall.ServerCall) error {
	if d == nil {
		return nil
	}
	return errors.Join(call.SetHeader(metadata(d.ResponseHeaders)), call.SetTrailer(metadata(d.ResponseTrailers)))
}

func (d *definition) wait() {
	if d != nil {
		time.Sleep(time.Duration(d.ResponseDelayMs) * time.Millisecond)
	}
}

// fail is the error that is wanted, with info among its details if that was not
// told yet.
func (d *definition) fail(info json.RawMessage) error {
	if d == nil || d.Error == nil {
		return nil
	}
	out := trunkcall.Status{Code: trunkcall.Unknown, Message: d.Error.Message}
	for c := trunkcall.Canceled; c <= trunkcall.Unauthenticated; c++ {
		if d.Error.Code == codeName(c) {
			out.Code = c
		}
	}
	details := d.Error.Details
	if info != nil {
		details = append(details, typed("ConformancePayload.RequestInfo", info))
	}
	for _, text := range details {
		detail := &anypb.Any{}
		if err := protojson.Unmarshal(text, detail); err != nil {
			return err
		}
		out.Details = append(out.Details, trunkcall.Detail{TypeURL: detail.TypeUrl, Value: detail.Value})
	}
	return out.Err()
}

// typed is the JSON of a message as that of an Any.
func typed(name string, text json.RawMessage) json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(text, &fields)
	fields["@type"], _ = json.Marshal("type.googleapis.com/" + schemaPackage + name)
	out, _ := json.Marshal(fields)
	return out
}

// info is the RequestInfo of a call; first is false where only the requests are
// told.
func info(ctx context.Context, requests []proto.Message, first bool) json.RawMessage {
	told := map[string]any{}
	var all []json.RawMessage
	for _, m := range requests {
		text, _ := protojson.Marshal(m)
		all = append(all, typed(string(m.ProtoReflect().Descriptor().Name()), text))
	}
	told["requests"] = all
	if first {
		told["requestHeaders"] = headers(trunkcall.CallFromContext(ctx).Metadata)
		if deadline, ok := ctx.Deadline(); ok {
			told["timeoutMs"] = time.Until(deadline).Milliseconds()
		}
	}
	out, _ := json.Marshal(told)
	return out
}

// metadata and headers turn one into the other; values of binary keys are
// base64 in the latter.
func metadata(all []header) (m trunkcall.Metadata) {
	for _, h := range all {
		for _, value := range h.Value {
			key := strings.ToLower(h.Name)
			if strings.HasSuffix(key, "-bin") {
				decoded, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
				value = string(decoded)
			}
			m.Add(key, value)
		}
	}
	return m
}

func headers(m trunkcall.Metadata) (all []header) {
	at := map[string]int{}
	for _, pair := range m {
		i, ok := at[pair.Key]
		if !ok {
			i = len(all)
			at[pair.Key] = i
			all = append(all, header{Name: pair.Key})
		}
		value := pair.Value
		if strings.HasSuffix(pair.Key, "-bin") {
			value = base64.RawStdEncoding.EncodeToString([]byte(value))
		}
		all[i].Value = append(all[i].Value, value)
	}
	return all
}

// payload is a response of a method.
func payload(method string, data, info json.RawMessage) (proto.Message, error) {
	parts := map[string]json.RawMessage{}
	if data != nil {
		parts["data"] = data
	}
	if info != nil {
		parts["requestInfo"] = info
	}
	return message(method+"Response", map[string]any{"payload": parts})
}

// answerOne is the one response to requests, of which the first says what it is.
func answerOne(ctx context.Context, method string, requests []proto.Message) (proto.Message, error) {
	r := request{}
	if len(requests) > 0 {
		if err := shape(requests[0], &r); err != nil {
			return nil, err
		}
	}
	d := r.ResponseDefinition
	if err := d.begin(trunkcall.CallFromContext(ctx)); err != nil {
		return nil, err
	}
	d.wait()
	told := info(ctx, requests, true)
	if err := d.fail(told); err != nil {
		return nil, err
	}
	var data json.RawMessage
	if all := d.data(); len(all) > 0 {
		data = all[0]
	}
	return payload(method, data, told)
}

func clientStream(ctx context.Context, s trunkcall.Stream) error {
	var all []proto.Message
	for {
		m := newMessage("ClientStreamRequest")
		if err := s.Receive(m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		all = append(all, m)
	}
	response, err := answerOne(ctx, "ClientStream", all)
	if err != nil {
		return err
	}
	return s.Send(response)
}

// answering is a stream of responses.
type answering struct {
	method string
	stream trunkcall.Stream
	*definition
	sent int
}

// next sends the next response.
func (a *answering) next(ctx context.Context, requests []proto.Message) error {
	a.wait()
	var told json.RawMessage
	if len(requests) > 0 || a.sent == 0 {
		told = info(ctx, requests, a.sent == 0)
	}
	m, err := payload(a.method, a.data()[a.sent], told)
	if err != nil {
		return err
	}
	a.sent++
	return a.stream.Send(m)
}

// rest sends the responses that are left, and ends as it is asked to.
func (a *answering) rest(ctx context.Context, requests []proto.Message) error {
	for a.sent < len(a.data()) {
		if err := a.next(ctx, requests); err != nil {
			return err
		}
		requests = nil
	}
	var told json.RawMessage
	if a.sent == 0 {
		told = info(ctx, requests, true)
	}
	return a.fail(told)
}

func (a *answering) open(ctx context.Context, d *definition) error {
	a.definition = d
	call := trunkcall.CallFromContext(ctx)
	if err := d.begin(call); err != nil || len(d.data()) == 0 {
		return err
	}
	return call.SendHeader(nil)
}

func serverStream(ctx context.Context, s trunkcall.Stream) error {
	m, r := newMessage("ServerStreamRequest"), request{}
	if err := s.Receive(m); err != nil {
		return err
	}
	if err := shape(m, &r); err != nil {
		return err
	}
	a := &answering{method: "ServerStream", stream: s}
	if err := a.open(ctx, r.ResponseDefinition); err != nil {
		return err
	}
	return a.rest(ctx, []proto.Message{m})
}

func bidiStream(ctx context.Context, s trunkcall.Stream) error {
	a := &answering{method: "BidiStream", stream: s}
	var all []proto.Message
	for first, r := true, (request{}); ; first = false {
		m := newMessage("BidiStreamRequest")
		if err := s.Receive(m); errors.Is(err, io.EOF) {
			if !first && !r.FullDuplex {
				if err := a.open(ctx, a.definition); err != nil {
					return err
				}
			}
			return a.rest(ctx, all)
		} else if err != nil {
			return err
		}
		all = append(all, m)
		if first {
			if err := shape(m, &r); err != nil {
				return err
			}
			a.definition = r.ResponseDefinition
			if r.FullDuplex {
				if err := a.open(ctx, a.definition); err != nil {
					return err
				}
			}
		}
		if r.FullDuplex {
			if a.sent >= len(a.data()) {
				return a.rest(ctx, all)
			}
			if err := a.next(ctx, all); err != nil {
				return err
			}
			all = nil
		}
	}
}
