package trunkcall_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// A server under attack by a raw peer. Beside every attack a bystander's calls
// on another connection go on succeeding.

// besieged is a server with a bystander.
func besieged(t *testing.T, more ...trunkcall.Handler) (*trunkcall.Server, string, func()) {
	t.Helper()
	s, target := serve(t, nil, append(standard(), more...)...)
	bystander := dial(t, target)
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			ctx, cancel := within(long)
			_, err := echo.Call(ctx, bystander, text("bystander"))
			cancel()
			if err != nil {
				t.Errorf("the bystander: %v", err)
				return
			}
		}
	})
	var once sync.Once
	check := func() { once.Do(func() { close(stop); all.Wait() }) }
	t.Cleanup(check)
	return s, target, check
}

var defineEcho = rawframe.Define(1, "/test.Service/Echo")

// echoed is what Echo answers to a request, and takes.
func echoed(t testing.TB, s string) []byte {
	b, err := trunkcall.Protobuf.Append(nil, text(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestViolationsEndTheirConnectionOnly(t *testing.T) {
	deaf := trunkcall.Handler{
		Method: trunkcall.Method{Name: "/test.Service/Deaf", Kind: trunkcall.KindBidiStream},
		Stream: func(ctx context.Context, _ trunkcall.Stream) error {
			<-ctx.Done()
			return ctx.Err()
		},
	}
	_, target, _ := besieged(t, deaf)
	id := rawframe.ID(1, 1)
	call := append(rawframe.Define(1, "/test.Service/Collect"), rawframe.Bytes(rawframe.CallHeader(1, 1, 1, 0))...)
	held := append(rawframe.Define(1, deaf.Method.Name), rawframe.Bytes(rawframe.CallHeader(1, 1, 1, 0))...)
	with := func(before []byte, after ...[]byte) []byte {
		for _, b := range after {
			before = append(before[:len(before):len(before)], b...)
		}
		return before
	}
	piece := make([]byte, wire.MinPiece)
	for name, fault := range map[string]struct {
		bytes []byte
		class wire.Class
	}{
		"unknown type":          {rawframe.Bytes(wire.Header{Type: 0x42}), wire.ErrType},
		"type zero":             {rawframe.Bytes(wire.Header{}), wire.ErrType},
		"length above the body": {rawframe.Lie(wire.Header{Type: wire.Ping}, 1<<24-1), wire.ErrLength},
		"length one above":      {rawframe.Lie(rawframe.CallHeader(1, 1, 1, wire.FlagMsg), 64<<10+1), wire.ErrLength},
		"skippable but long":    {rawframe.Lie(wire.Header{Type: 0xf0}, 64<<10+1), wire.ErrLength},
		"unknown flag":          {rawframe.Bytes(wire.Header{Type: wire.Ping, Flags: 0x80}), wire.ErrFlags},
		"MORE without MSG":      {with(defineEcho, rawframe.Bytes(rawframe.CallHeader(1, 1, 1, wire.FlagMore))), wire.ErrFlags},
		"reserved word":         {rawframe.Bytes(wire.Header{Type: wire.Ping, Code: 1}), wire.ErrReserved},
		"slot zero":             {with(defineEcho, rawframe.Call(0, 1, 1, nil)), wire.ErrStreamID},
		"generation zero":       {with(defineEcho, rawframe.Call(1, 0, 1, nil)), wire.ErrStreamID},
		"generation skipped":    {with(defineEcho, rawframe.Call(1, 2, 1, nil)), wire.ErrState},
		"slot used twice":       {with(call, rawframe.Bytes(rawframe.CallHeader(1, 2, 1, 0))), wire.ErrState},
		"data after END":        {with(call, rawframe.Data(id, wire.FlagEnd, nil), rawframe.Data(id, wire.FlagMsg, nil)), wire.ErrState},
		"RESULT of the caller":  {with(call, rawframe.Result(id, nil)), wire.ErrDirection},
		"RESULT never asked":    {rawframe.Result(wire.MakeStreamID(1, 1, true), nil), wire.ErrState},
		"undefined method":      {rawframe.Call(1, 1, 9, nil), wire.ErrMethod},
		"method defined twice":  {with(defineEcho, defineEcho), wire.ErrMethod},
		"method out of range":   {rawframe.Define(4097, "/a.B/C"), wire.ErrMethod},
		"CREDIT of zero":        {with(call, rawframe.Credit(id, 0)), wire.ErrValue},
		"CREDIT too large":      {with(call, rawframe.Credit(id, 1<<31)), wire.ErrValue},
		"CREDIT overflows":      {with(call, rawframe.Credit(id, 1<<31-1)), wire.ErrCredit},
		"window overspent":      {with(held, overspend(id)), wire.ErrCredit},
		"short piece":           {with(call, rawframe.Data(id, wire.FlagMsg|wire.FlagMore, []byte{9, 1, 2})), wire.ErrPiece},
		"total exceeded": {with(call,
			rawframe.Data(id, wire.FlagMsg|wire.FlagMore, wire.AppendVarint(nil, 65_540)[:3]), nil), wire.ErrPiece},
		"END inside a message": {with(call, rawframe.Data(id, wire.FlagMsg|wire.FlagMore, append(wire.AppendVarint(nil, 100_000), piece[3:]...)),
			rawframe.Data(id, wire.FlagEnd, nil)), wire.ErrPiece},
	} {
		t.Run(name, func(t *testing.T) {
			p := raw(t, target)
			p.Send(fault.bytes)
			p.ExpectViolation(fault.class, wire.GoAwayProtocolError)
		})
	}
}

// overspend is more messages than a fresh window pays for.
func overspend(id wire.StreamID) (b []byte) {
	for range 5 {
		b = append(b, rawframe.Data(id, wire.FlagMsg, make([]byte, 60_000))...)
	}
	return b
}

func TestPrefacesThatAreNone(t *testing.T) {
	_, target, _ := besieged(t)
	good := rawframe.Preface()
	spoil := func(at int, value byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = value
		return b
	}
	for name, bytes := range map[string][]byte{
		"another magic":        spoil(0, 'G'),
		"nearly the magic":     spoil(3, 0x32),
		"version 0":            spoil(4, 0),
		"highest below":        append(spoil(4, 1)[:5], append([]byte{0}, good[6:]...)...),
		"window too small":     rawframe.Preface(func(p *wire.Preface) { p.Settings.Window = 100 }),
		"window too large":     rawframe.Preface(func(p *wire.Preface) { p.Settings.Window = 1 << 31 }),
		"settings too long":    spoil(14, 0xff),
		"HTTP":                 []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"a TLS client's hello": {0x16, 0x03, 0x01, 0x02, 0x00, 0x01},
	} {
		t.Run(name, func(t *testing.T) {
			p := rawframe.Dial(t, target)
			p.Send(bytes)
			p.HalfClose()
			p.Rest()
		})
	}
	t.Run("critical setting", func(t *testing.T) {
		b := append(append([]byte(nil), good...), 0x77, 0x80, 0, 0) // type 0x8077, no value
		binary.LittleEndian.PutUint32(b[12:], uint32(len(b)-wire.PrefaceSize))
		p := rawframe.Dial(t, target)
		p.Send(b)
		p.ReadPreface()
		p.ExpectViolation(wire.ErrSetting, wire.GoAwayProtocolError)
	})
}

// heap is what lives after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Lengths and totals that lie allocate nothing. A hundred connections promise
// 64 MiB each.
func TestLyingLengthsCostNoMemory(t *testing.T) {
	_, target, check := besieged(t)
	check() // so that its garbage does not count
	before := heap()
	var peers []*rawframe.Peer
	for range 100 {
		p := raw(t, target)
		for slot := uint32(1); slot <= 4; slot++ {
			h := rawframe.CallHeader(slot, 1, 0, wire.FlagMsg|wire.FlagMore)
			name := "/test.Service/Echo"
			body := append(wire.AppendVarint(nil, uint32(len(name))), name...)
			body = wire.AppendVarint(body, 60<<20)
			p.Send(rawframe.Bytes(h, append(body, make([]byte, wire.MinPiece-len(body))...)))
		}
		p.Send(rawframe.Ping(0, 1))
		p.Await(wire.Ping)
		p.Send(rawframe.Lie(wire.Header{Type: wire.Data}, 1<<16)[:8]) // and half a header
		peers = append(peers, p)
	}
	grown := heap() - before
	// What did arrive is 64 KiB for each of 400 calls, kept in buffers a few
	// times as large; the promises came to 24 GiB.
	if most := int64(400*4*wire.MinPiece + 100*(256<<10) + 16<<20); grown > most {
		t.Fatalf("the heap grew by %d MiB", grown>>20)
	}
	for _, p := range peers {
		_ = p.Close()
	}
}

func TestPromisesBeyondTheBudgetAreRefused(t *testing.T) {
	_, target, _ := besieged(t)
	p := raw(t, target)
	p.Send(rawframe.Define(1, "/test.Service/Echo"))
	body := append(wire.AppendVarint(nil, 60<<20), make([]byte, wire.MinPiece)...)
	for slot := uint32(1); slot <= 5; slot++ { // 300 MiB promised of 256
		p.Send(rawframe.Bytes(rawframe.CallHeader(slot, 1, 1, wire.FlagMsg|wire.FlagMore), body[:wire.MinPiece]))
	}
	f, code, message := p.AwaitResult(rawframe.ID(5, 1))
	if code != trunkcall.ResourceExhausted || f.Flags&wire.FlagRefused == 0 || f.Word == 0 {
		t.Fatalf("%v, flags %#x, retry-after %d", code, f.Flags, f.Word)
	}
	wantsText(t, message, "268435456")
}

func TestFaultsOfOneCallHarmThatCallOnly(t *testing.T) {
	s, target, _ := besieged(t)
	p := raw(t, target)
	p.Send(defineEcho, rawframe.Define(2, "/test.Service/Nothing"), rawframe.Define(3, "/test.Service/Produce"))
	whole := wire.FlagMsg | wire.FlagEnd
	block := func(entries ...byte) []byte { return append([]byte{byte(len(entries))}, entries...) }
	generation := uint16(0)
	many := []byte{}
	for range 129 {
		many = append(many, 1, 0)
	}
	for _, fault := range []struct {
		name   string
		method uint16
		flags  wire.Flags
		body   []byte
		change func(h *wire.Header)
		code   trunkcall.Code
		says   string
	}{
		{"metadata cut short", 1, whole | wire.FlagMeta, []byte{200}, nil, trunkcall.InvalidArgument, ""},
		{"metadata with a bad key", 1, whole | wire.FlagMeta, block(0, 1, 'K', 1, 'v'), nil, trunkcall.InvalidArgument, ""},
		{"metadata with a bad value", 1, whole | wire.FlagMeta, block(0, 1, 'k', 1, '\n'), nil, trunkcall.InvalidArgument, ""},
		{"metadata with a lying count", 1, whole | wire.FlagMeta, block(0, 1, 'k', 100, 'v'), nil, trunkcall.InvalidArgument, ""},
		{"too many entries", 1, whole | wire.FlagMeta, append(wire.AppendVarint(nil, uint32(len(many))), many...), nil, trunkcall.ResourceExhausted, "128"},
		{"too much metadata", 1, whole | wire.FlagMeta, append(wire.AppendVarint(nil, 20_000), make([]byte, 20_000)...), nil, trunkcall.ResourceExhausted, "16384"},
		{"inline name of nothing", 0, whole, []byte{0}, nil, trunkcall.InvalidArgument, ""},
		{"inline name too long", 0, whole, []byte{0xff, 0x7f, 'x'}, nil, trunkcall.InvalidArgument, ""},
		{"nobody serves it", 2, whole, nil, nil, trunkcall.Unimplemented, "/test.Service/Nothing"},
		{"unknown codec", 1, whole, nil, func(h *wire.Header) { h.Codec = 5 }, trunkcall.Unimplemented, "codec 5"},
		{"codec without a name", 1, whole, nil, func(h *wire.Header) { h.Codec = 9 }, trunkcall.Unimplemented, "codec 9"},
		{"compression not offered", 1, whole, nil, func(h *wire.Header) { h.Compression = 3 }, trunkcall.Unimplemented, "compression 3"},
		{"message too large", 1, wire.FlagMsg | wire.FlagMore,
			append(wire.AppendVarint(nil, 64<<20+1), make([]byte, wire.MinPiece)...)[:wire.MinPiece], nil, trunkcall.ResourceExhausted, "67108864"},
		{"no request", 1, wire.FlagEnd, nil, nil, trunkcall.Unimplemented, "where one is expected"},
		{"no request of a stream", 3, wire.FlagEnd, nil, nil, trunkcall.Unimplemented, "where one is expected"},
		{"not Protobuf", 1, whole, []byte{0xff, 0xff}, nil, trunkcall.InvalidArgument, "protobuf"},
	} {
		generation++
		h := rawframe.CallHeader(1, generation, fault.method, fault.flags)
		if fault.change != nil {
			fault.change(&h)
		}
		if fault.flags&wire.FlagMsg == 0 {
			h.Codec = 1
		}
		p.Send(rawframe.Bytes(h, fault.body))
		f, code, message := p.AwaitResult(h.Stream)
		if code != fault.code || f.Flags&wire.FlagRefused == 0 || f.Word != 0 {
			t.Errorf("%s: %v %q, flags %#x, retry-after %d", fault.name, code, message, f.Flags, f.Word)
		}
		if !strings.Contains(message, fault.says) {
			t.Errorf("%s: %q does not say %q", fault.name, message, fault.says)
		}
	}
	generation++
	id := rawframe.ID(1, generation)
	p.Send(rawframe.Bytes(rawframe.CallHeader(1, generation, 1, wire.FlagMsg)), rawframe.Data(id, whole, nil))
	if f, code, _ := p.AwaitResult(id); code != trunkcall.Unimplemented || f.Flags&wire.FlagRefused == 0 {
		t.Errorf("two requests: %v, flags %#x", code, f.Flags)
	}
	generation++
	p.Send(rawframe.Call(1, generation, 1, echoed(t, "still here")))
	if f, code, _ := p.AwaitResult(rawframe.ID(1, generation)); code != trunkcall.OK || string(f.Message(t)) != string(echoed(t, "still here")) {
		t.Fatalf("%v % x", code, f.Body)
	}
	if n := s.Running(); n > 1 { // the bystander's
		t.Fatalf("%d handlers run", n)
	}
}

// A one-way call is accepted once its message is decoded (protocol.md 7.5).
func TestAOneWayCallThatDoesNotDecodeIsNotAccepted(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	p := raw(t, target)
	p.Send(defineEcho)
	for generation, tried := range []struct {
		body  []byte
		code  trunkcall.Code
		flags wire.Flags
	}{{[]byte{0xff, 0xff}, trunkcall.InvalidArgument, wire.FlagRefused}, {echoed(t, "fine"), trunkcall.OK, 0}} {
		h := rawframe.CallHeader(1, uint16(generation+1), 1, wire.FlagMsg|wire.FlagEnd|wire.FlagOneWay)
		p.Send(rawframe.Bytes(h, tried.body))
		if f, code, message := p.AwaitResult(h.Stream); code != tried.code || f.Flags != tried.flags {
			t.Fatalf("%v %q, flags %#x", code, message, f.Flags)
		}
	}
}

func TestASlotAboveTheLimitIsRefusedAndForgotten(t *testing.T) {
	_, target, _ := besieged(t)
	p := raw(t, target)
	p.Send(defineEcho)
	for _, generation := range []uint16{1, 1, 7} {
		id := rawframe.ID(1025, generation)
		p.Send(rawframe.Call(1025, generation, 1, nil), rawframe.Data(id, wire.FlagMsg, nil), rawframe.Credit(id, 1), rawframe.Cancel(id, 0))
		f, code, message := p.AwaitResult(id)
		if code != trunkcall.ResourceExhausted || f.Flags&wire.FlagRefused == 0 || f.Word == 0 {
			t.Fatalf("%v, flags %#x, retry-after %d", code, f.Flags, f.Word)
		}
		wantsText(t, message, "max_calls", "1024")
	}
}

func TestAFloodOfPingsFromOneWhoDoesNotReadIsEnded(t *testing.T) {
	s, target, _ := besieged(t)
	p := rawframe.Dial(t, target)
	_ = p.Conn.(*net.TCPConn).SetReadBuffer(4096)
	p.Greet()
	flood := []byte{}
	for i := range 10_000 {
		flood = append(flood, rawframe.Ping(0, uint32(i))...)
	}
	for range 200 { // far more than sockets hold
		if p.Try(flood) != nil {
			break
		}
	}
	var reasons []string
	for _, f := range p.Rest() {
		if f.Type == wire.GoAway && f.Flags&wire.FlagAck == 0 {
			reasons = append(reasons, fmt.Sprint(f.Word, " ", string(f.Body)))
		}
	}
	if len(reasons) > 0 && !strings.HasPrefix(reasons[0], "2 flood:") {
		t.Fatal(reasons)
	}
	_ = s
}

func TestPingsAreAnsweredInOrder(t *testing.T) {
	_, target, _ := besieged(t)
	p := raw(t, target)
	for i := range uint32(500) {
		p.Send(rawframe.Ping(0, i))
		if f := p.Await(wire.Ping); f.Word != i || f.Flags != wire.FlagAck {
			t.Fatalf("%d was answered %d", i, f.Word)
		}
	}
	p.Send(rawframe.Ping(wire.FlagAck, 1), rawframe.Bytes(wire.Header{Type: 0x90, Flags: 0xff, Word: 5}, []byte("skipped")), rawframe.Ping(0, 9))
	if f := p.Await(wire.Ping); f.Word != 9 {
		t.Fatal(f)
	}
}

// A one-way call is accepted, and its handler started, when its message is whole: also that of a method that takes a
// stream of messages (protocol.md 7.5). A PING between the pieces would be answered behind an early RESULT.
func TestAOneWayCallWaitsForItsWholeMessageWhateverTheMethodTakes(t *testing.T) {
	received := make(chan string, 1)
	method := trunkcall.ClientStream[payload, payload]("/test.Service/Keep")
	_, target := serve(t, nil, method.Handler(func(_ context.Context, s *trunkcall.Receiver[payload]) (*payload, error) {
		m, err := s.Receive()
		received <- string(m.GetData()[:4])
		return m, err
	}))
	p := rawframe.Dial(t, target)
	p.Greet()
	message := echoed(t, strings.Repeat("once", 25_000))
	body := append(wire.AppendVarint(nil, uint32(len(message))), message...)
	id := rawframe.ID(1, 1)
	p.Send(rawframe.Define(1, "/test.Service/Keep"), rawframe.Bytes(rawframe.CallHeader(1, 1, 1, wire.FlagOneWay|wire.FlagMsg|wire.FlagMore), body[:wire.MinPiece]),
		rawframe.Bytes(wire.Header{Type: wire.Ping, Word: 7}))
	if f, err := p.Next(); err != nil || f.Type != wire.Ping {
		t.Fatalf("%v, %v before the message was whole", f.Type, err)
	}
	p.Send(rawframe.Data(id, wire.FlagMsg|wire.FlagEnd, body[wire.MinPiece:]))
	if _, code, message := p.AwaitResult(id); code != wire.OK {
		t.Fatal(code, message)
	}
	if got := <-received; got != "once" {
		t.Fatal(got)
	}
}
