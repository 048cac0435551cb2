package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// mirror answers a call with its own metadata, as header and as trailer.
func mirror(t *testing.T) trunkcall.Handler {
	return block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		if err := call.SetHeader(call.Metadata); err != nil {
			t.Error(err)
		}
		if err := call.SetTrailer(call.Metadata); err != nil {
			t.Error(err)
		}
		if len(in.Data) > 0 {
			return nil, trunkcall.Errorf(trunkcall.NotFound, "asked to fail")
		}
		return in, nil
	})
}

var variedMetadata = trunkcall.Metadata{
	{Key: "authorization", Value: "Bearer xyz"}, // a common key
	{Key: "x-own", Value: "one"},
	{Key: "x-own", Value: "two"},
	{Key: "empty", Value: ""},
	{Key: "spaces", Value: "  kept  "},
	{Key: "data-bin", Value: "\x00\xff\n\x80"},
	{Key: "empty-bin", Value: ""},
	{Key: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
}

func equalMetadata(t *testing.T, what string, got, want trunkcall.Metadata) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func TestMetadataThatCannotGoWithAnAnswerFailsTheCallByTheRuleThatItBreaks(t *testing.T) {
	for name, want := range map[string]struct {
		metadata trunkcall.Metadata
		code     trunkcall.Code
		words    string
	}{
		"too long":  {trunkcall.Metadata{{Key: "k", Value: strings.Repeat("v", 17_000)}}, trunkcall.ResourceExhausted, "16384"},
		"malformed": {trunkcall.Metadata{{Key: "Key", Value: "v"}}, trunkcall.Internal, "Key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := join(t, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
				call := trunkcall.CallFromContext(ctx)
				if err := call.SetTrailer(want.metadata); err == nil {
					t.Error("the trailer was taken")
				}
				return in, call.SetHeader(want.metadata)
			}))
			_, err := block.Call(soon(t), c, text(""))
			s := trunkcall.StatusOf(err)
			if s.Code != want.code || s.Delivery != trunkcall.Executed || !strings.Contains(s.Message, want.words) {
				t.Fatal(err)
			}
		})
	}
}

func TestMetadataGoesBothWaysUnchanged(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		ctx := trunkcall.WithMetadata(soon(t), variedMetadata)
		out, err := block.Do(ctx, c, text(""))
		if err != nil {
			t.Fatal(err)
		}
		equalMetadata(t, "header", out.Header, variedMetadata)
		equalMetadata(t, "trailer", out.Trailer, variedMetadata)
		if out.Peer.Remote == nil || out.Peer.Local == nil {
			t.Fatalf("peer %v", out.Peer)
		}
		var reply trunkcall.Reply
		_, err = block.Call(ctx, c, text("fail"), trunkcall.ReplyTo(&reply))
		s := wants(t, err, trunkcall.NotFound, trunkcall.Executed)
		equalMetadata(t, "header beside a failure", reply.Header, variedMetadata)
		equalMetadata(t, "trailer beside a failure", reply.Trailer, variedMetadata)
		equalMetadata(t, "header of a failure", s.Header, variedMetadata)
		equalMetadata(t, "trailer of a failure", s.Trailer, variedMetadata)
		if s.Peer.Remote == nil || s.Peer.Remote != reply.Peer.Remote {
			t.Fatalf("peer %v and %v", s.Peer, reply.Peer)
		}
	}, mirror(t))
}

func TestMetadataOfContextsAddsUp(t *testing.T) {
	_, c := join(t, mirror(t))
	ctx := trunkcall.WithMetadata(soon(t), trunkcall.Metadata{{Key: "a", Value: "1"}})
	inner := trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: "b", Value: "2"}})
	other := trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: "c", Value: "3"}})
	for ctx, want := range map[context.Context]trunkcall.Metadata{
		ctx:   {{Key: "a", Value: "1"}},
		inner: {{Key: "a", Value: "1"}, {Key: "b", Value: "2"}},
		other: {{Key: "a", Value: "1"}, {Key: "c", Value: "3"}},
	} {
		out, err := block.Do(ctx, c, text(""))
		if err != nil {
			t.Fatal(err)
		}
		equalMetadata(t, "header", out.Header, want)
	}
}

func TestAHandlersMetadataIsNotSentOnByItself(t *testing.T) {
	var behind *trunkcall.Client
	_, c := join(t, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		out, err := collectMetadata.Do(ctx, behind, in)
		if err != nil {
			return nil, err
		}
		if len(out.Header) != 0 {
			t.Errorf("%q went on to the next call", out.Header)
		}
		return in, nil
	}), collectMetadata.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		return in, call.SetHeader(call.Metadata)
	}))
	behind = c
	ctx := trunkcall.WithMetadata(soon(t), trunkcall.Metadata{{Key: "authorization", Value: "secret"}})
	if _, err := block.Call(ctx, c, text("")); err != nil {
		t.Fatal(err)
	}
}

var collectMetadata = trunkcall.Unary[payload, payload]("/test.Service/Metadata")

