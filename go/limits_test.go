package trunkcall_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The tables of spec/limits.md, row by row. Those of time are in
// keepalive_test.go, connections_test.go, drain_test.go and, with a clock of the
// test's, wire/session_time_test.go; those of flow control in
// wire/session_credit_test.go, wire/session_pool_test.go and wire/session_measure_test.go.

// unusual differs from the default in every limit.
var unusual = trunkcall.Limits{
	FrameBytes: 200_000, MessageBytes: 300_000, Calls: 7, MetadataBytes: 20_000, MetadataEntries: 200,
	Methods: 5_000, Window: 1 << 20, Pool: 2 << 20, MaxPool: 3 << 20, PingInterval: 1500 * time.Millisecond,
}

var unusualSettings = wire.Settings{
	FrameBody: 200_000, Message: 300_000, Calls: 7, MetadataBytes: 20_000, MetadataEntries: 200,
	Methods: 5_000, Window: 1 << 20, Pool: 2 << 20, MinPingInterval: 1500,
}

// advertised compares the limits among settings.
func advertised(t *testing.T, got, want wire.Settings) {
	t.Helper()
	got.KeepaliveInterval, got.Codecs, got.Compressions = 0, nil, 0
	want.KeepaliveInterval, want.Codecs, want.Compressions = 0, nil, 0
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the preface says %+v, want %+v", got, want)
	}
}

// settings are what is told by default, but for a change.
func settings(change func(*wire.Settings)) wire.Settings {
	s := wire.DefaultSettings()
	s.Pool = trunkcall.DefaultPool
	change(&s)
	return s
}

func TestLimitsAreAdvertised(t *testing.T) {
	for name, limits := range map[string]struct {
		limits trunkcall.Limits
		want   wire.Settings
	}{
		"by default": {trunkcall.Limits{}, settings(func(*wire.Settings) {})},
		"as set":     {unusual, unusualSettings},
		"any PING":   {trunkcall.Limits{PingInterval: -1}, settings(func(s *wire.Settings) { s.MinPingInterval = 0 })},
		"no pool":    {trunkcall.Limits{Pool: -1}, settings(func(s *wire.Settings) { s.Pool = 0 })},
	} {
		t.Run(name, func(t *testing.T) {
			option := trunkcall.WithLimits(limits.limits)
			_, target := serve(t, serverOptions{option}, standard()...)
			advertised(t, raw(t, target).Remote.Settings, limits.want)

			l := rawframe.Listen(t)
			c := newClient(t, l.Target(), option)
			t.Cleanup(c.Close)
			connected := make(chan error, 1)
			go func() { connected <- c.Connect(soon(t)) }()
			p := l.Next()
			p.Greet()
			if err := receive(t, connected, "connection"); err != nil {
				t.Fatal(err)
			}
			advertised(t, p.Remote.Settings, limits.want)
		})
	}
}

