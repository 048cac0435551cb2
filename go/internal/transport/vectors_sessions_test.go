package transport

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The scripts of spec/vectors/sessions of layer transport, what half-closes and
// closes, replayed with a real Conn on a socket that notes what it is told. Time
// is that of a synctest bubble. The package wire replays all others.

type script struct {
	ID          string            `json:"id"`
	Layer       string            `json:"layer"`
	Role        string            `json:"role"`
	Methods     map[string]string `json:"methods"`
	PeerPreface string            `json:"peer_preface"`
	Steps       []scriptStep      `json:"steps"`
}

type scriptStep struct {
	Do      string `json:"do"`
	Expect  string `json:"expect"`
	As      string `json:"as"`
	Call    string `json:"call"`
	Method  string `json:"method"`
	Payload string `json:"payload"`
	Status  int    `json:"status"`
	MS      int    `json:"ms"`
	Input   []struct {
		Hex  string `json:"hex"`
		Fill struct {
			Byte  string `json:"byte"`
			Count int    `json:"count"`
		} `json:"fill"`
	} `json:"input"`
	Frames []scriptFrame `json:"frames"`
	Events []scriptEvent `json:"events"`
}

type scriptFrame struct {
	Type     string   `json:"type"`
	Stream   string   `json:"stream"`
	Flags    []string `json:"flags"`
	Status   uint16   `json:"status"`
	Reason   *uint32  `json:"reason"`
	Payload  *string  `json:"payload"`
	Optional bool     `json:"optional"`
}

type scriptEvent struct {
	Event    string `json:"event"`
	Call     string `json:"call"`
	Method   string `json:"method"`
	Payload  string `json:"payload"`
	Reason   uint32 `json:"reason"`
	Class    string `json:"class"`
	Status   int    `json:"status"`
	Delivery string `json:"delivery"`
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func transportScripts(t *testing.T) []script {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join("..", "..", "..", "spec", "vectors", "sessions", "*.json"))
	var found []script
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Scripts []json.RawMessage }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for _, raw := range file.Scripts {
			var head struct{ Layer string }
			if err := json.Unmarshal(raw, &head); err != nil {
				t.Fatal(err)
			}
			if head.Layer != "transport" {
				continue
			}
			var s script
			decoder := json.NewDecoder(bytes.NewReader(raw))
			if err := decoder.Decode(&s); err != nil {
				t.Fatal(err)
			}
			found = append(found, s)
		}
	}
	if len(found) < 5 {
		t.Fatalf("only %d scripts", len(found))
	}
	return found
}

// notedSocket keeps what is written to it, and when it is closed.
type notedSocket struct {
	net.Conn
	mu    sync.Mutex
	bytes []byte
	told  []string // HALF_CLOSE and CLOSE behind the frames that were written before
}

func (s *notedSocket) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = append(s.bytes, b...)
	return len(b), nil
}

func (s *notedSocket) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, "HALF_CLOSE")
	return nil
}

func (s *notedSocket) Close() error {
	s.mu.Lock()
	s.told = append(s.told, "CLOSE")
	s.mu.Unlock()
	return s.Conn.Close()
}

// replay is one run of a script, and the layer above its Conn.
type replay struct {
	t        *testing.T
	script   *script
	bytewise bool
	conn     *Conn
	socket   *notedSocket
	peer     net.Conn
	greeted  bool // the preface was written, and read off
	calls    map[string]*Call
	failed   bool

	mu       sync.Mutex
	handlers map[string]chan wire.Code
	events   []scriptEvent
}

func (r *replay) tell(e scriptEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *replay) Accept(_ *Conn, in *wire.Incoming) (*Stream, *wire.Refusal) {
	kind, known := r.script.Methods[in.Method.Name]
	if !known {
		return nil, &wire.Refusal{Code: wire.Unimplemented}
	}
	st := &Stream{Whole: kind == "unary" || kind == "server_streaming", Pace: &roles.Pace{}}
	st.Init(in.Method.Name, false)
	return st, nil
}