func TestMetadataOfStreams(t *testing.T) {
	sent := trunkcall.Metadata{{Key: "k", Value: "v"}, {Key: "k-bin", Value: "\x00"}}
	method := trunkcall.Bidi[payload, payload]("/test.Service/MetadataStream")
	proceed := make(chan struct{})
	_, c := join(t, method.Handler(func(ctx context.Context, s *trunkcall.BidiStream[payload, payload]) error {
		call := trunkcall.CallFromContext(ctx)
		if err := call.SendHeader(call.Metadata); err != nil {
			t.Error(err)
		}
		if err := call.SetHeader(call.Metadata); err == nil {
			t.Error("the header was changed after it was sent")
		}
		<-proceed // the caller has the header although nothing was answered yet
		_ = call.SetTrailer(call.Metadata)
		return s.Send(text("x"))
	}))
	s, err := trunkcall.OpenStream(trunkcall.WithMetadata(soon(t), sent), c, trunkcall.NewMethod("/test.Service/MetadataStream", trunkcall.KindBidiStream))
	if err != nil {
		t.Fatal(err)
	}
	equalMetadata(t, "header", s.Header(), sent)
	close(proceed)
	out := &payload{}
	if err := s.Receive(out); err != nil {
		t.Fatal(err)
	}
	if err := s.Receive(out); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	equalMetadata(t, "trailer", s.Trailer(), sent)
	equalMetadata(t, "header again", s.Header(), sent)
}

func TestHeaderIsKnownToBeAbsentOnceTheCallEnds(t *testing.T) {
	g := newGate(t)
	method := trunkcall.Bidi[payload, payload]("/test.Service/NoHeader")
	_, c := join(t, method.Handler(func(context.Context, *trunkcall.BidiStream[payload, payload]) error {
		<-g.leave
		return trunkcall.Errorf(trunkcall.Aborted, "no header")
	}))
	s, err := trunkcall.OpenStream(soon(t), c, trunkcall.NewMethod("/test.Service/NoHeader", trunkcall.KindBidiStream))
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan trunkcall.Metadata)
	go func() { got <- s.Header() }()
	g.open()
	if m := receive(t, got, "answer of Header"); len(m) != 0 {
		t.Fatal(m)
	}
	wants(t, s.Receive(&payload{}), trunkcall.Aborted, trunkcall.Executed)
}

func TestMetadataThatThePeerWouldNotTakeIsNotSent(t *testing.T) {
	_, c := join(t, mirror(t))
	var many trunkcall.Metadata
	for range 129 {
		many.Add("k", "v")
	}
	for name, bad := range map[string]struct {
		m    trunkcall.Metadata
		code trunkcall.Code
		says []string
	}{
		"upper case":     {trunkcall.Metadata{{Key: "Key", Value: "v"}}, trunkcall.InvalidArgument, []string{"Key"}},
		"no key":         {trunkcall.Metadata{{Key: "", Value: "v"}}, trunkcall.InvalidArgument, nil},
		"long key":       {trunkcall.Metadata{{Key: strings.Repeat("k", 256), Value: "v"}}, trunkcall.InvalidArgument, nil},
		"not printable":  {trunkcall.Metadata{{Key: "key", Value: "a\nb"}}, trunkcall.InvalidArgument, []string{"key"}},
		"too many":       {many, trunkcall.ResourceExhausted, []string{"max_metadata_entries", "128", "129"}},
		"too many bytes": {trunkcall.Metadata{{Key: "k", Value: strings.Repeat("v", 16<<10)}}, trunkcall.ResourceExhausted, []string{"max_metadata_bytes", "16384"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := trunkcall.WithMetadata(soon(t), bad.m)
			_, err := block.Call(ctx, c, text(""))
			wantsText(t, wants(t, err, bad.code, trunkcall.NotSent).Message, bad.says...)
			_, err = chat.Open(ctx, c)
			wants(t, err, bad.code, trunkcall.NotSent)
		})
	}
	largest := trunkcall.Metadata{{Key: "k", Value: strings.Repeat("v", 16<<10-6)}}
	out, err := block.Do(trunkcall.WithMetadata(soon(t), largest), c, text(""))
	if err != nil {
		t.Fatal(err)
	}
	equalMetadata(t, "header", out.Header, largest)
}

func TestAHandlersMetadataIsCheckedBeforeItIsSent(t *testing.T) {
	_, c := join(t, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		for _, bad := range []trunkcall.Metadata{
			{{Key: "UPPER", Value: "v"}}, {{Key: "k", Value: strings.Repeat("v", 17<<10)}}, {{Key: "k", Value: "\x01"}},
		} {
			if call.SetHeader(bad) == nil || call.SetTrailer(bad) == nil || call.SendHeader(bad) == nil {
				t.Errorf("%.40q was taken", bad)
			}
		}
		return in, call.SetTrailer(trunkcall.Metadata{{Key: "good", Value: "v"}})
	}))
	out, err := block.Do(soon(t), c, text(""))
	if err != nil || out.Trailer.Get("good") != "v" {
		t.Fatal(out, err)
	}
}