// A value that the table rules out is reported, not put right in silence.
func TestLimitsOutOfRangeAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		option trunkcall.Option
		says   []string
	}{
		"frame body below the floor":      {trunkcall.WithLimits(trunkcall.Limits{FrameBytes: 65_535}), []string{"frame bytes", "65535", "65536"}},
		"frame body above the ceiling":    {trunkcall.WithLimits(trunkcall.Limits{FrameBytes: 1 << 24}), []string{"frame bytes", "16777216", "16777215"}},
		"calls above the ceiling":         {trunkcall.WithLimits(trunkcall.Limits{Calls: 1 << 20}), []string{"calls", "1048576", "1048575"}},
		"metadata bytes below the floor":  {trunkcall.WithLimits(trunkcall.Limits{MetadataBytes: 100}), []string{"metadata bytes", "100", "16384"}},
		"metadata above half a frame":     {trunkcall.WithLimits(trunkcall.Limits{MetadataBytes: 40_000}), []string{"metadata bytes", "40000", "32768"}},
		"metadata entries":                {trunkcall.WithLimits(trunkcall.Limits{MetadataEntries: 127}), []string{"metadata entries", "127", "128"}},
		"method ids below the floor":      {trunkcall.WithLimits(trunkcall.Limits{Methods: 1}), []string{"methods", "1", "4096"}},
		"method ids above the ceiling":    {trunkcall.WithLimits(trunkcall.Limits{Methods: 1 << 16}), []string{"methods", "65536", "65535"}},
		"window below the floor":          {trunkcall.WithLimits(trunkcall.Limits{Window: 1000}), []string{"window", "1000", "262144"}},
		"window above the ceiling":        {trunkcall.WithLimits(trunkcall.Limits{Window: 1 << 31}), []string{"window", "2147483648", "2147483647"}},
		"pool above the ceiling":          {trunkcall.WithLimits(trunkcall.Limits{Pool: 1 << 31}), []string{"pool", "2147483648", "2147483647"}},
		"greatest pool below the first":   {trunkcall.WithLimits(trunkcall.Limits{Pool: 2000, MaxPool: 1999}), []string{"greatest pool", "1999", "2000"}},
		"greatest pool below the default": {trunkcall.WithLimits(trunkcall.Limits{MaxPool: 1000}), []string{"greatest pool", "1000", "1048576"}},
		"distance of PINGs":               {trunkcall.WithLimits(trunkcall.Limits{PingInterval: 50 * 24 * time.Hour}), []string{"ping interval", "4294967295"}},
		"memory below the floor":          {trunkcall.WithMemory(1000), []string{"memory", "1000", "1048576"}},
		"keepalive":                       {trunkcall.WithKeepalive(-1, time.Second), []string{"keepalive", "-1ns"}},
		"several at once": {
			trunkcall.WithLimits(trunkcall.Limits{Window: 1, Methods: 1}), []string{"window is 1", "methods is 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			faulty(t, "mem:none", c.option, c.says...)
		})
	}
	for _, option := range []trunkcall.ClientOption{nil, trunkcall.WithConnections(0), trunkcall.WithWaitingCalls(-1)} {
		if _, err := trunkcall.NewClient("mem:none", trunkcall.WithCodec(trunkcall.Raw), option); err == nil {
			t.Errorf("a client takes %v", option)
		}
	}
	for _, option := range []trunkcall.ServerOption{nil, trunkcall.WithRunningHandlers(0), trunkcall.WithMaxConnections(0)} {
		if _, err := trunkcall.NewServer(option); err == nil {
			t.Errorf("a server takes %v", option)
		}
	}
	_, err := trunkcall.NewClient("nowhere", trunkcall.WithConnections(0), nil, trunkcall.WithWaitingCalls(-1))
	wantsText(t, strings.ReplaceAll(err.Error(), "\n", "; "), "connections is 0", "option 2 is nil", "waiting calls is -1", "target")
}

// faulty makes sure that neither a client nor a server is made with an option, and that
// both say why.
func faulty(t *testing.T, target string, option trunkcall.Option, says ...string) {
	t.Helper()
	_, ofServer := trunkcall.NewServer(option)
	_, ofClient := trunkcall.NewClient(target, option)
	_, ofDial := trunkcall.Dial(soon(t), target, option)
	for _, err := range []error{ofServer, ofClient, ofDial} {
		if err == nil {
			t.Fatal("a fault in the options is not told")
		}
		wantsText(t, strings.ReplaceAll(err.Error(), "\n", "; "), says...)
	}
	wants(t, ofDial, trunkcall.FailedPrecondition, trunkcall.NotSent)
}

// metadataBlock is a META block of so many entries, the last with a value that
// makes the block that long.
func metadataBlock(entries, size int) []byte {
	var b []byte
	for range entries - 1 {
		b = append(b, 1, 0) // traceparent, empty
	}
	if n := size - len(b) - 4; n > 0 {
		b = wire.AppendVarint(append(b, 1), uint32(n))
		b = append(b, strings.Repeat("v", size-len(b))...)
	} else {
		b = append(b, 1, 0)
	}
	return append(wire.AppendVarint(nil, uint32(len(b))), b...)
}

