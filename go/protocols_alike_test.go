package trunkcall_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
)

// One table through all protocols: the same calls of the same handlers end alike.

// said is what a caller says, ending what it is told.
type said struct {
	method  string
	data    string
	k       string // metadata
	timeout time.Duration
}

type ending struct {
	data, code, message, delivery string // "" for OK and executed
	header, trailer               string // those of the handler
	seen                          string // a trailer of the interceptor's
}

// caller makes one call through one protocol.
type caller func(t *testing.T, s said) ending

func codeOf(c trunkcall.Code) string {
	switch c {
	case trunkcall.OK:
		return ""
	case trunkcall.Canceled:
		return "canceled"
	}
	return strings.ToLower(c.String())
}

func openStream(ctx context.Context, c *trunkcall.Client, method string, kind trunkcall.Kind) (trunkcall.StreamCall, error) {
	return trunkcall.OpenStream(ctx, c, trunkcall.NewMethod(method, kind))
}

func natively(c *trunkcall.Client, kind trunkcall.Kind) caller {
	return func(t *testing.T, s said) (out ending) {
		ctx, cancel := context.WithTimeout(trunkcall.WithMetadata(t.Context(), trunkcall.Metadata{{Key: "k", Value: s.k}}), s.timeout)
		defer cancel()
		var header, trailer trunkcall.Metadata
		m, err := &payload{}, error(nil)
		if kind == trunkcall.KindUnary {
			var reply trunkcall.Reply
			reply, err = trunkcall.Do(ctx, c, unary(s.method), text(s.data), m)
			header, trailer = reply.Header, reply.Trailer
			out.data = string(m.Data)
		} else if stream, fault := openStream(ctx, c, s.method, kind); fault == nil {
			_ = stream.Send(text(s.data))
			_ = stream.CloseSend()
			for err = stream.Receive(m); err == nil; err = stream.Receive(m) {
				out.data = string(m.Data)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			header, trailer = stream.Header(), stream.Trailer()
		} else {
			err = fault
		}
		if err != nil {
			status := trunkcall.StatusOf(err)
			out.code, out.message = codeOf(status.Code), status.Message
			switch status.Delivery {
			case trunkcall.Executed:
			case trunkcall.NotSent: // what others send and have refused
				out.delivery = trunkcall.Refused.String()
			default:
				out.delivery = status.Delivery.String()
			}
		}
		out.header, out.trailer, out.seen = header.Get("h"), trailer.Get("t"), trailer.Get("seen")
		return out
	}
}

func byGRPC(c *grpc.ClientConn, streams bool) caller {
	return func(t *testing.T, s said) (out ending) {
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "k", s.k), s.timeout)
		defer cancel()
		stream, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: streams}, s.method)
		if err != nil && ctx.Err() != nil {
			return ending{code: "deadline_exceeded", delivery: "refused"} // never sent, as above
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.SendMsg(text(s.data))
		_ = stream.CloseSend()
		all, err := answersTo(stream)
		out.data = strings.Join(all, ",")
		header, _ := stream.Header()
		first := func(md metadata.MD, key string) string { return strings.Join(md.Get(key), ",") }
		trailer := stream.Trailer()
		out.header, out.trailer, out.seen, out.delivery = first(header, "h"), first(trailer, "t"), first(trailer, "seen"), first(trailer, "trunk-delivery")
		if err != nil {
			out.code, out.message = codeOf(trunkcall.Code(status.Code(err))), status.Convert(err).Message()
			if ctx.Err() != nil {
				out.delivery = "unknown" // its own clock was first
			}
		}
		return out
	}
}

func unescaped(message string) string {
	plain, err := url.PathUnescape(message)
	if err != nil {
		return "malformed: " + message
	}
	return plain
}

