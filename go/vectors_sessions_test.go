package trunkcall_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The scripts of spec/vectors/sessions that need the kind of a method or the
// count of running handlers, replayed with a real server as far as they need no
// clock of their own. The package wire replays all of them with a stand-in.

type sessionScript struct {
	ID      string            `json:"id"`
	Layer   string            `json:"layer"`
	Role    string            `json:"role"`
	Own     sessionOwn        `json:"own"`
	Methods map[string]string `json:"methods"`
	Steps   []sessionStep     `json:"steps"`
}

type sessionOwn struct {
	RunningHandlers int     `json:"running_handlers"`
	MaxMessage      uint32  `json:"max_message"`
	Compressions    []uint8 `json:"compressions"`
}

// accepts is what a server of a script is told to accept.
func (o *sessionOwn) accepts() trunkcall.ServerOption {
	var accepted []trunkcall.Compression
	for _, n := range o.Compressions {
		accepted = append(accepted, map[uint8]trunkcall.Compression{1: trunkcall.Gzip, 2: trunkcall.Zstd}[n])
	}
	return trunkcall.WithDecompression(accepted...)
}

// ofTheWire are scripts of the wire's layer that a server can be asked to play
// as well: what it makes of codecs and compressions.
var ofTheWire = []string{
	"call-fault-codec", "call-fault-codec-without-message", "call-fault-compression",
	"codec-started", "codec-not-started", "compression-started",
}

type sessionBytes struct {
	Payload *string      `json:"payload"`
	Fill    *sessionFill `json:"payload_fill"`
}

type sessionFill struct {
	Byte  string `json:"byte"`
	Count int    `json:"count"`
}

func (f *sessionFill) after(head string) []byte {
	b, _ := hex.DecodeString(head)
	if f != nil {
		one, _ := hex.DecodeString(f.Byte)
		b = append(b, bytes.Repeat(one, f.Count)...)
	}
	return b
}

func (b sessionBytes) bytes() []byte {
	if b.Payload == nil {
		return nil
	}
	return b.Fill.after(*b.Payload)
}

type sessionStep struct {
	sessionBytes
	Do     string `json:"do"`
	Expect string `json:"expect"`
	Call   string `json:"call"`
	Status int    `json:"status"`
	Text   string `json:"text"`
	Input  []struct {
		Hex  string       `json:"hex"`
		Fill *sessionFill `json:"fill"`
	} `json:"input"`
	Frames []struct {
		sessionBytes
		Type       string   `json:"type"`
		Stream     string   `json:"stream"`
		Flags      []string `json:"flags"`
		Status     uint16   `json:"status"`
		RetryAfter *uint32  `json:"retry_after"`
		AtLeast    uint32   `json:"retry_after_at_least"`
	} `json:"frames"`
	Events []struct {
		sessionBytes
		Event  string `json:"event"`
		Call   string `json:"call"`
		Method string `json:"method"`
	} `json:"events"`
	Running *int `json:"running"`
}