// The limits of the wire as a server enforces them that has set each to another
// value: what stays just below passes, what crosses is told limit and value.
func TestLimitsOfTheWireAreEnforced(t *testing.T) {
	whole := wire.FlagMsg | wire.FlagEnd
	for name, row := range map[string]struct {
		within, beyond func(p *rawframe.Peer)
		code           trunkcall.Code // of a call that ends; OK: the connection does
		class          wire.Class
		says           []string
	}{
		"frame body": {
			func(p *rawframe.Peer) { sendCall(p, 1, 1, whole, unknownField(200_000)) },
			func(p *rawframe.Peer) { p.Send(rawframe.Lie(rawframe.CallHeader(2, 1, 1, whole), 200_001)) },
			trunkcall.OK, wire.ErrLength, []string{"max_frame_body 200000", "200001"},
		},
		"message": {
			func(p *rawframe.Peer) { sendCut(p, 1, 300_000) },
			func(p *rawframe.Peer) { sendCut(p, 2, 300_001) },
			trunkcall.ResourceExhausted, "", []string{"max_message 300000", "300001"},
		},
		"calls at once": {
			func(p *rawframe.Peer) { sendCall(p, 1, 1, whole, nil) },
			func(p *rawframe.Peer) { sendCall(p, 8, 1, whole, nil) },
			trunkcall.ResourceExhausted, "", []string{"max_calls 7"},
		},
		"metadata bytes": {
			func(p *rawframe.Peer) { sendCall(p, 1, 1, whole|wire.FlagMeta, metadataBlock(1, 20_000)) },
			func(p *rawframe.Peer) { sendCall(p, 2, 1, whole|wire.FlagMeta, metadataBlock(1, 20_001)) },
			trunkcall.ResourceExhausted, "", []string{"max_metadata_bytes 20000", "20001"},
		},
		"metadata entries": {
			func(p *rawframe.Peer) { sendCall(p, 1, 1, whole|wire.FlagMeta, metadataBlock(200, 0)) },
			func(p *rawframe.Peer) { sendCall(p, 2, 1, whole|wire.FlagMeta, metadataBlock(201, 0)) },
			trunkcall.ResourceExhausted, "", []string{"max_metadata_entries 200"},
		},
		"metadata key": {
			func(p *rawframe.Peer) {
				sendCall(p, 1, 1, whole|wire.FlagMeta, append(append([]byte{0x83, 2, 0, 0xff, 1}, strings.Repeat("k", 255)...), 0))
			},
			func(p *rawframe.Peer) {
				sendCall(p, 2, 1, whole|wire.FlagMeta, append(append([]byte{0x84, 2, 0, 0x80, 2}, strings.Repeat("k", 256)...), 0))
			},
			trunkcall.InvalidArgument, "", nil,
		},
		"method ids": {
			func(p *rawframe.Peer) { p.Send(rawframe.Define(5_000, "/a.B/C")); sendCall(p, 1, 1, whole, nil) },
			func(p *rawframe.Peer) { p.Send(rawframe.Define(5_001, "/a.B/C")) },
			trunkcall.OK, wire.ErrMethod, []string{"max_methods is 5000", "5001"},
		},
		"method name, inline": {
			func(p *rawframe.Peer) { sendCall(p, 1, 1, whole, nil) },
			func(p *rawframe.Peer) {
				sendCall(p, 2, 0, whole, append(wire.AppendVarint(nil, 1025), make([]byte, 1025)...))
			},
			trunkcall.InvalidArgument, "", []string{"1024"},
		},
		"method name, defined": {
			func(p *rawframe.Peer) {
				p.Send(rawframe.Define(2, "/"+strings.Repeat("n", 1023)))
				sendCall(p, 1, 1, whole, nil)
			},
			func(p *rawframe.Peer) { p.Send(rawframe.Define(3, "/"+strings.Repeat("n", 1024))) },
			trunkcall.OK, wire.ErrMethod, []string{"1024"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, target := serve(t, serverOptions{trunkcall.WithLimits(unusual)}, standard()...)
			p := rawframe.Dial(t, target)
			p.Greet(func(p *wire.Preface) { p.Settings.Window = 1 << 20 })
			p.Send(defineEcho)
			row.within(p)
			if f := p.Await(wire.Result); f.Code != 0 {
				t.Fatalf("within the limit: %v %q", trunkcall.Code(f.Code), f.StatusText(t))
			}
			row.beyond(p)
			if row.class != "" {
				f := p.Await(wire.GoAway)
				if got := string(f.Body); f.Word != wire.GoAwayProtocolError || !strings.HasPrefix(got, string(row.class)+":") {
					t.Fatalf("GOAWAY reason %d %q", f.Word, got)
				}
				wantsText(t, string(f.Body), row.says...)
				p.Rest()
				return
			}
			f := p.Await(wire.Result)
			if trunkcall.Code(f.Code) != row.code || f.Flags&wire.FlagRefused == 0 {
				t.Fatalf("%v, flags %#x", trunkcall.Code(f.Code), f.Flags)
			}
			wantsText(t, f.StatusText(t), row.says...)
		})
	}
}

