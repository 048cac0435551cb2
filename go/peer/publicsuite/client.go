package publicsuite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/trunkcall/trunkcall/go"
)

// wantedCall is what the suite asks of a client: a ClientCompatRequest.
type wantedCall struct {
	TestName            string                      `json:"testName"`
	Compression         string                      `json:"compression"`
	Host                string                      `json:"host"`
	Port                int                         `json:"port"`
	ServerTLSCert       []byte                      `json:"serverTlsCert"`
	ClientTLSCreds      *struct{ Cert, Key []byte } `json:"clientTlsCreds"`
	MessageReceiveLimit uint32                      `json:"messageReceiveLimit"`
	Service, Method     string
	StreamType          string            `json:"streamType"`
	RequestHeaders      []header          `json:"requestHeaders"`
	RequestMessages     []json.RawMessage `json:"requestMessages"`
	TimeoutMs           *int              `json:"timeoutMs"`
	RequestDelayMs      int               `json:"requestDelayMs"`
	Cancel              *struct {
		BeforeCloseSend   *struct{}
		AfterCloseSendMs  *int
		AfterNumResponses *int
	}
}

// atOnce is how many calls are made at a time.
const atOnce = 8

// Call carries out the calls that it is asked for on in, and tells on out what came of each.
func Call(in io.Reader, out io.Writer) error {
	var running sync.WaitGroup
	var mu sync.Mutex // guards out and failed
	var failed error
	slots := make(chan struct{}, atOnce)
	for {
		wanted := &wantedCall{}
		if err := readMessage(in, "ClientCompatRequest", wanted); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			response := map[string]any{"testName": wanted.TestName}
			if result, err := wanted.carryOut(context.Background()); err != nil {
				response["error"] = map[string]string{"message": err.Error()}
			} else {
				response["response"] = result
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, writeMessage(out, "ClientCompatResponse", response))
		})
	}
	running.Wait()
	return failed
}

// result is a ClientResponseResult.
type result struct {
	ResponseHeaders   []header          `json:"responseHeaders"`
	Payloads          []json.RawMessage `json:"payloads"`
	Error             *callError        `json:"error,omitempty"`
	ResponseTrailers  []header          `json:"responseTrailers"`
	NumUnsentRequests int               `json:"numUnsentRequests"`
}

// callError is an Error.
type callError struct {
	Code    string            `json:"code"`
	Message string            `json:"message"`
	Details []json.RawMessage `json:"details"`
}

