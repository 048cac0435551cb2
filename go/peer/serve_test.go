package peer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

const user7 = `{"name":"user-7","email":"user-7@example.com"}` + "\n"

// lockedBuffer takes what a server logs while a test may read it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// served is the serve command running within a test.
type served struct {
	address string
	log     *lockedBuffer
	stop    func() // signals it and waits for its end, after which the log is whole
}

// serve runs the serve command until stop or the end of the test.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{log: &lockedBuffer{}}
	reader, stdout := io.Pipe()
	var signals chan<- os.Signal
	p := program{stdout: stdout, stderr: s.log, notify: func(c chan<- os.Signal) { signals = c }}
	ended := make(chan int, 1)
	go func() {
		status := p.run(append([]string{"serve"}, args...))
		stdout.Close()
		ended <- status
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	var announced bool
	s.address, announced = strings.CutPrefix(strings.TrimSuffix(line, "\n"), "listening ")
	if err != nil || !announced {
		t.Fatalf("serve %q announced %q, %v; it logged: %s", args, line, err, s.log)
	}
	s.stop = sync.OnceFunc(func() {
		signals <- syscall.SIGTERM
		if status := <-ended; status != exitOK {
			t.Errorf("serve %q ended with %d; it logged: %s", args, status, s.log)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// wantLog expects the server to have logged one line, with the given words in
// it, or nothing for none; it stops the server.
func (s *served) wantLog(t *testing.T, words string) {
	t.Helper()
	s.stop()
	if got := s.log.String(); words == "" && got != "" || words != "" && (strings.Count(got, "\n") != 1 || !strings.Contains(got, words)) {
		t.Errorf("the server logged %q, want one line with %q", got, words)
	}
}

func TestServesOnAFreePort(t *testing.T) {
	server := serve(t, "--listen", "127.0.0.1:0")
	if _, port, err := net.SplitHostPort(server.address); err != nil || port == "0" {
		t.Errorf("announced %q, %v", server.address, err)
	}
	getUser7(server.address).want(t, outcome{stdout: user7})
	server.wantLog(t, "")
}

func TestServesOnAUnixSocketToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server := serve(t, "--listen", "127.0.0.1:0", "--unix", path)
	for _, target := range []string{server.address, "unix:" + path} {
		getUser7(target).want(t, outcome{stdout: user7})
	}
	server.wantLog(t, "address=unix:"+path)
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestServeFailsIfItCannotSayWhereItListens(t *testing.T) {
	log := &lockedBuffer{}
	p := program{stdout: fullDisk{}, stderr: log, notify: func(chan<- os.Signal) {}}
	if status := p.run([]string{"serve", "--listen", "127.0.0.1:0"}); status != exitFailed || !strings.Contains(log.String(), "no space left") {
		t.Errorf("exit status %d; it logged: %s", status, log)
	}
}

func TestServesOnAUnixSocketOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	server := serve(t, "--unix", path)
	if server.address != "unix:"+path {
		t.Fatalf("announced %q", server.address)
	}
	getUser7(server.address).want(t, outcome{stdout: user7})
	server.wantLog(t, "")
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestServeTurnsDownWhatItCannotDo(t *testing.T) {
	tcp := func(more ...string) []string { return append([]string{"serve", "--listen", "127.0.0.1:0"}, more...) }
	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"serve"}, "--listen or --unix is needed"},
		{[]string{"serve", "--listen", "127.0.0.1"}, "want HOST:PORT"},
		{tcp("more"), `"more"`},
		{tcp("--port", "1"), "-port"},
		{tcp("--inline", "--codec", "protobuf-stock"), "--inline needs --codec protobuf"},
		{tcp("--codec", "json"), "--codec json: want protobuf or protobuf-stock"},
		{tcp("--tls-cert", "x"), "--tls-key"},
		{tcp("--allow-cleartext"), "--tls-cert"},
		{tcp("--tls-client-ca", "x"), "--tls-cert"},
		{tcp("--tls-cert", "nofile", "--tls-key", "nofile"), "nofile: no such file"},
	} {
		run(c.args...).wantUsage(t, c.words)
	}
}

func TestServeNamesTheAddressThatIsTaken(t *testing.T) {
	taken := serve(t, "--listen", "127.0.0.1:0").address
	got := run("serve", "--listen", taken)
	if got.status != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, taken) || !strings.Contains(got.stderr, "in use") {
		t.Errorf("got %+v", got)
	}
}

// process is the serve command as a process, with a bidirectional call that is
// running there.
type process struct {
	command *exec.Cmd
	address string
	log     *bufio.Reader
	call    *trunkcall.BidiStream[examplev1.GetUserRequest, examplev1.GetUserResponse]
}

func startProcess(t *testing.T) *process {
	t.Helper()
	command := exec.Command(binary, "serve", "--listen", "127.0.0.1:0")
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p := &process{command: command, log: bufio.NewReader(stderr), address: strings.TrimSpace(strings.TrimPrefix(line, "listening "))}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	client, err := trunkcall.Dial(ctx, p.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if p.call, err = watchUsers.Open(ctx, client); err != nil {
		t.Fatal(err)
	}
	p.watch(t)
	return p
}

// watch makes sure that the call is running by an exchange of messages.
func (p *process) watch(t *testing.T) {
	t.Helper()
	if err := p.call.Send(&examplev1.GetUserRequest{UserId: 7}); err != nil {
		t.Fatal(err)
	}
	if got, err := p.call.Receive(); err != nil || got.GetName() != "user-7" {
		t.Fatalf("got %v, %v", got, err)
	}
}

// signal ends the process and returns once it has stopped listening.
func (p *process) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	for {
		probe, err := net.Dial("tcp", p.address)
		if err != nil {
			return
		}
		probe.Close()
	}
}

// waitLog reads the log up to a line that has all the given words in it.
func (p *process) waitLog(t *testing.T, words ...string) {
	t.Helper()
	for {
		line, err := p.log.ReadString('\n')
		if err != nil {
			t.Fatalf("no line of the log has %q: %v", words, err)
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return
		}
	}
}

func TestSignalDrains(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			p := startProcess(t)
			p.signal(t, signal)
			p.waitLog(t, "calls that still run", "calls=1")
			p.watch(t)
			if err := p.call.CloseSend(); err != nil {
				t.Fatal(err)
			}
			if got, err := p.call.Receive(); !errors.Is(err, io.EOF) {
				t.Errorf("got %v, %v, want the end of a call that succeeded", got, err)
			}
			if err := p.command.Wait(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	p := startProcess(t)
	p.signal(t, syscall.SIGTERM)
	p.waitLog(t, "calls that still run")
	p.signal(t, syscall.SIGTERM)
	_, err := p.call.Receive()
	if got := trunkcall.StatusOf(err); got.Code != trunkcall.Unavailable || got.Delivery != trunkcall.DeliveryUnknown {
		t.Errorf("the call ended with %v", err)
	}
	var exit *exec.ExitError
	if err := p.command.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("the server ended with %v", err)
	}
}

// As by timeout(1), which signals its child and then the whole group.
func TestASignalPassedOnTwiceIsOne(t *testing.T) {
	p := startProcess(t)
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCONT} { // so that both come at once
		if err := p.command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	p.waitLog(t, "calls that still run", "calls=1")
	p.watch(t)
	if err := p.call.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := p.command.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
