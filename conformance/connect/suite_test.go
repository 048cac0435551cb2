// Package connect runs the public conformance suite of Connect against a
// Trunkcall server: Connect, gRPC and gRPC-Web, over HTTP/1.1 and HTTP/2, in the clear and over TLS.
package connect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asServer in the environment has the test's program be the server that the
// suite starts.
const asServer = "TRUNKCALL_CONFORMANCE_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// TestThePublicSuite fails for a case that fails and is not in known-failing.txt, and for
// one that is there and passes.
func TestThePublicSuite(t *testing.T) {
	runner := filepath.Join(t.TempDir(), "connectconformance")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", runner, "connectrpc.com/conformance/cmd/connectconformance")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := runSuite(t, runner)
	if again := raced(out); err != nil && len(again) > 0 {
		t.Logf("again, alone: %s", again)
		out, err = runSuite(t, runner, again...)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if len(out) > 0 {
		t.Logf("%s", out[max(0, len(out)-500):])
	}
}

// runSuite runs these cases, or all.
func runSuite(t *testing.T, runner string, cases ...string) ([]byte, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--mode", "server", "--conf", "features.yaml", "--known-failing", "@known-failing.txt", "--max-servers", "2", "--parallel", "8"}
	for _, name := range cases {
		args = append(args, "--run", name)
	}
	suite := exec.CommandContext(t.Context(), runner, append(args, "--", self)...)
	suite.Env = append(os.Environ(), asServer+"=1")
	return suite.CombinedOutput()
}

// raced returns the names of the cases that failed, if all are of the few that a client's own
// deadline may decide: it ends the reading of the very answer that the case is about, when
// that and the deadline come at the same moment, and the client reports the rest as missing. A
// fault of the server would not spare them the second time.
func raced(out []byte) (cases []string) {
	for line := range strings.Lines(string(out)) {
		name, failed := strings.CutPrefix(strings.TrimSpace(line), "FAILED: ")
		if !failed {
			continue
		}
		name = strings.TrimSuffix(name, ":")
		if !strings.HasPrefix(name, "Timeouts/") || len(cases) == mostRaced {
			return nil
		}
		cases = append(cases, name)
	}
	return cases
}

const mostRaced = 3
