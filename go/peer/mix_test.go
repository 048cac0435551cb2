package peer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type ledgerLine struct {
	Event, Call, Execution, Method, Outcome, Code, Delivery, Message string
	At, Deadline                                                     int64
	Cancelled                                                        bool
}

// readLedger returns the lines of a ledger.
func readLedger(t *testing.T, path string) (lines []ledgerLine) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	for decoder.More() {
		var line ledgerLine
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// ledgers has bench make calls to a server, both with a ledger.
func ledgers(t *testing.T, flags ...string) (client, server []ledgerLine) {
	t.Helper()
	dir := t.TempDir()
	here, there := filepath.Join(dir, "client"), filepath.Join(dir, "server")
	served := serve(t, "--listen", "127.0.0.1:0", "--faults", "--ledger", there)
	got := run(append([]string{"bench", "--target", served.address, "--ledger", here}, flags...)...)
	if got.status != exitOK || got.stderr != "" || !strings.HasPrefix(got.stdout, `{"calls":`) {
		t.Fatalf("got %+v", got)
	}
	// A handler whose caller has given up may end after the server has stopped.
	server = readLedger(t, there)
	for late := time.Now().Add(10 * time.Second); len(server)%2 != 0 && time.Now().Before(late); server = readLedger(t, there) {
		time.Sleep(10 * time.Millisecond)
	}
	return readLedger(t, here), server
}

func TestLedgersTellOfEachCallAndItsExecution(t *testing.T) {
	for method := range mixedCalls {
		client, server := ledgers(t, "--calls", "2", "--mix", method, "--behaviour", `{"answers":2}`, "--timeout", "10s")
		if len(client) != 4 || len(server) != 4 {
			t.Fatalf("%s: client %+v, server %+v", method, client, server)
		}
		for i := range 2 {
			begin, end, enter, leave := client[2*i], client[2*i+1], server[2*i], server[2*i+1]
			switch {
			case begin.Event != "begin" || end.Event != "end" || enter.Event != "begin" || leave.Event != "end",
				begin.Call == "" || begin.Call != end.Call || begin.Call != enter.Call || begin.Call != leave.Call,
				enter.Execution == "" || enter.Execution != leave.Execution,
				!strings.HasSuffix(begin.Method, "/"+method) || begin.Method != enter.Method,
				begin.Deadline-begin.At < 9e9 || begin.Deadline-begin.At > 10e9 || enter.Deadline-begin.Deadline < -5e9,
				end.Code != "OK" || end.Delivery != "executed" || leave.Outcome != "returned" || leave.Code != "OK",
				begin.At == 0 || begin.At > enter.At || enter.At > leave.At || leave.At > end.At:
				t.Errorf("%s: client %+v %+v, server %+v %+v", method, begin, end, enter, leave)
			}
		}
		if client[0].Call == client[2].Call {
			t.Errorf("%s: two calls are %s", method, client[0].Call)
		}
	}
}

func TestLedgersTellHowCallsFail(t *testing.T) {
	client, server := ledgers(t, "--calls", "1", "--mix", "Behave", "--behaviour", `{"code":9,"message":"no"}`)
	if end := client[1]; end.Code != "FAILED_PRECONDITION" || end.Delivery != "executed" || end.Message != "no" || client[0].Deadline != 0 {
		t.Errorf("failing: %+v", client)
	}
	if leave := server[1]; leave.Outcome != "returned" || leave.Code != "FAILED_PRECONDITION" || leave.Cancelled {
		t.Errorf("failing: %+v", leave)
	}

	client, server = ledgers(t, "--calls", "1", "--mix", "Pour", "--behaviour", `{"waitMs":60000}`, "--timeout", "50ms")
	if end := client[1]; end.Code != "DEADLINE_EXCEEDED" || end.Delivery != "unknown" {
		t.Errorf("out of time: %+v", end)
	}
	if len(server) > 0 && (!server[1].Cancelled || server[1].Code != "DEADLINE_EXCEEDED") { // else it came too late to be run
		t.Errorf("out of time: %+v", server)
	}

	client, server = ledgers(t, "--calls", "1", "--mix", "Exchange", "--behaviour", `{"waitMs":60000}`,
		"--cancel-share", "1", "--cancel-after", "50ms")
	if len(client) != 3 || client[1].Event != "cancel" || client[2].Code != "CANCELLED" || client[2].At < client[1].At {
		t.Errorf("given up: %+v", client)
	}
	if len(server) > 0 && !server[1].Cancelled {
		t.Errorf("given up: %+v", server)
	}
}

func TestLedgersTellOfPanics(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "server")
	served := serve(t, "--listen", "127.0.0.1:0", "--faults", "--ledger", there)
	got := run("bench", "--target", served.address, "--calls", "1", "--ledger", filepath.Join(dir, "client"),
		"--mix", "Behave", "--behaviour", `{"panics":true,"message":"a secret"}`)
	served.wantLog(t, "panicked")
	lines := readLedger(t, there)
	if len(lines) != 2 || lines[1].Outcome != "panicked" || lines[1].Code != "" {
		t.Errorf("server: %+v", lines)
	}
	lines = readLedger(t, filepath.Join(dir, "client"))
	if end := lines[1]; end.Code != "INTERNAL" || end.Delivery != "executed" || strings.Contains(end.Message, "secret") {
		t.Errorf("client: %+v, printed %+v", end, got)
	}
}

// A client of its own for each call, none of which can connect.
func TestMixedLoadGoesOnWithoutAServer(t *testing.T) {
	dir := t.TempDir()
	got := run("bench", "--target", "127.0.0.1:1", "--connection-per-call", "--calls", "3", "--ledger", filepath.Join(dir, "client"))
	lines := readLedger(t, filepath.Join(dir, "client"))
	if got.status != exitOK || !strings.HasPrefix(got.stdout, `{"calls":3,"errors":3,`) || len(lines) != 6 {
		t.Fatalf("got %+v, %+v", got, lines)
	}
	if end := lines[5]; end.Code != "UNAVAILABLE" || end.Delivery != "not_sent" {
		t.Errorf("ended %+v", end)
	}
}

func TestMixTurnsDownWhatCannotBe(t *testing.T) {
	served := serve(t, "--listen", "127.0.0.1:0")
	for words, flags := range map[string][]string{
		"--mix Nothing":      {"--mix", "Say,Nothing"},
		"--mix Say=0":        {"--mix", "Say=0"},
		"--mix EchoStream":   {"--method", "EchoStream", "--timeout", "1s"},
		"--behaviour":        {"--mix", "Say", "--behaviour", "{"},
		"--cancel-share":     {"--cancel-share", "1.5"},
		"want a time such":   {"--timeout", "5ms-1ms"},
		"want two times":     {"--keepalive", "20s"},
		"\"x\" for flag -ca": {"--cancel-share", "x"},
	} {
		run(append([]string{"bench", "--target", served.address}, flags...)...).wantUsage(t, words)
	}
}
