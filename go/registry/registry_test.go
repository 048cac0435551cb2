package registry_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/registry"
)

var who = trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue]("/test.Names/Who")

const service = "test.Names"

// serveIn has the test binary be a server that is published in the registry of that name.
const serveIn = "TRUNKCALL_TEST_SERVE_IN"

func TestMain(m *testing.M) {
	if name := os.Getenv(serveIn); name != "" {
		serveProcess(name)
		return
	}
	goleak.VerifyTestMain(m)
}

func serveProcess(name string) {
	store, err := registry.OpenStore(name)
	if err != nil {
		panic(err)
	}
	registrar := registry.NewRegistrar(store, registry.Published{})
	server := newServer(fmt.Sprint(os.Getpid()), registrar)
	if _, err := server.Listen("127.0.0.1:0"); err != nil {
		panic(err)
	}
	if err := registrar.Wait(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println("published")
	select {} // until it is killed
}

func newServer(name string, registrar trunkcall.Registrar) *trunkcall.Server {
	server, err := trunkcall.NewServer(trunkcall.WithRegistrar(registrar))
	if err != nil {
		panic(err)
	}
	server.Register(who.Handler(func(context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		return wrapperspb.String(name), nil
	}))
	return server
}

// publish starts a server of this process.
func publish(t *testing.T, store registry.Store, name string) *trunkcall.Server {
	t.Helper()
	registrar := registry.NewRegistrar(store, registry.Published{ID: name})
	server := newServer(name, registrar)
	t.Cleanup(server.Close)
	if _, err := server.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := registrar.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return server
}

func start(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), serveIn+"="+name)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "published\n" {
		t.Fatal(line, err)
	}
	return process
}

