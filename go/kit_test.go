package trunkcall_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
)

// What the tests of this package have in common: a service of all kinds,
// servers and clients that end with their test, and assertions on statuses.

// With TRUNKCALL_TEST_POLL=always in the environment every connection is polled
// (transport/poll.go).
func TestMain(m *testing.M) {
	if os.Getenv("TRUNKCALL_TEST_POLL") == "always" {
		trunkcall.PollAlways()
	}
	goleak.VerifyTestMain(m)
}

// childVariable has a process run what child asks for.
const childVariable = "TRUNKCALL_TEST_CHILD"

// child runs one test of this binary in a process of its own.
func child(t testing.TB, test string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=60s", "-test.v")
	c.Env = append(os.Environ(), childVariable+"="+test)
	return c
}

type payload = benchv1.Payload

// The methods that tests call; each test says what serves them.
var (
	echo    = trunkcall.Unary[payload, payload]("/test.Service/Echo")
	block   = trunkcall.Unary[payload, payload]("/test.Service/Block")
	produce = trunkcall.ServerStream[payload, payload]("/test.Service/Produce")
	collect = trunkcall.ClientStream[payload, payload]("/test.Service/Collect")
	chat    = trunkcall.Bidi[payload, payload]("/test.Service/Chat")
)

func text(s string) *payload { return &payload{Data: []byte(s)} }

func serveEcho(_ context.Context, in *payload) (*payload, error) { return in, nil }

// standard serves every kind but block: Produce sends as many messages as its
// request has bytes, Collect answers the concatenation, Chat echoes.
func standard() []trunkcall.Handler {
	return []trunkcall.Handler{
		echo.Handler(serveEcho),
		produce.Handler(func(_ context.Context, in *payload, out *trunkcall.Sender[payload]) error {
			for i := range in.Data {
				if err := out.Send(&payload{Data: in.Data[i : i+1]}); err != nil {
					return err
				}
			}
			return nil
		}),
		collect.Handler(func(_ context.Context, in *trunkcall.Receiver[payload]) (*payload, error) {
			all := &payload{}
			for {
				m, err := in.Receive()
				if errors.Is(err, io.EOF) {
					return all, nil
				}
				if err != nil {
					return nil, err
				}
				all.Data = append(all.Data, m.Data...)
			}
		}),
		chat.Handler(serveChat),
	}
}

// serveChat sends back what it receives.
func serveChat(_ context.Context, s *trunkcall.BidiStream[payload, payload]) error {
	for {
		m, err := s.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(m); err != nil {
			return err
		}
	}
}

// gate is a handler for block that stays in its call until the test opens it.
// It ignores the call's context.
type gate struct {
	entered chan context.Context
	leave   chan struct{}
}

func newGate(t testing.TB) *gate {
	g := &gate{entered: make(chan context.Context, 1<<16), leave: make(chan struct{})}
	t.Cleanup(g.open)
	return g
}

func (g *gate) open() {
	select {
	case <-g.leave:
	default:
		close(g.leave)
	}
}

func (g *gate) handler() trunkcall.Handler {
	return block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		g.entered <- ctx
		<-g.leave
		return in, nil
	})
}

// await waits for a handler to have entered and returns its context.
func (g *gate) await(t testing.TB) context.Context {
	t.Helper()
	return receive(t, g.entered, "handler to start")
}

// long is far beyond what anything here takes, on a machine that has much else
// to do as well, so that a hang fails its test.
const long = 2 * time.Minute

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	t.Cleanup(cancel)
	return ctx
}

// receive waits for a value.
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

// ends waits for a handler's context to end, no longer than a promise may take.
func ends(t testing.TB, ctx context.Context) { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(tardy):
		t.Fatal("the handler's context did not end")
	}
}

// eventually waits for a condition that another goroutine brings about and
// that nothing announces.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// runsOut tests what comes of a time that runs out, of 20 ms at first. Where the
// machine stood still, that was over before what was to happen within it: then
// test says so, and is run again with more time, which is told as a retry.
func runsOut(t testing.TB, test func(d time.Duration) (tooEarly bool)) {
	t.Helper()
	d := 20 * time.Millisecond
	for ; test(d); d *= 4 {
		t.Attr("retry", d.String()+" were over too early")
		if d > 10*time.Second {
			t.Fatalf("even %v were over too early", d)
		}
	}
}

// unsent tells whether a call's deadline was over before its server had it.
func unsent(err error) bool {
	s := trunkcall.StatusOf(err)
	return s.Code == trunkcall.DeadlineExceeded && (s.Delivery == trunkcall.NotSent || s.Delivery == trunkcall.Refused)
}

// begins waits until a handler has entered, or it is certain that none will, since
// its call came too late: the time of ctx is over, another call behind it is, so
// that all it sent has arrived, and no handler runs.
func begins[T any](t testing.TB, ctx context.Context, entered <-chan T, running func() int, behind func(context.Context)) bool { //nolint:revive // t first, as everywhere in tests
	t.Helper()
	eventually(t, "a handler enters or the time is over", func() bool { return len(entered) > 0 || ctx.Err() != nil })
	if len(entered) > 0 {
		return true
	}
	behind(soon(t))
	eventually(t, "a handler enters or none runs", func() bool {
		n := running()
		return len(entered) > 0 || n == 0
	})
	return len(entered) > 0
}

func unary(name string) *trunkcall.Method { return trunkcall.NewMethod(name, trunkcall.KindUnary) }

// calls makes a call that may fail.
func calls(c trunkcall.Caller) func(context.Context) {
	return func(ctx context.Context) { _, _ = echo.Call(ctx, c, text("")) }
}

