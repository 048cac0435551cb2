package consul

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/registry"
)

func TestARecordIsInPiecesOfWholeCharacters(t *testing.T) {
	for _, text := range []string{"", "{}", strings.Repeat("a", 512), strings.Repeat("a", 513), strings.Repeat("ä", 300), "a" + strings.Repeat("€", 5000), "\xff\xfe" + strings.Repeat("\x80", 2000)} {
		found := pieces([]byte(text))
		for name, one := range found {
			if len(one) > piece || strings.ToValidUTF8(one, "") != one && strings.ToValidUTF8(text, "") == text {
				t.Errorf("%s of %d bytes is cut at %q", name, len(text), one)
			}
		}
		if back := string(joined(found)); back != text {
			t.Errorf("%d bytes became %d", len(text), len(back))
		}
	}
}

func TestWhoKnowsOnlyConsulIsToldOfAnAddress(t *testing.T) {
	for _, test := range []struct {
		addresses []string
		host      string
		port      int
	}{
		{[]string{"127.0.0.1:80"}, "127.0.0.1", 80},
		{[]string{"[::1]:80"}, "::1", 80},
		{[]string{"[fe80::1%lo]:80", "a:1"}, "fe80::1%lo", 80},
		{[]string{"unix:/a", "ws://[::1]:80/", "b:65535"}, "b", 65535},
		{[]string{"unix:/a"}, "", 0},
	} {
		host, port := addressOf(&registry.Written{Record: registry.Record{Addresses: test.addresses}})
		if host != test.host || port != test.port {
			t.Errorf("%q: %q and %d", test.addresses, host, port)
		}
	}
}

func TestNames(t *testing.T) {
	for name, wrong := range map[string]bool{"consul:127.0.0.1:8500": false, "consul:a:1?lease=2": false, "consul:": true, "consul:a:1,b:1": true, "consul:a:1/root/v1?lease=3": false, "consul:a:1/": true} {
		_, err := registry.OpenStore(name)
		want := `registry "` + name + `": want consul:HOST:PORT/ROOT?lease=SECONDS`
		if wrong && (err == nil || err.Error() != want) || !wrong && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(api.DefaultConfig(), Options{Lease: time.Millisecond}); err == nil {
		t.Error("a lease of a millisecond is taken")
	}
}

// What is answered instead of a list is a failure, and nothing is taken of it that was not whole.
func TestBrokenAnswers(t *testing.T) {
	for body, want := range map[string]string{
		"":                         "no list",
		"{}":                       "no list",
		"[":                        "Consul's answer",
		"[{}":                      "Consul's answer",
		"[1]":                      "Consul's answer",
		`[{"Service": {"ID": 7}}]`: "Consul's answer",
	} {
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Consul-Index", "7")
			_, _ = io.WriteString(w, body)
		}))
		store, err := registry.OpenStore("consul:" + strings.TrimPrefix(agent.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Watch(t.Context(), "s", &registry.Watcher{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", body, err)
		}
		agent.Close()
	}
	for _, answer := range []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { http.Error(w, "No cluster leader", http.StatusInternalServerError) },
		func(w http.ResponseWriter) { w.Header().Set("X-Consul-Index", "x") },
	} {
		agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
		store, _ := registry.OpenStore("consul:" + strings.TrimPrefix(agent.URL, "http://"))
		if err := store.Watch(t.Context(), "s", &registry.Watcher{}); err == nil || !strings.Contains(err.Error(), "Consul") {
			t.Error(err)
		}
		agent.Close()
	}
}

// A server of Consul that has just been started tells of its past (spec/registry.md 10.4).
func TestConsulIsNotAskedForItsPast(t *testing.T) {
	const rubbish = `[{"Service": {"ID": "s/gone", "Meta": {"trunkcall-0": "{"}}}]`
	answers := []struct{ asked, index, body string }{
		{"consistent=", "9", "[]"},
		{"index=9", "3", rubbish}, // which is told of if it is taken
		{"consistent=", "12", "[]"},
		{"index=12", "", ""}, // a failure
		{"consistent=", "2", "[]"},
	}
	asked := make(chan string, len(answers)+1)
	requests := 0 // of one watcher, one after the other
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests
		requests++
		if r.Header.Get("Accept-Encoding") != "identity" { // the agent would compress megabytes for each change
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		asked <- strings.TrimSuffix(r.URL.RawQuery, "&wait=1m0s")
		if n == len(answers) {
			<-r.Context().Done() // as Consul does while nothing changes
			return
		}
		w.Header().Set("X-Consul-Index", answers[n].index)
		_, _ = io.WriteString(w, answers[n].body)
	}))
	defer agent.Close()
	store, err := registry.OpenStore("consul:" + strings.TrimPrefix(agent.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	silent := trunkcall.WithLogger(slog.New(slog.DiscardHandler))
	client, err := trunkcall.NewClient("registry:s", silent, trunkcall.WithResolver("registry", registry.Resolver(store, logger)))
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan error, 1)
	go func() { connected <- client.Connect(t.Context()) }() // which has it ask
	for _, one := range answers {
		if got := <-asked; got != one.asked {
			t.Errorf("asked for %q, want %q", got, one.asked)
		}
	}
	<-asked
	client.Close()
	<-connected
	if log.Len() > 0 {
		t.Error("taken:", log.String())
	}
}

