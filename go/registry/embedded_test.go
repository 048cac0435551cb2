package registry_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/trunkcall/trunkcall/go"
	registryv1 "github.com/trunkcall/trunkcall/go/gen/registry/v1"
	"github.com/trunkcall/trunkcall/go/registry"
)

var (
	publishMethod = trunkcall.Bidi[registryv1.PublishRequest, registryv1.PublishAnswer]("/trunkcall.registry.v1.Registry/Publish")
	watchMethod   = trunkcall.ServerStream[registryv1.WatchRequest, registryv1.WatchAnswer]("/trunkcall.registry.v1.Registry/Watch")
)

// running is a registry that a test has started.
type running struct {
	*registry.Embedded
	address string
	end     func()
}

// serve serves a registry until the test or end ends it.
func serve(t *testing.T, address string, c registry.ServerConfig) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{}
	listening, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- registry.Serve(ctx, address, c, func(where net.Addr) {
			r.address = where.String()
			close(listening)
		})
	}()
	select {
	case <-listening:
	case err := <-done:
		cancel()
		t.Fatal(err)
	}
	r.Embedded = registry.NewEmbedded(r.address)
	r.end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.end)
	return r
}

// logged is a log that a test looks into.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) wait(t *testing.T, words string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		said := l.text.String()
		l.mu.Unlock()
		if strings.Contains(said, words) {
			return
		}
	}
	t.Fatalf("the log does not say %q: %s", words, l.text.String())
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func TestEmbeddedServersComeAndGoWhileCallsGoOn(t *testing.T) {
	store := serve(t, "127.0.0.1:0", registry.ServerConfig{})
	client := find(t, store)
	first := publish(t, store, "first")
	until(t, client, "first")
	ended := calling(client)
	second := publish(t, store, "second")
	until(t, client, "first", "second")
	stop(t, first)
	until(t, client, "second")
	publish(t, store, "first")
	until(t, client, "first", "second")
	stop(t, second)
	until(t, client, "first")
	if err := ended(); err != nil {
		t.Error(err)
	}
}

func TestEmbeddedForgetsAKilledProcessAtOnce(t *testing.T) {
	store := serve(t, "127.0.0.1:0", registry.ServerConfig{Lease: time.Hour})
	client := find(t, store)
	publish(t, store, "stays")
	process := start(t, "trunkcall:"+store.address)
	until(t, client, "stays", fmt.Sprint(process.Process.Pid))
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(client.Endpoints()) != 1; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(client.Endpoints())
		}
	}
}

func TestEmbeddedForgetsAStoppedProcessAfterItsLease(t *testing.T) {
	store := serve(t, "127.0.0.1:0", registry.ServerConfig{Lease: time.Second})
	answers := publishRaw(t, store.address, record("still"))
	if _, err := answers.Receive(); err != nil {
		t.Fatal(err)
	}
	_, err := answers.Receive() // nothing is sent
	if trunkcall.StatusOf(err).Code != trunkcall.Aborted || !strings.Contains(err.Error(), "not renewed for 1000 ms") {
		t.Error(err)
	}
}

// A client without a logger whose registry is not there says so, and so does the status of its call.
func TestEmbeddedThatIsNotThereIsTold(t *testing.T) {
	var said logged
	before := slog.Default()
	slog.SetDefault(said.logger())
	defer slog.SetDefault(before)
	client := find(t, registry.NewEmbedded("127.0.0.1:1"))
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := who.Call(ctx, client, wrapperspb.String(""), trunkcall.WaitForReady())
		ended <- err
	}()
	said.wait(t, "resolver failed")
	giveUp()
	if s := trunkcall.StatusOf(<-ended); s.Code != trunkcall.Canceled || !strings.Contains(s.Message, "cannot reach 127.0.0.1:1: ") {
		t.Error(s)
	}
}

func record(id string) string {
	return fmt.Sprintf(`{"addresses":["127.0.0.1:9"],"id":"%s","service":"%s"}`, id, service)
}

