package trunkcall_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/trunkcall/trunkcall/go"
)

// Attacks on the protocols: what each makes a server hold is bounded, and others
// are served meanwhile, natively, by gRPC and by HTTP/1.1.

// inUse is the memory of heap and stacks once garbage was collected.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// grown is by how much more memory is in use than before, or the most that is no cause for
// complaint: what is above that must stay there to be held. A goroutine may yet have in its hands
// what it is about to let go of, as the answer of a handler that is done, and it takes the
// collector some rounds to find what was let go of and to shrink stacks.
func grown(before, most int64) (by int64) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if by = inUse() - before; by <= most || time.Now().After(deadline) {
			return by
		}
	}
}

// attacked is a server under attack.
type attacked struct {
	*trunkcall.Server
	t      *testing.T
	target string
	gate   *gate
	check  func() // that the bystanders are still served
}

// attack serves the usual methods, block, which nobody opens before the end, and
// Deaf, which takes nothing of its stream.
func attack(t *testing.T, options ...trunkcall.ServerOption) *attacked {
	t.Helper()
	g := newGate(t)
	deaf := trunkcall.Bidi[payload, payload]("/test.Service/Deaf").Handler(
		func(ctx context.Context, _ *trunkcall.BidiStream[payload, payload]) error {
			select {
			case <-ctx.Done():
			case <-g.leave: // over HTTP/1.1 nobody sees the end behind what is not read
			}
			return ctx.Err()
		})
	large := trunkcall.Unary[payload, payload]("/test.Service/Large").Handler(func(context.Context, *payload) (*payload, error) {
		return noise(1 << 20), nil
	})
	s, target := serve(t, options, append(standard(), g.handler(), deaf, large)...)
	native, stockClient, overHTTP1 := dial(t, target), stock(t, target), overHTTP(t)["http/1.1"]
	return &attacked{s, t, target, g, func() {
		t.Helper()
		mustEcho(t, native, "bystander")
		if _, err := stockEcho(soon(t), stockClient, "/test.Service/Echo", text("bystander")); err != nil {
			t.Error("a bystander of gRPC:", err)
		}
		posts(t, overHTTP1, "http://"+target+"/test.Service/Echo", "application/json", "{}").wants(t, "{}")
	}}
}

// costs fails if an attack has the server hold more than bound while it goes on, or anything
// of note once it is over.
func (a *attacked) costs(bound int64, attack func() (over func())) {
	a.t.Helper()
	if underRace {
		a.t.Skip("memory is another with the race detector")
	}
	a.check()
	before := inUse()
	over := attack()
	a.check()
	if held := grown(before, bound); held > bound {
		a.t.Errorf("the attack has the server hold %d KiB, more than %d", held>>10, bound>>10)
	}
	over()
	a.gate.open()
	eventually(a.t, "nothing runs", func() bool { return a.Running() == 0 })
	eventually(a.t, "nothing is held", func() bool { g := a.Gauges(); return g.HeldBytes == 0 && g.UnsentBytes == 0 })
	const little = 16 << 20
	if left := grown(before, little); left > little {
		a.t.Errorf("%d KiB are left", left>>10)
	}
	a.check()
}

// raider is a client of HTTP/2 that can say anything. What the server says is
// thrown away, except why the connection ended.
type raider struct {
	net.Conn
	frames *http2.Framer
	block  bytes.Buffer
	fields *hpack.Encoder
	ended  chan http2.ErrCode
	next   uint32
}

// raid opens a connection, which is read from if it reads.
func (a *attacked) raid(reads bool, settings ...http2.Setting) *raider {
	a.t.Helper()
	socket, err := net.Dial("tcp", a.target)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = socket.Close() })
	_ = socket.SetDeadline(time.Now().Add(long))
	r := &raider{Conn: socket, frames: http2.NewFramer(socket, socket), ended: make(chan http2.ErrCode, 1), next: 1}
	r.fields = hpack.NewEncoder(&r.block)
	_, _ = io.WriteString(socket, http2.ClientPreface)
	_ = r.frames.WriteSettings(settings...)
	if reads {
		go r.reads()
	}
	return r
}