// Two agents have an instance of one id: the first in the answer counts, and the other once that has gone.
func TestOfTwoAgentsTheFirstCounts(t *testing.T) {
	at := func(node, status string) string {
		return fmt.Sprintf(`{"Node":{"Node":%q},"Service":{"ID":"s/i","Meta":{"trunkcall-0":%q}},"Checks":[{"Status":%q}]}`, node, node, status)
	}
	a, b := at("a", "passing"), at("b", "passing")
	for _, last := range []string{b, at("a", "critical") + "," + b} {
		l := looking{service: "s", seed: maphash.MakeSeed(), begun: true}
		told := ""
		for _, one := range []struct{ answer, want string }{{b, "b"}, {a + "," + b, "a"}, {last, "b"}, {last, "b"}} {
			known, there, came, err := l.read(strings.NewReader("[" + one.answer + "]"))
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range came {
				told = string(entry.Data)
			}
			l.tell(known, there, nil, &registry.Watcher{})
			if told != one.want {
				t.Errorf("of %s the watcher has %s's, want %s's", one.answer, told, one.want)
			}
		}
	}
}

// An agent bounds how many connections one address may have.
func TestAStoreThatIsNotUsedHasNoConnection(t *testing.T) {
	agent := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NotFound(w, r)
	}))
	closed := make(chan struct{}, 10)
	agent.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	agent.Start()
	defer agent.Close()
	store, err := New(&api.Config{Address: agent.URL}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Watch(t.Context(), "s", &registry.Watcher{}); err == nil {
		t.Error("it was answered")
	}
	<-closed
	record := registry.Record{Service: "s", ID: "i", Addresses: []string{"127.0.0.1:1"}}
	if err := store.Keep(t.Context(), []registry.Written{{Record: record}}, func() {}); err == nil {
		t.Error("it was published")
	}
	<-closed
}

func TestAnAgentAtAUnixSocket(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "agent"))
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{}") // without an index
	}))
	agent.Listener = listener
	agent.Start()
	defer agent.Close()
	store, err := New(&api.Config{Address: "unix://" + listener.Addr().String()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Watch(t.Context(), "s", &registry.Watcher{}); err == nil || !strings.Contains(err.Error(), "has the index") {
		t.Errorf("%v, want an answer of the agent's", err)
	}
}

// Good answers, spoilt at random: read or refused, and no more is held than a record may have.
func TestSpoiltAnswersAreReadOrRefused(t *testing.T) {
	const whole = `[{"Node":{"Node":"n"},"Service":{"ID":"s/a","Meta":{"trunkcall-0":"{\"addresses\":","trunkcall-1":"[]}"}},` +
		`"Checks":[{"Status":"passing"},{"Status":"warning"}]},{"Node":{"Node":"n"},"Service":{"ID":"b","Meta":null},"Checks":[]}]`
	random := rand.New(rand.NewPCG(1, 1))
	taken, refused := 0, 0
	for range 20_000 {
		made := []byte(whole)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(made))
			end := min(len(made), at+1+random.IntN(8))
			switch random.IntN(4) {
			case 0:
				made[at] = byte(random.IntN(256))
			case 1:
				made[at] = `{}[]",:\0n`[random.IntN(10)]
			case 2:
				made = append(made[:at:at], made[end:]...)
			default:
				made = append(made[:end:end], made[at:]...)
			}
		}
		l := looking{service: "s", seed: maphash.MakeSeed()}
		_, _, came, err := l.read(bytes.NewReader(made))
		if taken++; err != nil {
			refused++
			taken--
		}
		for _, e := range came {
			if len(e.Data) > 16<<10 {
				t.Errorf("%q: %+v", made, e)
			}
		}
	}
	if taken < 100 || refused < 100 {
		t.Errorf("%d were taken, %d refused", taken, refused)
	}
}