func (r *replay) Serve(w *roles.Worker, st *Stream) {
	label := labelOf(st.ID())
	returns := make(chan wire.Code)
	r.mu.Lock()
	r.handlers[label] = returns
	r.mu.Unlock()
	r.tell(scriptEvent{Event: "start", Call: label, Method: st.Owner.(string)})
	if st.OneWay() {
		st.AcceptOneWay()
	}
	w.Ending.Code, w.Ending.Delivery = <-returns, wire.Executed
}

func (r *replay) Dropped(*Stream)                                          {}
func (r *replay) Stopped(*Stream, wire.Code)                               {}
func (r *replay) Ready(*Conn, *wire.Preface)                               {}
func (r *replay) Unserved(*Conn, *Stream, string, bool, wire.Code, string) {}
func (r *replay) Closed(*Conn, error)                                      {}
func (r *replay) GoesAway(_ *Conn, reason uint32, _ string) {
	r.tell(scriptEvent{Event: "goes_away", Reason: reason})
}

func labelOf(id wire.StreamID) string {
	side := "i"
	if id.ByAcceptor() {
		side = "a"
	}
	return fmt.Sprintf("%s%d.%d", side, id.Slot(), id.Generation())
}

func TestSessionVectorsOfSockets(t *testing.T) {
	for _, s := range transportScripts(t) {
		for _, bytewise := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/bytewise=%t", s.ID, bytewise), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { replayScript(t, &s, bytewise) })
			})
		}
	}
}

func replayScript(t *testing.T, s *script, bytewise bool) {
	near, far := MemoryPair("script")
	r := &replay{
		t: t, script: s, bytewise: bytewise, socket: &notedSocket{Conn: near}, peer: far,
		calls: map[string]*Call{}, handlers: map[string]chan wire.Code{},
	}
	pool := &roles.Pool{}
	config := &Config{Handler: r, Pool: pool, Local: wire.DefaultSettings()}
	r.conn = NewConn(config, r.socket, s.Role == "acceptor", nil, nil)
	synctest.Wait()
	if s.PeerPreface != "" {
		r.arrive(unhex(t, s.PeerPreface))
		r.written()
	}
	for i := range s.Steps {
		if r.step(&s.Steps[i]); t.Failed() {
			t.Errorf("in step %d: %+v", i, s.Steps[i])
			break
		}
	}
	for _, returns := range r.handlers {
		close(returns)
	}
	r.conn.Close(net.ErrClosed)
	synctest.Wait()
	pool.Close()
}

func (r *replay) step(step *scriptStep) {
	switch step.Do + step.Expect {
	case "receive":
		var all []byte
		for _, in := range step.Input {
			all = append(all, unhex(r.t, in.Hex)...)
			all = append(all, bytes.Repeat(unhex(r.t, in.Fill.Byte), in.Fill.Count)...)
		}
		r.arrive(all)
	case "end":
		_ = r.peer.(*memoryConn).CloseWrite()
	case "advance":
		time.Sleep(time.Duration(step.MS) * time.Millisecond)
	case "drain":
		r.conn.Drain("draining")
	case "finish":
		r.handlers[step.Call] <- wire.Code(step.Status)
		delete(r.handlers, step.Call)
	case "call":
		r.call(step)
	case "sent":
		r.checkSent(step)
	case "events":
		r.checkEvents(step)
	default:
		r.t.Fatalf("nobody can do %q", step.Do)
	}
	synctest.Wait()
}

// arrive has the Conn read bytes, which it may no longer do.
func (r *replay) arrive(b []byte) {
	part := len(b)
	if r.bytewise {
		part = 1
		if len(b) > 4300 {
			part = 4093
		}
	}
	for piece := range slices.Chunk(b, max(part, 1)) {
		_, _ = r.peer.Write(piece)
		synctest.Wait()
	}
}

func (r *replay) call(step *scriptStep) {
	call := NewCall(true)
	r.calls[step.As] = call
	err := r.conn.Open(call, &wire.Outgoing{
		Method: wire.Method{Name: step.Method}, Codec: 1, Payload: unhex(r.t, step.Payload), HasMessage: true, End: true,
	}, false)
	if err != nil {
		r.t.Fatal(err)
	}
	go func() {
		call.Wait(context.Background())
		if e := &call.Ending; e.HasMessage {
			r.tell(scriptEvent{Event: "message", Call: step.As, Payload: hex.EncodeToString(e.Payload)})
		}
		r.tell(scriptEvent{Event: "end", Call: step.As, Status: int(call.Ending.Code), Delivery: call.Ending.Delivery.String()})
	}()
}