func sendCall(p *rawframe.Peer, slot uint32, method uint16, flags wire.Flags, body []byte) {
	p.Send(rawframe.Bytes(rawframe.CallHeader(slot, 1, method, flags), body))
}

// unknownField is a message of size bytes that Echo takes: a field that it does
// not know.
func unknownField(size int) []byte {
	message := wire.AppendVarint([]byte{0x7a}, uint32(size-4)) // field 15, bytes
	return append(message, make([]byte, size-len(message))...)
}

// sendCut makes a call of one message of size bytes, cut into pieces.
func sendCut(p *rawframe.Peer, slot uint32, size int) {
	body := append(wire.AppendVarint(nil, uint32(size)), unknownField(size)...)
	frames := rawframe.Bytes(rawframe.CallHeader(slot, 1, 1, wire.FlagMsg|wire.FlagMore), body[:wire.MinPiece])
	for body = body[wire.MinPiece:]; len(body) > wire.MinPiece; body = body[wire.MinPiece:] {
		frames = append(frames, rawframe.Data(rawframe.ID(slot, 1), wire.FlagMsg|wire.FlagMore, body[:wire.MinPiece])...)
	}
	p.Send(frames, rawframe.Data(rawframe.ID(slot, 1), wire.FlagMsg|wire.FlagEnd, body))
}

// memory of incomplete messages and queued answers
func TestTheMemoryOfAServerIsSharedByItsConnections(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithMemory(1 << 20)}, standard()...)
	hoarder := raw(t, target)
	hoarder.Send(defineEcho)
	body := append(wire.AppendVarint(nil, 1<<20), make([]byte, wire.MinPiece)...)[:wire.MinPiece]
	for slot := uint32(1); slot <= 12; slot++ {
		sendCall(hoarder, slot, 1, wire.FlagMsg|wire.FlagMore, body)
	}
	f := hoarder.Await(wire.Result)
	if trunkcall.Code(f.Code) != trunkcall.ResourceExhausted || f.Flags&wire.FlagRefused == 0 || f.Word == 0 {
		t.Fatalf("%v, flags %#x, retry-after %d", trunkcall.Code(f.Code), f.Flags, f.Word)
	}
	wantsText(t, f.StatusText(t), "memory 1048576")

	c := dial(t, target)
	mustEcho(t, c, "small calls go on")
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	_, err := echo.Call(ctx, c, &payload{Data: make([]byte, 900_000)})
	wantsText(t, wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused).Message, "memory 1048576")

	_ = hoarder.Close()
	eventually(t, "the memory is free again", func() bool {
		_, err := echo.Call(soon(t), c, &payload{Data: make([]byte, 100_000)})
		return err == nil
	})
}

// running handlers: those that outlive their RESULT count; see cancel_test.go
// for the limit under floods.
func TestRunningHandlersThatOutliveTheirResultCount(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, serverOptions{trunkcall.WithRunningHandlers(1)}, append(standard(), g.handler())...)
	p := raw(t, target)
	p.Send(defineEcho, rawframe.Define(2, "/test.Service/Block"), rawframe.Call(1, 1, 2, nil))
	g.await(t)
	p.Send(rawframe.Cancel(rawframe.ID(1, 1), 0))
	if _, code, _ := p.AwaitResult(rawframe.ID(1, 1)); code != trunkcall.Canceled {
		t.Fatal(code)
	}
	p.Send(rawframe.Call(1, 2, 1, nil))
	f, code, message := p.AwaitResult(rawframe.ID(1, 2))
	if code != trunkcall.ResourceExhausted || f.Flags&wire.FlagRefused == 0 || f.Word == 0 {
		t.Fatalf("%v, flags %#x, retry-after %d", code, f.Flags, f.Word)
	}
	wantsText(t, message, "running handlers", "1")
	g.open()
	eventually(t, "the handler ends", func() bool { return s.Running() == 0 })
	p.Send(rawframe.Call(1, 3, 1, nil))
	if _, code, message := p.AwaitResult(rawframe.ID(1, 3)); code != trunkcall.OK {
		t.Fatal(code, message)
	}
}
