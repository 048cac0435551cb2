package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// plan is a call to make.
type plan struct {
	Method   string `json:"method"` // of the service
	Metadata pairs  `json:"metadata"`
	Timeout  int    `json:"timeout_ms"` // 0: none
	Cancel   bool   `json:"cancel"`     // with the next line of standard input
}

// outcome is all that a caller learns.
type outcome struct {
	Messages []string `json:"messages"`
	Header   pairs    `json:"header"`
	Trailer  pairs    `json:"trailer"`
	Code     int      `json:"code"`
	Message  string   `json:"message"`
	Delivery string   `json:"delivery"`
	Details  pairs    `json:"details"` // type URLs, and values in base64
}

func call(target string) error {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(line, &p); err != nil {
		return err
	}
	client := trunkcall.NewClient(target)
	defer client.Close()
	if err := client.Register(handlers()...); err != nil { // for those that call back
		return err
	}
	m, err := p.Metadata.metadata()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(trunkcall.WithMetadata(context.Background(), m))
	defer cancel()
	if p.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(p.Timeout)*time.Millisecond)
		defer cancel()
	}
	if p.Cancel {
		go func() {
			_, _ = input.ReadBytes('\n')
			cancel()
		}()
	}
	told, err := json.Marshal(p.carryOut(ctx, client))
	fmt.Println(string(told))
	return err
}

func (p *plan) carryOut(ctx context.Context, client *trunkcall.Client) *outcome {
	o := &outcome{Messages: []string{}, Header: pairs{}, Trailer: pairs{}, Details: pairs{}}
	var header, trailer trunkcall.Metadata
	var err error
	if p.Method == "GetUser" {
		var response userResponse
		options := []trunkcall.CallOption{trunkcall.Header(&header), trunkcall.Trailer(&trailer)}
		if err = client.Invoke(ctx, service+p.Method, &userRequest{}, &response, options...); err == nil {
			o.Messages = append(o.Messages, response.GetName())
		}
	} else {
		header, trailer, err = p.stream(ctx, client, o)
	}
	o.Header, o.Trailer = toPairs(header), toPairs(trailer)
	if err != nil {
		s := trunkcall.StatusOf(err)
		o.Code, o.Message, o.Delivery = int(s.Code), s.Message, s.Delivery.String()
		for _, d := range s.Details {
			o.Details = append(o.Details, [2]string{d.TypeURL, base64.StdEncoding.EncodeToString(d.Value)})
		}
	}
	return o
}

// stream makes a call that is not unary: two requests, where many are taken,
// and every answer.
func (p *plan) stream(ctx context.Context, client *trunkcall.Client, o *outcome) (header, trailer trunkcall.Metadata, err error) {
	kinds := map[string]trunkcall.Kind{
		"ListUsers": trunkcall.KindServerStream, "ImportUsers": trunkcall.KindClientStream, "WatchUsers": trunkcall.KindBidiStream,
	}
	stream, err := client.NewStream(ctx, service+p.Method, kinds[p.Method])
	if err != nil {
		return nil, nil, err
	}
	for _, request := range map[string][]any{
		"ListUsers": {&listRequest{Count: 2}}, "ImportUsers": {&userResponse{}, &userResponse{}}, "WatchUsers": {&userRequest{}, &userRequest{}},
	}[p.Method] {
		if err := stream.Send(request); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, nil, err
	}
	for err == nil {
		err = p.receive(stream, o)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	end, wrong := trunkcall.AsClientStream(stream)
	if wrong != nil {
		return nil, nil, wrong
	}
	return end.Header(), end.Trailer(), err
}

func (p *plan) receive(stream trunkcall.Stream, o *outcome) error {
	if p.Method == "ImportUsers" {
		var answer importAnswer
		err := stream.Receive(&answer)
		if err == nil {
			o.Messages = append(o.Messages, fmt.Sprint(answer.GetCount()))
		}
		return err
	}
	var answer userResponse
	err := stream.Receive(&answer)
	if err == nil {
		o.Messages = append(o.Messages, answer.GetName())
	}
	return err
}