// checkEvents compares what happened since the last time, call by call.
func (r *replay) checkEvents(step *scriptStep) {
	var violation *wire.Error
	if err := r.conn.Err(); !r.failed && errors.As(err, &violation) {
		r.failed = true
		r.tell(scriptEvent{Event: "failed", Class: string(violation.Class)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	got := map[string][]scriptEvent{}
	for _, e := range r.events {
		got[e.Call] = append(got[e.Call], e)
	}
	r.events = nil
	want := map[string][]scriptEvent{}
	for _, e := range step.Events {
		want[e.Call] = append(want[e.Call], e)
	}
	for call, list := range want {
		if !slices.Equal(got[call], list) {
			r.t.Errorf("happened to %q: %+v, want %+v", call, got[call], list)
		}
		delete(got, call)
	}
	if len(got) > 0 {
		r.t.Errorf("happened: %+v", got)
	}
}

// written takes apart what was written since the last time, stream by stream;
// DEFINE is left out.
func (r *replay) written() map[string][]scriptFrame {
	r.socket.mu.Lock()
	b, told := r.socket.bytes, r.socket.told
	r.socket.bytes, r.socket.told = nil, nil
	r.socket.mu.Unlock()
	frames := map[string][]scriptFrame{}
	if !r.greeted && len(b) > 0 {
		_, n, err := wire.ParsePreface(b)
		if n == 0 {
			r.t.Fatalf("a bad preface was written: %v", err)
		}
		r.greeted, b = true, b[n:]
	}
	for len(b) > 0 {
		h := wire.ParseHeader(b)
		body := b[wire.HeaderSize : wire.HeaderSize+int(h.Length)]
		b = b[wire.HeaderSize+int(h.Length):]
		if h.Type == wire.Define {
			continue
		}
		payload, word := hex.EncodeToString(body), h.Word
		f := scriptFrame{Type: strings.ToUpper(h.Type.String()), Status: h.Code, Reason: &word, Payload: &payload}
		if h.Stream != 0 {
			f.Stream = labelOf(h.Stream)
		}
		f.Flags = flagNames(&h)
		frames[f.Stream] = append(frames[f.Stream], f)
	}
	for _, name := range told {
		frames[""] = append(frames[""], scriptFrame{Type: name})
	}
	return frames
}

func flagNames(h *wire.Header) (names []string) {
	add := func(flag wire.Flags, name string) {
		if h.Flags&flag != 0 {
			names = append(names, name)
		}
	}
	if h.Type == wire.GoAway || h.Type == wire.Ping {
		add(wire.FlagAck, "ACK")
		return names
	}
	add(wire.FlagMsg, "MSG")
	add(wire.FlagEnd, "END")
	return names
}

func (r *replay) checkSent(step *scriptStep) {
	got := r.written()
	for _, w := range step.Frames {
		list := got[w.Stream]
		switch {
		case len(list) > 0 && w.is(&list[0]):
			got[w.Stream] = list[1:]
		case !w.Optional:
			r.t.Errorf("%+v was not sent, but %+v", w, list)
			return
		}
	}
	for _, list := range got {
		for _, f := range list {
			r.t.Errorf("sent: %s %s %v", f.Type, f.Stream, f.Flags)
		}
	}
}

func (w *scriptFrame) is(f *scriptFrame) bool {
	switch {
	case w.Type != f.Type, !slices.Equal(w.Flags, f.Flags):
		return false
	case w.Type == "RESULT" && w.Status != f.Status, w.Reason != nil && (f.Reason == nil || *w.Reason != *f.Reason):
		return false
	}
	return !strings.Contains(strings.Join(w.Flags, " "), "MSG") || w.Type == "CALL" || *w.Payload == *f.Payload
}