// sessionScripts are the scripts that can be replayed here.
func sessionScripts(t *testing.T) []sessionScript {
	t.Helper()
	var all []sessionScript
	for _, name := range []string{"kinds", "streams", "faults"} {
		text, err := os.ReadFile(filepath.Join("..", "spec", "vectors", "sessions", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Scripts []json.RawMessage }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for _, raw := range file.Scripts {
			var head struct{ ID, Layer, Role string }
			if err := json.Unmarshal(raw, &head); err != nil {
				t.Fatal(err)
			}
			if head.Role != "acceptor" || head.Layer != "call" && !slices.Contains(ofTheWire, head.ID) {
				continue
			}
			var s sessionScript
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	if len(all) < 10+len(ofTheWire) {
		t.Fatalf("only %d scripts", len(all))
	}
	return all
}

// asBytes hands bytes through under Protobuf's number.
type asBytes struct{}

func (asBytes) Name() string  { return "bytes" }
func (asBytes) Number() uint8 { return 1 }
func (asBytes) Append(dst []byte, message any) ([]byte, error) {
	return append(dst, message.([]byte)...), nil
}

func (asBytes) Decode(data []byte, message any) error {
	*message.(*[]byte) = bytes.Clone(data)
	return nil
}

// scripted is a handler that does what its script says.
type scripted struct {
	//nolint:containedctx // it is the handler's, for the script to look at
	ctx     context.Context
	method  string
	request []byte
	returns chan handlerResult
}

type handlerResult struct {
	message []byte
	err     error
}

type stage struct {
	t       *testing.T
	server  *trunkcall.Server
	peer    *rawframe.Peer
	started chan *scripted
	running map[string]*scripted
	pings   uint32
}

func (s *stage) handler(name, kind string) trunkcall.Handler {
	enter := func(ctx context.Context, request []byte) ([]byte, error) {
		h := &scripted{ctx: ctx, method: name, request: request, returns: make(chan handlerResult, 1)}
		s.started <- h
		r := <-h.returns
		return r.message, r.err
	}
	if kind == "unary" || kind == "oneway" {
		return trunkcall.Handler{
			Method: trunkcall.Method{Name: name, Kind: trunkcall.KindUnary},
			Unary: func(ctx context.Context, in *trunkcall.ServerCall) (any, error) {
				var request []byte
				if err := in.Decode(&request); err != nil {
					return nil, err
				}
				return enter(ctx, request)
			},
		}
	}
	kinds := map[string]trunkcall.Kind{
		"client_streaming": trunkcall.KindClientStream, "server_streaming": trunkcall.KindServerStream, "bidi": trunkcall.KindBidiStream,
	}
	return trunkcall.Handler{
		Method: trunkcall.Method{Name: name, Kind: kinds[kind]},
		Stream: func(ctx context.Context, _ trunkcall.Stream) error {
			_, err := enter(ctx, nil)
			return err
		},
	}
}

func TestSessionVectorsOfAServer(t *testing.T) {
	for _, script := range sessionScripts(t) {
		t.Run(script.ID, func(t *testing.T) {
			s := &stage{t: t, started: make(chan *scripted, 100), running: map[string]*scripted{}}
			var handlers []trunkcall.Handler
			for name, kind := range script.Methods {
				handlers = append(handlers, s.handler(name, kind))
			}
			options := serverOptions{trunkcall.WithCodec(asBytes{}), script.Own.accepts()}
			if n := script.Own.RunningHandlers; n > 0 {
				options = append(options, trunkcall.WithRunningHandlers(n))
			}
			if n := script.Own.MaxMessage; n > 0 {
				options = append(options, trunkcall.WithLimits(trunkcall.Limits{MessageBytes: n}))
			}
			var target string
			s.server, target = serve(t, options, handlers...)
			s.peer = rawframe.Dial(t, target)
			s.peer.Greet()
			defer s.leave()
			for _, step := range script.Steps {
				s.play(&step)
				if t.Failed() {
					t.Fatalf("in %+v", step)
				}
			}
		})
	}
}

// leave lets every handler return.
func (s *stage) leave() {
	for {
		select {
		case h := <-s.started:
			s.running["?"+h.method] = h
			continue
		default:
		}
		break
	}
	for _, h := range s.running {
		close(h.returns)
	}
}

func (s *stage) play(step *sessionStep) {
	switch step.Do + step.Expect {
	case "receive":
		for _, in := range step.Input {
			s.peer.Send(in.Fill.after(in.Hex))
		}
	case "end":
		_ = s.peer.Close()
	case "answer", "finish", "return":
		result := handlerResult{message: step.bytes()}
		if step.Status != 0 {
			result.err = trunkcall.Errorf(trunkcall.Code(step.Status), "%s", step.Text)
		}
		before := s.server.Running()
		s.running[step.Call].returns <- result
		close(s.running[step.Call].returns)
		delete(s.running, step.Call)
		if step.Do == "return" { // nothing is sent that tells of it
			eventually(s.t, "the handler has returned", func() bool { return s.server.Running() < before })
		}
	case "events":
		s.checkEvents(step)
	case "sent":
		s.checkSent(step)
	case "gauges":
		// A call accepted to become a handler counts as one that runs here: only
		// what is left in the end is compared.
		if step.Running != nil && len(s.running) == *step.Running && *step.Running > 0 {
			eventually(s.t, "running handlers", func() bool { return s.server.Running() == *step.Running })
		}
	default:
		s.t.Fatalf("nobody can do %s", step.Do)
	}
}

func (s *stage) checkEvents(step *sessionStep) {
	starts := 0
	var waiting []*scripted
	for _, e := range step.Events {
		if e.Event == "start" {
			waiting = append(waiting, receive(s.t, s.started, "handler to start"))
			starts++
		}
	}
	for _, e := range step.Events {
		switch e.Event {
		case "start":
			i := slices.IndexFunc(waiting, func(h *scripted) bool {
				return h.method == e.Method && bytes.Equal(h.request, e.bytes())
			})
			if i < 0 {
				s.t.Errorf("%s did not start with its message", e.Call)
				return
			}
			s.running[e.Call] = waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
		case "stopped":
			ends(s.t, s.running[e.Call].ctx)
		default:
			s.t.Fatalf("nobody tells %s", e.Event)
		}
	}
	select {
	case h := <-s.started:
		s.t.Errorf("%s started", h.method)
		close(h.returns)
	default:
	}
}

// checkSent reads the answers that are expected, and a PING's, so that nothing
// stands before it that is not.
func (s *stage) checkSent(step *sessionStep) {
	got := map[string]rawframe.Frame{}
	for range step.Frames {
		f := s.next()
		got[fmt.Sprintf("%d.%d", f.Stream.Slot(), f.Stream.Generation())] = f
	}
	for _, w := range step.Frames {
		f, ok := got[w.Stream[1:]]
		refused := slices.Contains(w.Flags, "REFUSED")
		cut := slices.Contains(w.Flags, "CUT")
		switch {
		case !ok || f.Type != wire.Result || w.Type != "RESULT":
			s.t.Errorf("%s: no RESULT but %+v", w.Stream, f)
		case f.Code != w.Status || refused != (f.Flags&wire.FlagRefused != 0) || cut != (f.Flags&wire.FlagCut != 0):
			s.t.Errorf("%s: %+v", w.Stream, f.Header)
		case w.RetryAfter != nil && f.Word != *w.RetryAfter, f.Word < w.AtLeast:
			s.t.Errorf("%s: retry-after %d", w.Stream, f.Word)
		case w.Payload != nil && !bytes.Equal(f.Body, w.bytes()), (w.Payload != nil) != (f.Flags&wire.FlagMsg != 0):
			s.t.Errorf("%s: message %x", w.Stream, f.Body)
		}
	}
	s.pings++
	s.peer.Send(rawframe.Ping(0, s.pings))
	if f := s.next(); f.Type != wire.Ping || f.Word != s.pings {
		s.t.Errorf("sent: %+v", f.Header)
	}
}

// next is the next frame but CREDIT, which the package wire compares.
func (s *stage) next() rawframe.Frame {
	s.t.Helper()
	for {
		f, err := s.peer.Next()
		if err != nil {
			s.t.Fatal(err)
		}
		if f.Type != wire.Credit {
			return f
		}
	}
}