func byHTTP(c *http.Client, where, kind string) caller {
	return func(t *testing.T, s said) (out ending) {
		message, _ := json.Marshal(map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(s.data))})
		body, ms := string(message), strconv.Itoa(int(s.timeout.Milliseconds()))
		if kind != "application/json" {
			body = enveloped(body)
		}
		a := posts(t, c, where+s.method, kind, body, "K", s.k, "Connect-Timeout-Ms", ms, "Grpc-Timeout", ms+"m")
		out.header = a.header.Get("H")
		var end struct {
			Code, Message string
			Error         struct{ Code, Message string }
			Metadata      map[string][]string
		}
		first := func(key string) string { return strings.Join(end.Metadata[key], ",") }
		data := func(message string) string {
			var m struct{ Data []byte }
			if err := json.Unmarshal([]byte(message), &m); err != nil {
				t.Fatalf("%q: %v", message, err)
			}
			return string(m.Data)
		}
		switch got := []string(nil); {
		case a.header.Get("Content-Type") == "application/json": // of a unary call, or an error of one that is not known
			out.trailer, out.seen, out.delivery = a.header.Get("Trailer-T"), a.header.Get("Trailer-Seen"), a.header.Get("Trunk-Delivery")
			if a.status == http.StatusOK {
				out.data = data(a.body)
				return out
			}
			_ = json.Unmarshal([]byte(a.body), &end)
			out.code, out.message = end.Code, end.Message
		case kind == "application/connect+json":
			got, _ = envelopes(t, a.body)
			_ = json.Unmarshal([]byte(got[len(got)-1]), &end)
			out.code, out.message = end.Error.Code, end.Error.Message
			out.trailer, out.seen, out.delivery = first("t"), first("seen"), first("trunk-delivery")
			if len(got) > 1 {
				out.data = data(got[0])
			}
		default:
			got, _ = envelopes(t, a.body)
			end.Metadata = map[string][]string{}
			for line := range strings.SplitSeq(strings.TrimSuffix(got[len(got)-1], "\r\n"), "\r\n") {
				name, value, _ := strings.Cut(line, ": ")
				end.Metadata[name] = append(end.Metadata[name], value)
			}
			code, _ := strconv.Atoi(first("grpc-status"))
			out.code, out.message = codeOf(trunkcall.Code(code)), unescaped(first("grpc-message"))
			out.trailer, out.seen, out.delivery = first("t"), first("seen"), first("trunk-delivery")
			if len(got) > 1 {
				out.data = data(got[0])
			}
		}
		return out
	}
}

