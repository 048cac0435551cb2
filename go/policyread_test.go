package trunkcall_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

const noPolicyFile = "want a file, not a folder or the like"

// pipe puts one that nobody writes to in the place of what is there.
func pipe(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAPolicyFileThatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "pipe")
	pipe(t, fifo)
	for _, path := range []string{fifo, t.TempDir(), "/dev/zero"} {
		_, err := trunkcall.NewClient("mem:nowhere", trunkcall.WithPolicyFile(path))
		if err == nil || !strings.Contains(err.Error(), "policy file "+path+": "+noPolicyFile) {
			t.Errorf("client: %v", err)
		}
		if _, err := trunkcall.NewServer(trunkcall.WithPolicyFile(path)); err == nil || !strings.Contains(err.Error(), noPolicyFile) {
			t.Errorf("server: %v", err)
		}
	}
}

func TestAPolicyFileThatIsNotTakenIsToldWithoutALoggerToo(t *testing.T) {
	var log logged
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	governed(t, "defaults:\n  retries: none\n", &repeatedly{answer: succeeds}, func(t *testing.T, _ *trunkcall.Client, path string) {
		exchangeFile(t, path, "defaults:\n  retrys: none\n")
		time.Sleep(5 * time.Second)
	})
	if !log.has("level=WARN", "policy file not taken", "defaults.retrys: unknown field") {
		t.Error("it was not told")
	}
}

func TestOfAHugePolicyFileLittleIsRead(t *testing.T) {
	path := policyFile(t, "")
	if err := os.Truncate(path, 256<<20); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := trunkcall.NewClient("mem:nowhere", trunkcall.WithPolicyFile(path))
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "the file has more than 1048576 bytes") {
		t.Error(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// A pipe in the place of a file that is watched is told, and the good file that comes then is taken.
func TestAWatchedPolicyFileMayBecomeAPipe(t *testing.T) {
	var mu sync.Mutex
	var told []string
	tell := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	}
	observer := trunkcall.Observer{
		PolicyTaken:   func(string) { tell("taken") },
		PolicyRefused: func(_ string, err error) { tell(err.Error()) },
	}
	a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
	governed(t, "defaults:\n  retries: none\n", a, func(t *testing.T, _ *trunkcall.Client, path string) {
		pipe(t, path)
		time.Sleep(5 * time.Second)
		exchangeFile(t, path, "defaults:\n  timeout: 1s\n")
		time.Sleep(5 * time.Second)
	}, trunkcall.WithObserver(observer))
	if want := []string{noPolicyFile, "taken"}; !slices.Equal(told, want) {
		t.Errorf("observers were told %q, want %q", told, want)
	}
}
