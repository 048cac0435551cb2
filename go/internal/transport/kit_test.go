package transport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// What the tests of this package have in common: a layer above that serves
// calls by a function, and pairs of connections.

var (
	testPollFrom int
	testTLS      = os.Getenv("TRUNKCALL_TEST_TLS") == "always"
)

// With TRUNKCALL_TEST_POLL=always in the environment every connection is polled, with
// TRUNKCALL_TEST_TLS=always every pair has TLS.
func TestMain(m *testing.M) {
	if os.Getenv("TRUNKCALL_TEST_POLL") == "always" {
		testPollFrom = -1
	}
	roles.HeldAbove = 1e18 // whatever else the machine has to do
	goleak.VerifyTestMain(m)
}

// quicken has a method count as quick, slowDown as one that takes its time, whatever its
// handlers took on this machine.
func quicken(p *roles.Pace)  { noteOften(p, 1000) }
func slowDown(p *roles.Pace) { noteOften(p, 1e6) }

func noteOften(p *roles.Pace, took int64) {
	for range 5000 {
		p.Note(took)
	}
}

const long = 2 * time.Minute // on a machine that has much else to do

func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(long):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	t.Cleanup(cancel)
	return ctx
}

// upper is a layer above. serve runs each call and says how it ended.
type upper struct {
	serve func(w *roles.Worker, st *Stream)
	whole bool
	pace  *roles.Pace

	accepted atomic.Int32

	ready   chan struct{}
	closed  chan error
	dropped chan struct{}
	stopped chan wire.Code
	away    chan string
}

func newUpper(serve func(w *roles.Worker, st *Stream)) *upper {
	return &upper{
		serve: serve, whole: true, pace: &roles.Pace{}, ready: make(chan struct{}, 10), closed: make(chan error, 10),
		dropped: make(chan struct{}, 100), stopped: make(chan wire.Code, 100), away: make(chan string, 10),
	}
}

func (u *upper) Accept(*Conn, *wire.Incoming) (*Stream, *wire.Refusal) {
	if u.serve == nil {
		return nil, &wire.Refusal{Code: wire.Unimplemented, Message: "nothing is served here"}
	}
	u.accepted.Add(1)
	st := &Stream{Whole: u.whole, Pace: u.pace}
	st.Init(u, false)
	return st, nil
}

func (u *upper) Serve(w *roles.Worker, st *Stream)                        { u.serve(w, st) }
func (u *upper) Dropped(*Stream)                                          { u.dropped <- struct{}{} }
func (u *upper) Stopped(_ *Stream, code wire.Code)                        { u.stopped <- code }
func (u *upper) Unserved(*Conn, *Stream, string, bool, wire.Code, string) {}
func (u *upper) Ready(*Conn, *wire.Preface)                               { u.ready <- struct{}{} }
func (u *upper) GoesAway(_ *Conn, _ uint32, text string)                  { u.away <- text }
func (u *upper) Closed(_ *Conn, err error)                                { u.closed <- err }
func (u *upper) config(pool *roles.Pool, change ...func(*Config)) *Config {
	c := &Config{Handler: u, Pool: pool, Local: wire.DefaultSettings(), MaxPool: 32 << 20, PollFrom: testPollFrom}
	for _, f := range change {
		f(c)
	}
	return c
}

// echoBack answers a whole call with its request.
func echoBack(w *roles.Worker, st *Stream) {
	m, _ := st.TakeFirst()
	w.Scratch = append(w.Scratch[:0], m.Payload...)
	m.Free()
	w.Ending.HasMessage, w.Ending.Payload = true, w.Scratch
}

// pair is two connections joined by a socket.
type pair struct {
	caller, callee *Conn
	above, below   *upper // of the caller and of the callee
}

// sockets returns the two ends of a TCP connection.
func sockets(t testing.TB) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

func newPair(t testing.TB, serve func(w *roles.Worker, st *Stream), change ...func(*Config)) *pair {
	t.Helper()
	if testTLS {
		return newTLSPair(t, serve, change...)
	}
	near, far := sockets(t)
	return join(t, near, far, serve, change...)
}

func join(t testing.TB, near, far net.Conn, serve func(w *roles.Worker, st *Stream), change ...func(*Config)) *pair {
	t.Helper()
	p := &pair{above: newUpper(nil), below: newUpper(serve)}
	pools := [2]*roles.Pool{{}, {}}
	p.callee = NewConn(p.below.config(pools[1], change...), far, true, nil, nil)
	p.caller = NewConn(p.above.config(pools[0], change...), near, false, nil, nil)
	t.Cleanup(func() {
		p.caller.Close(net.ErrClosed)
		p.callee.Close(net.ErrClosed)
		pools[0].Close()
		pools[1].Close()
	})
	receive(t, p.above.ready, "preface")
	return p
}

var echoMethod = wire.Method{Name: "/test.Service/Echo", Index: 0}

// call makes one unary call and returns how it ended, with its answer.
func (p *pair) call(t testing.TB, ctx context.Context, request string) (wire.Ending, string) { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	call := NewCall(true)
	out := &wire.Outgoing{Method: echoMethod, Payload: []byte(request), HasMessage: true, End: true}
	if err := p.caller.Open(call, out, false); err != nil {
		t.Fatal(err)
	}
	if !call.Wait(ctx) {
		call.GiveUp(wire.CancelGivenUp, &wire.Ending{Code: wire.Canceled, Delivery: wire.DeliveryUnknown})
	}
	return call.Ending, string(call.Ending.Payload)
}

func (p *pair) mustEcho(t testing.TB, request string) {
	t.Helper()
	if e, answer := p.call(t, soon(t), request); e.Code != wire.OK || answer != request {
		t.Fatalf("%v %q, answer %q, want %q", e.Code, e.Message, answer, request)
	}
}

var testCertificate = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
})

// handshake puts TLS on both ends of a socket, as Dial and a Listener do.
func handshake(t testing.TB, near, far net.Conn, client, server *tls.Config) (a, b *tls.Conn) {
	t.Helper()
	certificate, err := testCertificate()
	if err != nil {
		t.Fatal(err)
	}
	server.Certificates = []tls.Certificate{certificate}
	b = tls.Server(&tlsSocket{Conn: far}, server)
	done := make(chan error, 1)
	go func() { done <- b.HandshakeContext(context.Background()) }()
	a = tls.Client(&tlsSocket{Conn: near}, client)
	if err := a.HandshakeContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, done, "handshake"); err != nil {
		t.Fatal(err)
	}
	return a, b
}

func withTLS(t testing.TB, near, far net.Conn) (a, b *tls.Conn) {
	t.Helper()
	return handshake(t, near, far, &tls.Config{InsecureSkipVerify: true}, &tls.Config{})
}

func newTLSPair(t testing.TB, serve func(w *roles.Worker, st *Stream), change ...func(*Config)) *pair {
	t.Helper()
	near, far := sockets(t)
	a, b := withTLS(t, near, far)
	return join(t, a, b, serve, change...)
}
