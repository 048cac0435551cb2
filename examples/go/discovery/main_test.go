package main

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"
)

func TestServersComeAndGoAndNoCallFails(t *testing.T) {
	folder := "file:" + t.TempDir()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	defer func() { os.Stdout = stdout }()
	printed := bufio.NewScanner(read)
	expect := func(beginnings ...string) {
		t.Helper()
		for _, beginning := range beginnings {
			if !printed.Scan() || !strings.HasPrefix(printed.Text(), beginning) {
				t.Fatalf("printed %q, want %s…", printed.Text(), beginning)
			}
		}
	}
	// start runs something until stop is called, which returns what it returned.
	start := func(run func(context.Context) error) (stop func()) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- run(ctx) }()
		return func() {
			t.Helper()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	server := func(name string) func(context.Context) error {
		return func(ctx context.Context) error { return serve(ctx, folder, name, "127.0.0.1:0") }
	}
	stopFirst := start(server("first"))
	expect("first serves 127.0.0.1:")
	stopClient := start(func(ctx context.Context) error { return call(ctx, folder) })
	expect("found first")
	stopSecond := start(server("second"))
	expect("second serves 127.0.0.1:", "found second")
	stopFirst()
	expect("first answered ")
	stopClient()
	expect("first answered ", "second answered ", "0 calls failed")
	stopSecond()
	expect("second answered ")
}

func TestACallerThatIsStoppedBeforeAServerIsFoundEndsWell(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := call(ctx, "file:"+t.TempDir()); err != nil {
		t.Error(err)
	}
}