func TestAllProtocolsBehaveAlike(t *testing.T) {
	g := newGate(t)
	behave := func(ctx context.Context, in *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		_ = call.SetHeader(trunkcall.Metadata{{Key: "h", Value: "of " + trunkcall.PrincipalFromContext(ctx).(string)}})
		_ = call.SetTrailer(trunkcall.Metadata{{Key: "t", Value: "trailer"}})
		switch string(in.Data) {
		case "fail":
			return nil, trunkcall.Errorf(trunkcall.FailedPrecondition, "größer %% als")
		case "panic":
			panic("a secret")
		case "wait":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return in, nil
	}
	handlers := []trunkcall.Handler{
		g.handler(),
		trunkcall.Unary[payload, payload]("/test.Service/Unary").Handler(behave),
		trunkcall.ServerStream[payload, payload]("/test.Service/Stream").Handler(func(ctx context.Context, in *payload, out *trunkcall.Sender[payload]) error {
			m, err := behave(ctx, in)
			if err != nil {
				return err
			}
			return out.Send(m)
		}),
	}
	var admitted atomic.Int64
	admission := trunkcall.WithAdmission(func(_ context.Context, call *trunkcall.Arrival) (trunkcall.Admission, error) {
		if who := call.Metadata.Get("k"); who != "stranger" {
			admitted.Add(1)
			return trunkcall.Admission{Principal: who, Release: func() { admitted.Add(-1) }}, nil
		}
		return trunkcall.Admission{}, trunkcall.Errorf(trunkcall.Unauthenticated, "who calls %s, größer %% als?", call.Method.Name)
	})
	s, target := serve(t, serverOptions{
		admission, trunkcall.WithProtocol(&lines{}), trunkcall.WithRunningHandlers(2), trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 1000}),
		trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			if call.Metadata.Get("k") == "forbidden" {
				return trunkcall.Errorf(trunkcall.PermissionDenied, "not you")
			}
			err := next(ctx, call)
			call.Trailer.Add("seen", "yes")
			return err
		})}, handlers...)
	native, stockClient := dial(t, target), stock(t, target)
	protocols := map[string]caller{
		"native, unary": natively(native, trunkcall.KindUnary), "native, stream": natively(native, trunkcall.KindServerStream),
		"WebSocket, unary": natively(dial(t, "ws://"+target), trunkcall.KindUnary), "WebSocket, stream": natively(dial(t, "ws://"+target), trunkcall.KindServerStream),
		"gRPC, unary": byGRPC(stockClient, false), "gRPC, stream": byGRPC(stockClient, true),
	}
	protocols["a protocol of the user's, unary"], protocols["a protocol of the user's, stream"] = byLines(target), byLines(target)
	for name, c := range overHTTP(t) {
		where := "http://" + target
		protocols["Connect, "+name+", unary"] = byHTTP(c, where, "application/json")
		protocols["Connect, "+name+", stream"] = byHTTP(c, where, "application/connect+json")
		protocols["gRPC-Web, "+name+", unary"] = byHTTP(c, where, "application/grpc-web+json")
		protocols["gRPC-Web, "+name+", stream"] = byHTTP(c, where, "application/grpc-web+json")
	}
	idle := func() { eventually(t, "no handler runs", func() bool { return s.Running() == 0 }) }
	check := func(t *testing.T, s said, want ending, parts ...string) {
		for name, protocol := range protocols {
			t.Run(name, func(t *testing.T) {
				s := s
				if _, kind, _ := strings.Cut(name, ", "); s.method == "" && strings.HasSuffix(kind, "unary") {
					s.method = "/test.Service/Unary"
				} else if s.method == "" {
					s.method = "/test.Service/Stream"
				}
				got := ending{}
				if s.timeout = long; want.code != "deadline_exceeded" {
					got = protocol(t, s)
				} else {
					runsOut(t, func(d time.Duration) bool {
						idle()
						s.timeout = d
						got = protocol(t, s)
						return got.code == want.code && got.delivery == "refused" // before its handler started
					})
				}
				wantsText(t, got.message, parts...)
				if got.message = ""; got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
	header, trailer := "of v", "trailer"
	t.Run("OK", func(t *testing.T) {
		check(t, said{data: "x", k: "v"}, ending{data: "x", header: header, trailer: trailer, seen: "yes"})
	})
	t.Run("failure", func(t *testing.T) {
		check(t, said{data: "fail", k: "v"}, ending{code: "failed_precondition", header: header, trailer: trailer, seen: "yes"}, "größer % als")
	})
	t.Run("interceptor", func(t *testing.T) {
		check(t, said{data: "x", k: "forbidden"}, ending{code: "permission_denied", delivery: "refused"}, "not you")
	})
	t.Run("admission", func(t *testing.T) {
		check(t, said{data: "x", k: "stranger"}, ending{code: "unauthenticated", delivery: "refused"}, "who calls /test.Service/", ", größer % als?")
	})
	t.Run("panic", func(t *testing.T) {
		check(t, said{data: "panic", k: "v"}, ending{code: "internal"}, "the handler panicked")
	})
	t.Run("no such method", func(t *testing.T) {
		check(t, said{method: "/test.Service/None", data: "x"}, ending{code: "unimplemented", delivery: "refused"}, "/test.Service/None is not served by this server")
	})
	t.Run("long message", func(t *testing.T) {
		check(t, said{data: strings.Repeat("x", 2000)}, ending{code: "resource_exhausted", delivery: "refused"}, "max_message 1000")
	})
	t.Run("long metadata", func(t *testing.T) {
		check(t, said{data: "x", k: strings.Repeat("x", 17<<10)}, ending{code: "resource_exhausted", delivery: "refused"}, "max_metadata_bytes 16384")
	})
	t.Run("deadline", func(t *testing.T) {
		check(t, said{data: "wait"}, ending{code: "deadline_exceeded", delivery: "unknown"})
	})
	t.Run("handlers", func(t *testing.T) {
		idle()
		for range 2 {
			go func() { _, _ = block.Call(t.Context(), native, text("")) }()
			g.await(t)
		}
		check(t, said{data: "x"}, ending{code: "resource_exhausted", delivery: "refused"}, "running handlers", "limit of 2")
		g.open()
		idle()
	})
	eventually(t, "all that was admitted is released", func() bool { return admitted.Load() == 0 })
}
