package trunkcall_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
)

// What needs a process of its own: a limit that holds for all of it, or its
// being stopped.

func inChild(t *testing.T) {
	t.Helper()
	if os.Getenv(childVariable) != t.Name() {
		t.Skip("runs in a process of its own")
	}
}

func TestAServerOutOfDescriptorsGoesOnAndRecovers(t *testing.T) {
	out, err := child(t, "TestOutOfDescriptors").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// countingListener counts the attempts to accept.
type countingListener struct {
	net.Listener
	attempts atomic.Int32
}

func (l *countingListener) Accept() (net.Conn, error) {
	s, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		l.attempts.Add(1)
	}
	return s, err
}

func TestOutOfDescriptors(t *testing.T) {
	inChild(t)
	g := newGate(t)
	log := &logged{}
	s := newServer(t, log.option())
	defer s.Close()
	if err := s.Register(append(standard(), g.handler())...); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &countingListener{Listener: socket}
	if err := s.Start(listener); err != nil {
		t.Fatal(err)
	}
	c := dial(t, socket.Addr().String())
	ended := make(chan error, 1)
	go func() {
		_, err := block.Call(soon(t), c, text("running"))
		ended <- err
	}()
	g.await(t)
	newcomer, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The first record of a log opens a file for a moment, to know the time zone.
	eventually(t, "the log has begun", func() bool { return log.has("msg=listening") })
	restore := exhaust(t)
	began := time.Now()
	port := socket.Addr().(*net.TCPAddr).Port
	if err := syscall.Connect(newcomer, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the log says so", func() bool { return log.has("no connections can be accepted") })
	mustEcho(t, c, "calls go on")
	g.open()
	if err := receive(t, ended, "answer"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "accepting is tried again", func() bool { return listener.attempts.Load() >= 4 })
	// Pauses of 5 ms and more, doubling, lie between the attempts: no busy loop.
	attempts := listener.attempts.Load()
	if least := 5 * time.Millisecond * (1<<min(attempts-1, 7) - 1); time.Since(began) < least {
		t.Errorf("%d attempts in %v", attempts, time.Since(began))
	}
	restore()
	eventually(t, "connections are accepted again", func() bool { return log.has("connections are accepted again") })
	if _, err := syscall.Write(newcomer, rawframe.Preface()); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 16)
	if n, err := syscall.Read(newcomer, b); err != nil || n < 4 || string(b[:4]) != string(rawframe.Preface()[:4]) {
		t.Fatalf("%v: % x", err, b[:max(n, 0)])
	}
	_ = syscall.Close(newcomer)
	if n := log.count("no connections can be accepted"); n != 1 {
		t.Errorf("the log says so %d times", n)
	}
}

// exhaust leaves the process without a free descriptor until restore.
func exhaust(t *testing.T) (restore func()) {
	t.Helper()
	next, err := syscall.Dup(1)
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Close(next)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(next) // the lowest that is free
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	return func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) }
}

var countRuns = trunkcall.Unary[payload, payload]("/test.Service/CountRuns")

// TestServerInAChild serves Echo and CountRuns, which tells how often Echo ran,
// until its standard input ends.
func TestServerInAChild(t *testing.T) {
	inChild(t)
	var runs atomic.Uint32
	_, target := serve(t, nil,
		echo.Handler(func(_ context.Context, in *payload) (*payload, error) { runs.Add(1); return in, nil }),
		countRuns.Handler(func(context.Context, *payload) (*payload, error) {
			return &payload{Data: binary.LittleEndian.AppendUint32(nil, runs.Load())}, nil
		}))
	fmt.Println("listening", target)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// A server that is stopped for longer than its clients wait.
func TestWorkThatExpiredWhileTheServerWasStoppedNeverStarts(t *testing.T) {
	cmd := child(t, "TestServerInAChild")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	target := ""
	lines := bufio.NewScanner(out)
	for target == "" && lines.Scan() {
		target, _ = strings.CutPrefix(lines.Text(), "listening ")
		if target == lines.Text() {
			target = ""
		}
	}
	c := dial(t, target)
	const before, stopped = 10, 50 // what a socket holds
	for range before {
		mustEcho(t, c, "x")
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is stopped", func() bool {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", cmd.Process.Pid))
		return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(task string) bool {
			stat, err := os.ReadFile(task)
			return err != nil || !strings.Contains(string(stat), ") T ")
		})
	})
	ended := make(chan error, stopped)
	for range stopped {
		go func() {
			ctx, cancel := within(100 * time.Millisecond)
			defer cancel()
			_, err := echo.Call(ctx, c, &payload{Data: make([]byte, 1000)})
			ended <- err
		}()
	}
	sent := int64(0)
	for range stopped {
		s := trunkcall.StatusOf(receive(t, ended, "status"))
		if s.Code != trunkcall.DeadlineExceeded || s.Delivery == trunkcall.Executed {
			t.Fatal(s)
		}
		if s.Delivery != trunkcall.NotSent { // as when the machine gave its caller no time
			sent++
		}
	}
	// Of a CANCEL that still waits at the client nothing could be promised.
	const size = 16 + 1003 + 16 // CALL, message, CANCEL
	eventually(t, "all that the callers sent lies in the socket", func() bool { return unreadBytes(t, target) == sent*size })
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		answer, err := countRuns.Call(soon(t), c, text(""))
		if err != nil {
			t.Fatal(err)
		}
		if n := binary.LittleEndian.Uint32(answer.Data); n != before {
			t.Fatalf("%d calls ran whose callers had gone", n-before)
		}
	}
}

// unreadBytes is what lies in the sockets of a listening address that were
// accepted.
func unreadBytes(t *testing.T, target string) (n int64) {
	t.Helper()
	_, port, _ := net.SplitHostPort(target)
	number, _ := strconv.Atoi(port)
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(table), "\n") {
		// sl, local address, remote address, state (01: established), queues
		f := strings.Fields(line)
		if len(f) > 4 && f[3] == "01" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", number)) {
			_, received, _ := strings.Cut(f[4], ":")
			queued, _ := strconv.ParseInt(received, 16, 64)
			n += queued
		}
	}
	return n
}