func (r *raider) reads() {
	code := http2.ErrCode(1 << 31) // ended without a word
	defer func() { r.ended <- code }()
	for {
		f, err := r.frames.ReadFrame()
		if err != nil {
			return
		}
		if g, ok := f.(*http2.GoAwayFrame); ok {
			code = g.ErrCode
		}
	}
}

func (r *raider) head(path string, more ...string) []byte {
	r.block.Reset()
	all := append([]string{":method", "POST", ":path", path, ":scheme", "http", ":authority", "h"}, more...)
	if !slices.Contains(more, "content-type") {
		all = append(all, "content-type", "application/grpc")
	}
	for i := 0; i < len(all); i += 2 {
		_ = r.fields.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return r.block.Bytes()
}

// asks opens a stream and returns its id.
func (r *raider) asks(end bool, path string, more ...string) (uint32, error) {
	id := r.next
	r.next += 2
	return id, r.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: r.head(path, more...), EndStream: end, EndHeaders: true})
}

func (*raider) decoder() *hpack.Decoder { return hpack.NewDecoder(4096, nil) }

// asksAtLength is asks for a head that takes several frames.
func (r *raider) asksAtLength(end bool, path string, more ...string) (uint32, error) {
	id, rest := r.next, r.head(path, more...)
	r.next += 2
	n := min(len(rest), 16384)
	err := r.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: rest[:n], EndStream: end, EndHeaders: n == len(rest)})
	for rest = rest[n:]; len(rest) > 0 && err == nil; rest = rest[n:] {
		n = min(len(rest), 16384)
		err = r.frames.WriteContinuation(id, n == len(rest), rest[:n])
	}
	return id, err
}

// calls makes a whole unary call.
func (r *raider) calls(path string) (uint32, error) {
	id, err := r.asks(false, path)
	if err == nil {
		err = r.frames.WriteData(id, true, make([]byte, 5))
	}
	return id, err
}

// Floods over HTTP/2 end their connection with ENHANCE_YOUR_CALM, or at most go
// on as slowly as the server takes them in.
func TestFloodsOfHTTP2EndTheirConnection(t *testing.T) {
	table := make([]byte, 4000)
	for name, flood := range map[string]func(r *raider, i int) error{
		"PING": func(r *raider, _ int) error { return r.frames.WritePing(false, [8]byte{}) },
		"SETTINGS": func(r *raider, _ int) error {
			return r.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		},
		"CONTINUATION": func(r *raider, i int) error {
			if i == 0 {
				return r.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: r.head("/test.Service/Echo")})
			}
			r.block.Reset()
			_ = r.fields.WriteField(hpack.HeaderField{Name: fmt.Sprint("k", i), Value: "v", Sensitive: true})
			return r.frames.WriteContinuation(1, false, r.block.Bytes())
		},
		"header bomb": func(r *raider, i int) error { // one large entry of the table, named many times
			if i == 0 {
				_, err := r.asks(true, "/test.Service/Echo", "k", string(table))
				return err
			}
			id := r.next
			r.next += 2
			return r.frames.WriteHeaders(http2.HeadersFrameParam{
				StreamID: id, BlockFragment: append(r.head("/test.Service/Echo"), bytes.Repeat([]byte{0x80 | 62}, 2_000)...), EndHeaders: true, EndStream: true,
			})
		},
		"rapid reset": func(r *raider, _ int) error {
			id, err := r.calls("/test.Service/Block")
			if err == nil {
				err = r.frames.WriteRSTStream(id, http2.ErrCodeCancel)
			}
			return err
		},
		"resets that the server is made to send": func(r *raider, i int) error {
			id, err := r.calls("/test.Service/Block")
			switch {
			case err != nil:
			case i%2 == 0:
				err = r.frames.WriteRawFrame(http2.FrameWindowUpdate, 0, id, make([]byte, 4)) // of 0
			default:
				err = r.frames.WriteRawFrame(http2.FramePriority, 0, id, append(binary.BigEndian.AppendUint32(nil, id), 1)) // depends on itself
			}
			return err
		},
		"bodies longer than they said": func(r *raider, _ int) error {
			id, err := r.asks(false, "/test.Service/Chat", "content-length", "1")
			if err == nil {
				err = r.frames.WriteData(id, false, make([]byte, 5))
			}
			return err
		},
		"calls that nobody serves": func(r *raider, _ int) error {
			_, err := r.asks(true, "/test.Service/None")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := attack(t)
			a.costs(24<<20, func() func() {
				const connections = 2
				var all sync.WaitGroup
				for range connections {
					r := a.raid(true)
					all.Go(func() {
						began := time.Now()
						for i := 0; i < 1_000_000 && flood(r, i) == nil; i++ {
							// A thousand in a second are for free, and no more may come where the machine is busy.
							if seconds := time.Since(began).Seconds(); seconds > 10 && float64(i) < 1000*seconds {
								t.Logf("%d in %.0f s are no flood", i, seconds)
								_ = r.Close()
								return
							}
						}
						if code := <-r.ended; code != http2.ErrCodeEnhanceYourCalm {
							t.Errorf("ended with %v", code)
						}
					})
				}
				all.Wait()
				if n := a.Running(); n > connections*1100 { // 1,024 handlers that outlive their streams, and some that wait
					t.Errorf("%d handlers run", n)
				}
				return func() {}
			})
		})
	}
}

