// Package connect runs the public conformance suite of Connect against a
// Trunkcall server: Connect, gRPC and gRPC-Web, over HTTP/1.1 and HTTP/2, in the clear and over TLS.
package connect

import (
	"os"
	"os/exec"
	"path/filepath"
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suite := exec.CommandContext(t.Context(), runner, "--mode", "server", "--conf", "features.yaml",
		"--known-failing", "@known-failing.txt", "--max-servers", "2", "--parallel", "8", "--", self)
	suite.Env = append(os.Environ(), asServer+"=1")
	out, err := suite.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if len(out) > 0 {
		t.Logf("%s", out[max(0, len(out)-500):])
	}
}