type (
	serverOptions = []trunkcall.ServerOption
	clientOptions = []trunkcall.ClientOption
)

// newClient is a client that is to be closed by the test.
func newClient(t testing.TB, target string, options ...trunkcall.ClientOption) *trunkcall.Client {
	t.Helper()
	c, err := trunkcall.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newServer is a server that is to be stopped or closed by the test.
func newServer(t testing.TB, options ...trunkcall.ServerOption) *trunkcall.Server {
	t.Helper()
	s, err := trunkcall.NewServer(options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start serves handlers at where and closes the server with the test.
func start(t testing.TB, where string, options serverOptions, handlers ...trunkcall.Handler) (*trunkcall.Server, string) {
	t.Helper()
	s := newServer(t, options...)
	if err := s.Register(handlers...); err != nil {
		t.Fatal(err)
	}
	addr, err := s.Listen(where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if strings.HasPrefix(where, "unix:") {
		return s, where
	}
	return s, addr.String()
}

// serve is start on a free port of the loopback.
func serve(t testing.TB, options serverOptions, handlers ...trunkcall.Handler) (*trunkcall.Server, string) {
	t.Helper()
	return start(t, "127.0.0.1:0", options, handlers...)
}

func dial(t testing.TB, target string, options ...trunkcall.ClientOption) *trunkcall.Client {
	t.Helper()
	c, err := trunkcall.Dial(soon(t), target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// join is serve and dial with the standard service and more.
func join(t testing.TB, more ...trunkcall.Handler) (*trunkcall.Server, *trunkcall.Client) {
	t.Helper()
	s, target := serve(t, nil, append(standard(), more...)...)
	return s, dial(t, target)
}

// wants fails unless err is a Status with the given code and delivery.
func wants(t testing.TB, err error, code trunkcall.Code, delivery trunkcall.Delivery) trunkcall.Status {
	t.Helper()
	var e trunkcall.StatusError
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a Status with %v", err, err, code)
	}
	s := e.Status()
	if s.Code != code || s.Delivery != delivery {
		t.Fatalf("got %v with delivery %v, want %v, %v", s, s.Delivery, code, delivery)
	}
	return s
}

// wantsText adds what the message must say; it has to be one line.
func wantsText(t testing.TB, message string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Fatalf("%q does not say %q", message, part)
		}
	}
	if strings.ContainsAny(message, "\n\r") {
		t.Fatalf("%q is more than one line", message)
	}
}

// mustEcho makes one call that must succeed.
func mustEcho(t testing.TB, c *trunkcall.Client, data string) {
	t.Helper()
	out, err := echo.Call(soon(t), c, text(data))
	if err != nil || string(out.Data) != data {
		t.Fatalf("echo: %v, %v", out, err)
	}
}

// place is a way to reach a server.
type place struct {
	name   string
	where  string
	server serverOptions
	client clientOptions
	tls    *tls.Config // of clients, nil without
}

// places are all of them.
func places(t *testing.T) []place {
	a := newAuthority(t)
	cert := a.certificate(t, x509.ExtKeyUsageServerAuth)
	own := a.certificate(t, x509.ExtKeyUsageClientAuth)
	simple := &tls.Config{RootCAs: a.pool}
	mutual := &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{own}}
	withTLS := trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{cert}})
	return []place{
		{name: "TCP", where: "127.0.0.1:0"},
		{name: "Unix", where: "unix:" + filepath.Join(t.TempDir(), "s")},
		{name: "memory", where: "mem:" + t.Name()},
		{"TLS", "127.0.0.1:0", serverOptions{withTLS}, clientOptions{trunkcall.WithTLS(simple)}, simple},
		{
			"mutual TLS", "127.0.0.1:0",
			serverOptions{trunkcall.WithTLS(&tls.Config{
				Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool,
			})},
			clientOptions{trunkcall.WithTLS(mutual)}, mutual,
		},
	}
}

// everywhere runs a test with the standard service at every place.
func everywhere(t *testing.T, test func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client), more ...trunkcall.Handler) {
	everywhereWith(t, nil, test, more...)
}

func everywhereWith(t *testing.T, options serverOptions, test func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client), more ...trunkcall.Handler) {
	for _, p := range places(t) {
		t.Run(p.name, func(t *testing.T) {
			s, target := start(t, p.where, append(slices.Clone(p.server), options...), append(standard(), more...)...)
			test(t, s, dial(t, target, p.client...))
		})
	}
}

// authority signs certificates for tests.
type authority struct {
	root   *x509.Certificate
	key    *ecdsa.PrivateKey
	pool   *x509.CertPool
	serial int64
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	a.root = &x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	signed := a.sign(t, a.root)
	a.root, _ = x509.ParseCertificate(signed.Certificate[0])
	a.pool.AddCert(a.root)
	return a
}

func (a *authority) certificate(t testing.TB, usage x509.ExtKeyUsage) tls.Certificate {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames: []string{"localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	})
}

func (a *authority) sign(t testing.TB, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a.key == nil {
		a.key = key
	}
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// raw connects a raw peer to a server and exchanges prefaces.
func raw(t testing.TB, target string) *rawframe.Peer {
	t.Helper()
	p := rawframe.Dial(t, target)
	p.Greet()
	return p
}

// among is how many of something there are in a test: fewer under the race detector, where
// each takes up to ten times as long and the first of them have told all.
func among(whole, raced int) int {
	if underRace {
		return raced
	}
	return whole
}

// computes skips a test under the race detector that mostly computes, in goroutines that do
// not share what they compute with: it takes ten times as long there and finds nothing.
func computes(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("mostly computes: it is run without the race detector")
	}
}