// Floods by one who reads nothing end its connection, or are held up by TCP.
func TestFloodsByOneWhoDoesNotReadAreBounded(t *testing.T) {
	for name, flood := range map[string]func(r *raider) error{
		"PING":             func(r *raider) error { return r.frames.WritePing(false, [8]byte{}) },
		"calls":            func(r *raider) error { _, err := r.calls("/test.Service/Echo"); return err },
		"large answers":    func(r *raider) error { _, err := r.calls("/test.Service/Large"); return err },
		"refused calls":    func(r *raider) error { _, err := r.asks(true, "/test.Service/None"); return err },
		"refused requests": func(r *raider) error { _, err := r.asks(true, "/"+strings.Repeat("x", 9000)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			a := attack(t, trunkcall.WithMemory(32<<20))
			a.costs(72<<20, func() func() {
				r := a.raid(false, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
				_ = r.SetWriteDeadline(time.Now().Add(2 * time.Second))
				for i := 0; i < 200_000 && flood(r) == nil; i++ {
				}
				eventually(t, "no handler runs", func() bool { return a.Running() == 0 })
				return func() { _ = r.Close() }
			})
		})
	}
}

func TestWindowsThatNeverOpenHoldNoMoreThanTheMemoryOfTheServer(t *testing.T) {
	a := attack(t, trunkcall.WithMemory(32<<20))
	a.costs(80<<20, func() func() {
		var all []*raider
		for range 4 {
			r := a.raid(true, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			for range 60 {
				_, _ = r.calls("/test.Service/Large")
			}
			all = append(all, r)
		}
		eventually(t, "all are answered", func() bool { return a.Running() == 0 && a.Gauges().HeldBytes > 16<<20 })
		return func() {
			for _, r := range all {
				_ = r.Close()
			}
		}
	})
}

func TestRequestsThatAreNeverFinishedCostLittleOverHTTP2(t *testing.T) {
	for name, request := range map[string]struct {
		path, kind string
		body       []byte
	}{
		"heads":                     {"/test.Service/Echo", "application/grpc", nil},
		"messages that lie":         {"/test.Service/Echo", "application/grpc", []byte{0, 0, 0, 0xff, 0xff, 1}},
		"streams":                   {"/test.Service/Chat", "application/grpc", []byte{0, 0, 0}},
		"JSON":                      {"/test.Service/Echo", "application/json", []byte("{")},
		"streams of gRPC-Web":       {"/test.Service/Chat", "application/grpc-web", []byte{0}},
		"large messages of Connect": {"/test.Service/Chat", "application/connect+proto", []byte{0, 3, 0, 0, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			a := attack(t)
			const connections, streams = 4, 500
			a.costs(connections*streams*(40<<10), func() func() {
				var all []*raider
				for range connections {
					r := a.raid(true)
					for range streams {
						id, err := r.asks(false, request.path, "content-type", request.kind)
						if err == nil && len(request.body) > 0 {
							_ = r.frames.WriteData(id, false, request.body)
						}
					}
					all = append(all, r)
				}
				eventually(t, "they are open", func() bool { return a.Gauges().CallsServed >= connections*streams })
				return func() {
					for _, r := range all {
						_ = r.Close()
					}
				}
			})
		})
	}
}
