package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// At the end of the grace whoever still waits is told so, also where the handler runs on.
func TestTheGraceEndsCallsOfHTTPClients(t *testing.T) {
	t.Parallel() // it waits more than it computes
	for version, c := range overHTTP(t) {
		for name, call := range map[string]struct{ method, kind, body, want string }{
			"Connect":                 {"Block", "application/json", "{}", `{"code":"unavailable"`},
			"gRPC-Web":                {"Block", "application/grpc-web", enveloped(""), "grpc-status: 14\r\n"},
			"a stream of Connect":     {"Pour", "application/connect+json", enveloped("{}"), `{"error":{"code":"unavailable"`},
			"a stream of gRPC-Web":    {"Pour", "application/grpc-web", enveloped(""), "grpc-status: 14\r\n"},
			"a stream that runs on":   {"Hold", "application/connect+json", enveloped("{}"), `{"error":{"code":"unavailable"`},
			"Connect with a deadline": {"Block", "application/json", "{}", `{"code":"unavailable"`},
		} {
			t.Run(version+", "+name, func(t *testing.T) {
				g := newGate(t)
				s, url := serveCalculator(t, nil, g.handler(), g.pours("/test.Service/Pour", true), g.pours("/test.Service/Hold", false))
				fields := []string{}
				if strings.Contains(name, "deadline") {
					fields = []string{"Connect-Timeout-Ms", "60000"}
				}
				answered := make(chan replied, 1)
				go func() { answered <- asks(t, c, url+"/test.Service/"+call.method, call.kind, call.body, fields...) }()
				handler := g.await(t)
				ctx, cancel := within(10 * time.Millisecond)
				defer cancel()
				if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				got := receive(t, answered, "end of the call")
				if !strings.Contains(got.body, call.want) || !strings.Contains(got.body+got.header.Get("Trunk-Delivery"), "unknown") {
					t.Errorf("%d %v %q", got.status, got.header, got.body)
				}
				ends(t, handler)
			})
		}
	}
}

// pours serves a stream of one message, and then waits for the end of its call, or else for the gate.
func (g *gate) pours(method string, ends bool) trunkcall.Handler {
	return trunkcall.ServerStream[payload, payload](method).Handler(func(ctx context.Context, in *payload, s *trunkcall.Sender[payload]) error {
		if err := s.Send(in); err != nil {
			return err
		}
		g.entered <- ctx
		if ends {
			<-ctx.Done()
		} else {
			<-g.leave
		}
		return ctx.Err()
	})
}

// asks is posts for an answer whose end may be missing.
func asks(t *testing.T, c *http.Client, url, kind, body string, fields ...string) replied {
	r, err := http.NewRequestWithContext(soon(t), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return replied{}
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	response, err := c.Do(r)
	if err != nil {
		t.Error(err)
		return replied{}
	}
	defer response.Body.Close()
	all, _ := io.ReadAll(response.Body)
	return replied{response.StatusCode, response.Header, string(all)}
}