// carryOut makes the call. Its error says why it could not be made.
func (w *wantedCall) carryOut(ctx context.Context) (*result, error) {
	requests, err := w.requests()
	if err != nil {
		return nil, err
	}
	options, err := w.options()
	if err != nil {
		return nil, err
	}
	client, err := trunkcall.NewClient(net.JoinHostPort(w.Host, strconv.Itoa(w.Port)), options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(trunkcall.WithMetadata(ctx, metadata(w.RequestHeaders)))
	defer cancel()
	if err := client.Connect(ctx); err != nil { // the server tells of the time that a call has left
		failed, err := errorOf(err)
		return &result{Error: failed, NumUnsentRequests: len(requests)}, err
	}
	if w.TimeoutMs != nil {
		var release context.CancelFunc
		ctx, release = context.WithTimeout(ctx, time.Duration(*w.TimeoutMs)*time.Millisecond)
		defer release()
	}
	switch w.StreamType {
	case "STREAM_TYPE_UNARY":
		return w.unary(ctx, cancel, client, requests)
	case "STREAM_TYPE_CLIENT_STREAM":
		return w.stream(ctx, cancel, client, trunkcall.KindClientStream, requests)
	case "STREAM_TYPE_SERVER_STREAM":
		return w.stream(ctx, cancel, client, trunkcall.KindServerStream, requests)
	default:
		return w.stream(ctx, cancel, client, trunkcall.KindBidiStream, requests)
	}
}

func (w *wantedCall) requests() (all []proto.Message, err error) {
	for _, text := range w.RequestMessages {
		packed := &anypb.Any{}
		if err := protojson.Unmarshal(text, packed); err != nil {
			return nil, err
		}
		m, err := packed.UnmarshalNew()
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func (w *wantedCall) options() ([]trunkcall.ClientOption, error) {
	var options []trunkcall.ClientOption
	if w.MessageReceiveLimit != 0 {
		options = append(options, trunkcall.WithLimits(trunkcall.Limits{MessageBytes: w.MessageReceiveLimit}))
	}
	if w.Compression == "COMPRESSION_GZIP" {
		options = append(options, trunkcall.WithCompression(trunkcall.Gzip))
	}
	if len(w.ServerTLSCert) == 0 {
		return options, nil
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AppendCertsFromPEM(w.ServerTLSCert)
	if own := w.ClientTLSCreds; own != nil {
		certificate, err := tls.X509KeyPair(own.Cert, own.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return append(options, trunkcall.WithTLS(config)), nil
}

func (w *wantedCall) name() string {
	service := w.Service
	if service == "" {
		service = schemaPackage + "ConformanceService"
	}
	return "/" + service + "/" + w.Method
}

// answer makes an empty answer of the method.
func (w *wantedCall) answer() (proto.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(schemaPackage + w.Method + "Response"))
	if err != nil {
		return nil, err
	}
	return kind.New().Interface(), nil
}

// wait waits before a request is sent.
func (w *wantedCall) wait() { time.Sleep(time.Duration(w.RequestDelayMs) * time.Millisecond) }

func (w *wantedCall) unary(ctx context.Context, cancel context.CancelFunc, client *trunkcall.Client, requests []proto.Message) (*result, error) {
	if len(requests) != 1 {
		return nil, fmt.Errorf("a unary call with %d requests", len(requests))
	}
	answer, err := w.answer()
	if err != nil {
		return nil, err
	}
	w.wait()
	if w.Cancel != nil {
		stop := time.AfterFunc(w.afterCloseSend(), cancel)
		defer stop.Stop()
	}
	reply, failed := trunkcall.Do(ctx, client, trunkcall.NewMethod(w.name(), trunkcall.KindUnary), requests[0], answer)
	r := &result{ResponseHeaders: headers(reply.Header), ResponseTrailers: headers(reply.Trailer)}
	if failed == nil {
		err = r.add(answer)
	} else {
		r.Error, err = errorOf(failed)
	}
	return r, err
}

// afterCloseSend is how long after the last request the call is given up, unless that is
// wanted at another time.
func (w *wantedCall) afterCloseSend() time.Duration {
	if after := w.Cancel.AfterCloseSendMs; after != nil {
		return time.Duration(*after) * time.Millisecond
	}
	return 0
}

func (w *wantedCall) stream(
	ctx context.Context, cancel context.CancelFunc, client *trunkcall.Client, kind trunkcall.Kind, requests []proto.Message,
) (*result, error) {
	s, err := trunkcall.OpenStream(ctx, client, trunkcall.NewMethod(w.name(), kind))
	if err != nil {
		failed, err := errorOf(err)
		return &result{Error: failed, NumUnsentRequests: len(requests)}, err
	}
	defer func() { _ = s.Close() }()
	c := &streaming{wantedCall: w, StreamCall: s, cancel: cancel}
	err = c.carryOut(requests)
	if err != nil {
		return nil, err
	}
	c.ResponseHeaders, c.ResponseTrailers = headers(s.Header()), headers(s.Trailer())
	if c.ended != nil {
		c.Error, err = errorOf(c.ended)
	}
	return &c.result, err
}

// streaming is a stream and what came of it.
type streaming struct {
	*wantedCall
	trunkcall.StreamCall
	result
	cancel context.CancelFunc
	over   bool
	ended  error // what it ended with, nil for success
}

// carryOut sends, receives and gives up as it is asked to. Its error is of the suite's
// messages, not of the call.
func (c *streaming) carryOut(requests []proto.Message) error {
	inTurn := c.StreamType == "STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM"
	for i, request := range requests {
		c.wait()
		if err := c.Send(request); err != nil {
			c.NumUnsentRequests = len(requests) - i
			if !errors.Is(err, io.EOF) {
				c.over, c.ended = true, err
			}
			break
		}
		if inTurn {
			if err := c.receive(); err != nil {
				return err
			}
		}
	}
	c.closeSend()
	for !c.over {
		if err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

// closeSend half-closes the call, and gives it up if that is wanted now.
func (c *streaming) closeSend() {
	if c.Cancel != nil && c.Cancel.BeforeCloseSend != nil {
		c.cancel()
		return
	}
	_ = c.CloseSend() // how the call ended is received
	if c.Cancel != nil && c.Cancel.AfterNumResponses == nil {
		time.Sleep(c.afterCloseSend())
		c.cancel()
	}
}

// receive takes an answer, or the end of the call.
func (c *streaming) receive() error {
	if c.over {
		return nil
	}
	answer, err := c.answer()
	if err != nil {
		return err
	}
	if err := c.Receive(answer); err != nil {
		c.over = true
		if !errors.Is(err, io.EOF) {
			c.ended = err
		}
		return nil
	}
	if c.Cancel != nil && c.Cancel.AfterNumResponses != nil && len(c.Payloads)+1 == *c.Cancel.AfterNumResponses {
		defer c.cancel()
	}
	return c.add(answer)
}

// add notes what an answer carried.
func (r *result) add(answer proto.Message) error {
	carried := struct{ Payload json.RawMessage }{}
	if err := shape(answer, &carried); err != nil {
		return err
	}
	if carried.Payload == nil {
		carried.Payload = json.RawMessage("{}")
	}
	r.Payloads = append(r.Payloads, carried.Payload)
	return nil
}

// errorOf is a failure as the suite has it.
func errorOf(failed error) (*callError, error) {
	status := trunkcall.StatusOf(failed)
	e := &callError{Code: codeName(status.Code), Message: status.Message}
	for _, detail := range status.Details {
		text, err := protojson.Marshal(&anypb.Any{TypeUrl: detail.TypeURL, Value: detail.Value})
		if err != nil {
			return nil, err
		}
		e.Details = append(e.Details, text)
	}
	return e, nil
}