func find(t *testing.T, source registry.Source) *trunkcall.Client {
	t.Helper()
	client, err := trunkcall.NewClient("registry:"+service, trunkcall.WithResolver("registry", registry.Resolver(source, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func call(client *trunkcall.Client) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := who.Call(ctx, client, wrapperspb.String(""), trunkcall.WaitForReady())
	if err != nil {
		return "", err
	}
	return out.Value, nil
}

// until calls until all of those have answered, and nobody else since the last of them first did.
func until(t *testing.T, client *trunkcall.Client, names ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		answered := map[string]bool{}
		for range 4 * len(names) {
			name, err := call(client)
			if trunkcall.StatusOf(err).Delivery == trunkcall.DeliveryUnknown && err != nil {
				continue // a process was killed that had it
			} else if err != nil {
				t.Fatal(err)
			}
			answered[name] = true
		}
		all := len(answered) == len(names)
		for _, name := range names {
			all = all && answered[name]
		}
		if all {
			return
		}
		time.Sleep(5 * time.Millisecond) // it is asked again, not relied on
	}
	t.Fatalf("not answered by %v alone", names)
}

// calling makes calls all the time. The returned function ends that, and says what failed.
func calling(client *trunkcall.Client) func() error {
	var over atomic.Bool
	var callers sync.WaitGroup
	var failed atomic.Pointer[error]
	for range 4 {
		callers.Go(func() {
			for !over.Load() {
				if _, err := call(client); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	return func() error {
		over.Store(true)
		callers.Wait()
		if err := failed.Load(); err != nil {
			return *err
		}
		return nil
	}
}

func stop(t *testing.T, server *trunkcall.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := server.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func TestServersComeAndGoWhileCallsGoOn(t *testing.T) {
	folder := t.TempDir()
	store, err := registry.OpenStore("file:" + folder)
	if err != nil {
		t.Fatal(err)
	}
	client := find(t, store)
	first := publish(t, store, "first")
	until(t, client, "first")
	ended := calling(client)
	second := publish(t, store, "second")
	until(t, client, "first", "second")
	stop(t, first)
	until(t, client, "second")
	first = publish(t, store, "first") // at another port, under its name
	until(t, client, "first", "second")
	stop(t, second)
	until(t, client, "first")
	if err := ended(); err != nil {
		t.Error(err)
	}
	stop(t, first)
	if left, err := filepath.Glob(filepath.Join(folder, "*", "*")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

func TestEmptiedAndSpoiltRegistryChangesNothing(t *testing.T) {
	folder := t.TempDir()
	store := registry.NewFolder(folder)
	publish(t, store, "first")
	publish(t, store, "second")
	client := find(t, store)
	until(t, client, "first", "second")
	ended := calling(client)
	for _, name := range []string{"first", "second"} {
		if err := os.WriteFile(filepath.Join(folder, service, name+".json"), []byte(`{"addresses":["127.0.`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	until(t, client, "first", "second")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // so that it is noticed; what is tested holds if not
	until(t, client, "first", "second")
	if err := ended(); err != nil {
		t.Error(err)
	}
	if len(client.Endpoints()) != 2 {
		t.Error(client.Endpoints())
	}
}

func TestKilledProcessesAreReplaced(t *testing.T) {
	name := "file:" + t.TempDir()
	store, err := registry.OpenStore(name)
	if err != nil {
		t.Fatal(err)
	}
	client := find(t, store)
	first := start(t, name)
	until(t, client, fmt.Sprint(first.Process.Pid))
	second := start(t, name)
	until(t, client, fmt.Sprint(first.Process.Pid), fmt.Sprint(second.Process.Pid))
	if err := first.Process.Kill(); err != nil { // its file stays
		t.Fatal(err)
	}
	_ = first.Wait()
	until(t, client, fmt.Sprint(second.Process.Pid))
	third := start(t, name)
	until(t, client, fmt.Sprint(second.Process.Pid), fmt.Sprint(third.Process.Pid))
}

func TestNoInstanceIsSaid(t *testing.T) {
	client := find(t, registry.NewFolder(t.TempDir()))
	_, err := who.Call(t.Context(), client, wrapperspb.String(""))
	if trunkcall.StatusOf(err).Code != trunkcall.Unavailable || !strings.Contains(err.Error(), "resolver registry: no instance of test.Names is registered") {
		t.Error(err)
	}
	none := find(t, registry.NewFolder(filepath.Join(t.TempDir(), "none")))
	if _, err := who.Call(t.Context(), none, wrapperspb.String("")); trunkcall.StatusOf(err).Code != trunkcall.Unavailable || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

func TestTargetThatIsNoNameIsRefused(t *testing.T) {
	client, err := trunkcall.NewClient("registry:../x", trunkcall.WithResolver("registry", registry.Resolver(registry.NewFolder("/"), nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := who.Call(t.Context(), client, wrapperspb.String("")); err == nil || !strings.Contains(err.Error(), "service: want a name of 1 to 200") {
		t.Error(err)
	}
}

func TestWhatCannotBePublishedFailsListen(t *testing.T) {
	server := newServer("x", registry.NewRegistrar(registry.NewFolder(t.TempDir()), registry.Published{}))
	defer server.Close()
	if _, err := server.Listen("0.0.0.0:0"); err == nil || !strings.Contains(err.Error(), "say by which one it is reached") {
		t.Error(err)
	}
	if addresses := server.Addrs(); len(addresses) > 0 {
		t.Error("still listened on:", addresses)
	}
	if _, err := server.Listen("127.0.0.1:0"); err != nil {
		t.Error(err)
	}
}

func TestServerServesWhileRegistryIsAway(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "later")
	registrar := registry.NewRegistrar(registry.NewFolder(folder), registry.Published{})
	server := newServer("x", registrar)
	defer server.Close()
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkcall.Dial(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	until(t, client, "x")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := registrar.Wait(ctx); err != nil {
		t.Error(err)
	}
}

func TestSRVFindsServers(t *testing.T) {
	server, err := trunkcall.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.Register(who.Handler(func(context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		return wrapperspb.String("found"), nil
	}))
	if _, err := server.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	asked := nameServer(t, "_test-Names._tcp.example.com.", "localhost.", uint16(server.Port()))
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", asked)
	}}
	until(t, find(t, registry.NewSRV("example.com", r)), "found")
	none := find(t, registry.NewSRV("example.net", r))
	if _, err := who.Call(t.Context(), none, wrapperspb.String("")); err == nil || !strings.Contains(err.Error(), "no instance of test.Names is registered") {
		t.Error(err)
	}
}

// nameServer answers one question of DNS, and says of all others that there is no such name.
func nameServer(t *testing.T, question, target string, port uint16) string {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	t.Cleanup(func() {
		socket.Close()
		<-over
	})
	go func() {
		defer close(over)
		buffer := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			var m dnsmessage.Message
			if err != nil || m.Unpack(buffer[:n]) != nil {
				continue
			}
			m.Response, m.RCode, m.Additionals = true, dnsmessage.RCodeNameError, nil
			if m.Questions[0].Name.String() == question {
				m.RCode = dnsmessage.RCodeSuccess
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: dnsmessage.TypeSRV, Class: dnsmessage.ClassINET},
					Body:   &dnsmessage.SRVResource{Target: dnsmessage.MustNewName(target), Port: port},
				}}
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = socket.WriteTo(answer, from)
			}
		}
	}()
	return socket.LocalAddr().String()
}

// What is registered while a server listens is published beside what is, which stays (spec/registry.md 5.4).
func TestServicesThatComeLaterAreFoundToo(t *testing.T) {
	folder := t.TempDir()
	registrar := registry.NewRegistrar(registry.NewFolder(folder), registry.Published{ID: "one"})
	server := newServer("x", registrar)
	defer server.Close()
	if _, err := server.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := registrar.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(folder, service, "one.lease"))
	if err != nil {
		t.Fatal(err)
	}
	const later = "test.Later"
	err = server.Register(trunkcall.Handler{
		Method: trunkcall.Method{Name: "/" + later + "/M"}, Unary: func(context.Context, *trunkcall.ServerCall) (any, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err = os.Stat(filepath.Join(folder, later, "one.lease")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if after, err := os.Stat(filepath.Join(folder, service, "one.lease")); err != nil || !os.SameFile(before, after) {
		t.Error("what stays as it is was published anew", err)
	}
}
