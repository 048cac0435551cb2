package publicsuite

import (
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestAServerThatHasNotBeenAskedEndsWithASignal(t *testing.T) {
	in, asker := io.Pipe() // that nothing comes through
	defer func() { _ = asker.Close() }()
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	signals <- syscall.SIGTERM
	go func() { ended <- Serve(in, io.Discard, signals) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for its request")
	}
}
