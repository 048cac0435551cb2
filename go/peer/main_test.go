package peer

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// binary is the program as a file, for tests that need a process of its own.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "peer-go")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "peer-go")
	if out, err := exec.Command("go", "build", "-o", binary, "./peer-go").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// outcome is what a command left behind.
type outcome struct {
	status         int
	stdout, stderr string
}

// run carries out a command line within the test.
func run(args ...string) outcome {
	var stdout, stderr bytes.Buffer
	p := program{stdout: &stdout, stderr: &stderr, notify: func(chan<- os.Signal) {}}
	status := p.run(args)
	return outcome{status, stdout.String(), stderr.String()}
}

func (o outcome) want(t *testing.T, want outcome) {
	t.Helper()
	if o != want {
		t.Errorf("got  %+v\nwant %+v", o, want)
	}
}

// wantUsage expects a command to be turned down with one line of text that has
// the given words in it.
func (o outcome) wantUsage(t *testing.T, words string) {
	t.Helper()
	if o.status != exitUsage || o.stdout != "" || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, words) {
		t.Errorf("got %+v, want exit status 2 and one line with %q", o, words)
	}
}

func TestWrongCommandListsTheCommands(t *testing.T) {
	for _, args := range [][]string{{}, {"answer"}, {"--listen", "127.0.0.1:0"}} {
		got := run(args...)
		if got.status != exitUsage || got.stdout != "" || !strings.HasSuffix(got.stderr, usage) {
			t.Errorf("%q: got %+v", args, got)
		}
	}
}

func TestHelpIsNoError(t *testing.T) {
	run("help").want(t, outcome{stdout: usage})
	for command, words := range map[string][]string{
		"serve": {"-allow-cleartext", "listening HOST:PORT", "protobuf or protobuf-stock"},
		"call": {
			"-metadata", "\n  trunkcall.example.v1.UserService/GetUser\n", "/ImportUsers (client-streaming)\n",
			".BenchService/GetDictionary\n", "an array of requests",
		},
		"bench": {
			"-callers", "the asynchronous client API\n", "gzip or zstd", "reads (not there yet)\n", "codec: protobuf, protobuf-stock",
			"code-first methods take msgpack (their default) or json",
			"Say, Echo, EchoStream, Emit, GetDictionary, GetUser, GetUsers, calc/div or hello/say", "-tls-cert", "(default 1s)", "fell behind", "exit status",
		},
	} {
		got := run(command, "-h")
		if got.status != exitOK || got.stderr != "" {
			t.Errorf("%s -h: got %+v", command, got)
		}
		for _, w := range words {
			if !strings.Contains(got.stdout, w) {
				t.Errorf("%s -h lacks %q: %s", command, w, got.stdout)
			}
		}
		if strings.Contains(got.stdout, "connection for each call (not there yet)") {
			t.Errorf("%s -h says of a flag that it is not there: %s", command, got.stdout)
		}
	}
}

func TestVersionNamesWhatWasLinkedIn(t *testing.T) {
	out, err := exec.Command(binary, "version").CombinedOutput()
	if flag, _ := exec.Command(binary, "--version").CombinedOutput(); !bytes.Equal(flag, out) {
		t.Errorf("--version says %q, version %q", flag, out)
	}
	if err != nil || !strings.HasPrefix(string(out), "peer-go github.com/trunkcall/trunkcall/go ") ||
		!strings.Contains(string(out), " google.golang.org/protobuf v") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestTheEndsOfThePublicSuiteNeedItsMessages(t *testing.T) {
	for _, command := range []string{"connect-server", "connect-client"} {
		run(command).wantUsage(t, "--schema is needed")
		run(command, "--schema", "nofile").wantUsage(t, "--schema: open nofile: no such file")
		run(command, "--schema", "main.go").wantUsage(t, "main.go is no FileDescriptorSet")
		run(command, "--schema", os.DevNull).wantUsage(t, "not found")
		run(command, "more").wantUsage(t, `"more"`)
	}
}