func dial(t *testing.T, address string) *trunkcall.Client {
	t.Helper()
	client, err := trunkcall.NewClient(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func publishRaw(t *testing.T, address string, records ...string) *trunkcall.BidiStream[registryv1.PublishRequest, registryv1.PublishAnswer] {
	t.Helper()
	request := &registryv1.PublishRequest{}
	for _, one := range records {
		request.Records = append(request.Records, []byte(one))
	}
	stream, err := publishMethod.Open(t.Context(), dial(t, address))
	if err == nil {
		err = stream.Send(request)
	}
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestEmbeddedRefusesTheSecondServerUnderAnID(t *testing.T) {
	store := serve(t, "127.0.0.1:0", registry.ServerConfig{})
	first := publish(t, store, "same")
	var log logged
	registrar := registry.NewRegistrar(store, registry.Published{ID: "same", Logger: log.logger()})
	second := newServer("second", registrar)
	t.Cleanup(second.Close)
	if _, err := second.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	log.wait(t, service+"/same: another server is published under this id, at "+first.Addrs()[0].String())
	client := find(t, store)
	until(t, client, "same")
	stop(t, first)
	until(t, client, "second")
}

func TestEmbeddedSplitsWhatIsLarge(t *testing.T) {
	store := serve(t, "127.0.0.1:0", registry.ServerConfig{})
	want := map[string]bool{}
	for part := range 24 {
		var records []string
		for i := range 100 {
			id := fmt.Sprintf("n%d-%d", part, i)
			want[id] = true
			records = append(records, strings.Replace(record(id), `"id"`, `"attributes":{"a":"`+strings.Repeat("x", 500)+`"},"id"`, 1))
		}
		if _, err := publishRaw(t, store.address, records...).Receive(); err != nil {
			t.Fatal(err)
		}
	}
	answers, err := watchMethod.Call(t.Context(), dial(t, store.address), &registryv1.WatchRequest{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		one, err := answers.Receive()
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, e := range one.Came {
			delete(want, e.Id)
			size += len(e.Record)
		}
		if len(one.Came) > 1000 || size > 256<<10 || one.Kind != registryv1.WatchAnswer_KIND_PARTIAL {
			t.Fatal(len(one.Came), size, one.Kind)
		}
		more = one.More
	}
	if len(want) > 0 {
		t.Error(len(want), "are missing")
	}
}

func TestEmbeddedRegistryMayGoAndComeBack(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	store := serve(t, "127.0.0.1:0", registry.ServerConfig{State: state})
	publish(t, store, "first")
	publish(t, store, "second")
	client := find(t, store)
	until(t, client, "first", "second")
	ended := calling(client)
	store.end()
	until(t, client, "first", "second")
	for _, content := range []string{"", "\x00 rubbish", "trunkcall registry 1\n" + record("half")} {
		if err := os.WriteFile(state, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var log logged
		store = serve(t, store.address, registry.ServerConfig{State: state, Logger: log.logger()})
		log.wait(t, state+":")
		until(t, find(t, store), "first", "second") // they have published again
		until(t, client, "first", "second")
		store.end()
	}
	// What the file has is known to new clients at once, while nobody can publish.
	third := publish(t, registry.NewFolder(t.TempDir()), "third")
	text := fmt.Sprintf("trunkcall registry 1\n%s\nend 1\n", strings.Replace(strings.Replace(record("x"), "127.0.0.1:9", third.Addrs()[0].String(), 1), service, "other.Names", 1))
	if err := os.WriteFile(state, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	store = serve(t, store.address, registry.ServerConfig{State: state})
	restored, err := trunkcall.NewClient("registry:other.Names", trunkcall.WithResolver("registry", registry.Resolver(store, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	until(t, restored, "third")
	if err := ended(); err != nil {
		t.Error(err)
	}
	until(t, client, "first", "second")
}

func TestThatTheRegistryIsAwayIsToldWithOneStatus(t *testing.T) {
	away, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := away.Addr().String()
	_ = away.Close()
	_, err = who.Call(t.Context(), find(t, registry.NewEmbedded(address)), wrapperspb.String(""))
	want := "UNAVAILABLE: resolver registry: watching " + service + ": cannot reach " + address + ": "
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "(not sent)") != 1 {
		t.Errorf("%v, want %s…", err, want)
	}
}

func TestEmbeddedStateThatCannotBeIsRefused(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, pipe, filepath.Join(folder, "none", "state")} {
		if _, err := registry.NewServer(registry.ServerConfig{State: path}); err == nil || !strings.Contains(err.Error(), path) ||
			strings.Contains(path, "none") && !strings.HasSuffix(err.Error(), path+": its folder is not there") {
			t.Error(path, err)
		}
	}
	if _, err := registry.NewServer(registry.ServerConfig{Lease: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "a lease of 1ms") {
		t.Error(err)
	}
}

// hostile is a registry that answers as a test says.
func hostile(t *testing.T, answers func(send func(*registryv1.WatchAnswer) error) error) *registry.Embedded {
	t.Helper()
	server, err := trunkcall.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Register(watchMethod.Handler(func(ctx context.Context, _ *registryv1.WatchRequest, to *trunkcall.Sender[registryv1.WatchAnswer]) error {
		if err := answers(to.Send); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}), publishMethod.Handler(func(_ context.Context, s *trunkcall.BidiStream[registryv1.PublishAnswer, registryv1.PublishRequest]) error {
		return s.Send(&registryv1.PublishAnswer{LeaseMs: 1})
	}))
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return registry.NewEmbedded(address.String())
}

func TestHostileRegistryIsAFailure(t *testing.T) {
	all, change := registryv1.WatchAnswer_KIND_ALL, registryv1.WatchAnswer_KIND_CHANGE
	many := func(kind registryv1.WatchAnswer_Kind) func(send func(*registryv1.WatchAnswer) error) error {
		return func(send func(*registryv1.WatchAnswer) error) error {
			if kind == change {
				if err := send(&registryv1.WatchAnswer{Kind: all}); err != nil {
					return err
				}
			}
			for n := range 101 {
				one := &registryv1.WatchAnswer{Kind: kind, More: true}
				for i := range 1000 {
					one.Came = append(one.Came, &registryv1.Entry{Id: fmt.Sprintf("n%d", 1000*n+i), Record: []byte("{}")})
				}
				if err := send(one); err != nil {
					return nil // the client has had enough
				}
			}
			return nil
		}
	}
	one := func(answers ...*registryv1.WatchAnswer) func(send func(*registryv1.WatchAnswer) error) error {
		return func(send func(*registryv1.WatchAnswer) error) error {
			for _, a := range answers {
				if err := send(a); err != nil {
					return err
				}
			}
			return nil
		}
	}
	entry := func(id string, size int) []*registryv1.Entry {
		return []*registryv1.Entry{{Id: id, Record: make([]byte, size)}}
	}
	for words, answers := range map[string]func(func(*registryv1.WatchAnswer) error) error{
		"of kind 7":                      one(&registryv1.WatchAnswer{Kind: 7}),
		"a change ahead":                 one(&registryv1.WatchAnswer{Kind: change}),
		"a change between":               one(&registryv1.WatchAnswer{Kind: all, More: true}, &registryv1.WatchAnswer{Kind: change}),
		"a record of 16385":              one(&registryv1.WatchAnswer{Kind: all, Came: entry("a", 16_385)}),
		"an id of 3 bytes":               one(&registryv1.WatchAnswer{Kind: all, Came: entry("a/b", 1)}),
		"at most 100000 of 67108864":     many(change),
		"101000 entries of 202000 bytes": many(all),
	} {
		client := find(t, hostile(t, answers))
		for end := time.Now().Add(time.Minute); ; {
			_, err := who.Call(t.Context(), client, wrapperspb.String(""))
			if err != nil && strings.Contains(err.Error(), words) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %v", words, err)
			}
		}
	}
	var log logged
	registrar := registry.NewRegistrar(hostile(t, one()), registry.Published{Logger: log.logger()})
	server := newServer("x", registrar)
	t.Cleanup(server.Close)
	if _, err := server.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	log.wait(t, "a lease of 1ms: want 1s to 1h0m0s")
}
