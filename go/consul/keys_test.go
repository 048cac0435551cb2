package consul

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/registry"
)

// agentOf is a store of keys at an agent that answers so.
func agentOf(t *testing.T, answer http.HandlerFunc) *Store {
	t.Helper()
	agent := httptest.NewServer(answer)
	t.Cleanup(agent.Close)
	store, err := registry.OpenStore("consul:" + strings.TrimPrefix(agent.URL, "http://") + "/root/v1")
	if err != nil {
		t.Fatal(err)
	}
	return store.(*Store)
}

// listedOnce answers with one list of names, or all values, and then with nothing.
func listedOnce(t *testing.T, names, value string) *Store {
	t.Helper()
	return agentOf(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case query.Has("index"): // a failure, which ends the watcher
			w.Header().Set("X-Consul-Index", "x")
		case query.Has("keys"):
			w.Header().Set("X-Consul-Index", "7")
			_, _ = io.WriteString(w, names)
		default:
			_, _ = io.WriteString(w, value)
		}
	})
}

func TestBrokenAnswersOfKeys(t *testing.T) {
	many := make([]string, oneByOne+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"root/v1/s/a%d/0123456789abcdef"`, i)
	}
	all := "[" + strings.Join(many, ",") + "]"
	for _, test := range []struct{ names, value, want string }{
		{"", "", "no list"},
		{"{}", "", "no list"},
		{"[", "", "Consul's answer"},
		{`["root/v1/s/a/0123456789abcdef"`, "", "Consul's answer"},
		{`[1]`, "", "Consul's answer"},
		{`[["a"]]`, "", "Consul's answer"},
		{all, "", "no list"},
		{all, "[", "Consul's answer"},
		{all, `[{"Key": 7}]`, "Consul's answer"},
		{all, `[{"Key": "root/v1/s/a1/0123456789abcdef", "Value": "?"}]`, "Consul's answer"},
	} {
		err := listedOnce(t, test.names, test.value).Watch(t.Context(), "s", &registry.Watcher{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q and %.40q: %v, want %s", test.names, test.value, err, test.want)
		}
	}
	refused := agentOf(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Permission denied", http.StatusForbidden)
	})
	if err := refused.Watch(t.Context(), "s", &registry.Watcher{}); err == nil || !strings.Contains(err.Error(), "Permission denied") {
		t.Error(err)
	}
}

// Good lists, spoilt at random: read or refused, and what is asked for are names of keys.
func TestSpoiltListsOfKeysAreReadOrRefused(t *testing.T) {
	const whole = `["root/v1/s/a/0123456789abcdef","root/v1/s/b/0123456789abcdef","root/v1/s/c","root/v1/s/d/0123456789abcdef"]`
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same each time
	read, refused := 0, 0
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
		l := keyLooking{prefix: "root/v1/s/"}
		answer := http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(made)))}
		names, err := l.names(&answer)
		if read++; err != nil {
			refused++
			read--
			continue
		}
		for _, name := range names {
			if !nameForm.MatchString(name) {
				t.Errorf("%q is asked for", name)
			}
		}
	}
	if read < 100 || refused < 100 {
		t.Errorf("%d were read, %d refused", read, refused)
	}
}

// What an agent may answer to who publishes is told, and whose record it was.
func TestAgentsThatRefuseKeys(t *testing.T) {
	for path, test := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"session/create": {func(w http.ResponseWriter) { http.Error(w, "Permission denied", http.StatusForbidden) }, "Permission denied"},
		"kv/":            {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "[") }, "EOF"},
		"txn": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"Results": null, "Errors": [{"OpIndex": 9, "What": "lock is already held"}, null]}`)
		}, "s/i/44136fa355b3678a: lock is already held"},
	} {
		store := agentOf(t, func(w http.ResponseWriter, r *http.Request) {
			asked := strings.TrimPrefix(r.URL.Path, "/v1/")
			switch {
			case strings.HasPrefix(asked, path):
				test.answer(w)
			case asked == "session/create":
				_, _ = io.WriteString(w, `{"ID": "one"}`)
			default:
				http.NotFound(w, r)
			}
		})
		w := registry.Written{Record: registry.Record{Service: "s", ID: "i", Addresses: []string{"a:1"}}, Data: []byte("{}")}
		err := store.Keep(t.Context(), []registry.Written{w}, func() { t.Error("it is published") })
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", path, err, test.want)
		}
	}
}

// At a renewal: the session is over, the record is gone, or another's comes before it.
func TestARecordThatIsLostIsTold(t *testing.T) {
	record := registry.Record{Service: "s", ID: "i", Addresses: []string{"a:1"}}
	written := func(address string) registry.Written {
		record.Addresses = []string{address}
		data, err := record.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return registry.Written{Record: record, Data: data}
	}
	ours, theirs := written("a:1"), written("b:1")
	for nameOf("i", theirs.Data) > nameOf("i", ours.Data) {
		theirs = written(theirs.Addresses[0] + "1")
	}
	pair := func(w registry.Written) map[string]any {
		return map[string]any{"Key": "root/v1/s/" + nameOf("i", w.Data), "Value": w.Data}
	}
	const renewed = `[{"ID": "one"}]`
	overwritten, rubbish := pair(ours), map[string]any{"Key": "root/v1/s/i/0000000000000000", "Value": []byte("?")}
	overwritten["Value"] = theirs.Data
	for _, test := range []struct {
		want    string
		renewal string
		there   []any
	}{
		{"the session is over", "", nil},
		{"s/i is gone", renewed, []any{}},
		{"s/i is gone, or hidden by root/v1/s/i/0000000000000000", renewed, []any{rubbish, pair(ours)}},
		{"s/i is gone", renewed, []any{map[string]any{"Key": "root/v1/s/i/j/0000000000000000"}}},
		{"s/i was written by somebody else", renewed, []any{overwritten}},
		{"another server is published under this id, at " + theirs.Addresses[0], renewed, []any{pair(theirs), pair(ours)}},
	} {
		published := false
		store := agentOf(t, func(w http.ResponseWriter, r *http.Request) {
			asked := strings.TrimPrefix(r.URL.Path, "/v1/")
			switch {
			case asked == "session/create":
				_, _ = io.WriteString(w, `{"ID": "one"}`)
			case asked == "txn":
				_, _ = io.WriteString(w, `{"Results": []}`)
			case asked == "session/info/one":
				_, _ = io.WriteString(w, "[]")
			case asked == "session/renew/one" && test.renewal != "":
				_, _ = io.WriteString(w, test.renewal)
			case strings.HasPrefix(asked, "kv/") && published:
				_ = json.NewEncoder(w).Encode(append([]any{nil}, test.there...))
			default:
				http.NotFound(w, r)
			}
		})
		store.lease = 3 * 1e6 // three milliseconds: it renews at once
		err := store.Keep(t.Context(), []registry.Written{ours}, func() { published = true })
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// Consul may have no leader for a while, or the agent be started anew: a session that lives on is renewed, and not replaced.
func TestASessionOutlivesRenewalsThatFail(t *testing.T) {
	w := registry.Written{Record: registry.Record{Service: "s", ID: "i", Addresses: []string{"a:1"}}, Data: []byte("{}")}
	there := []any{map[string]any{"Key": "root/v1/s/" + nameOf("i", w.Data), "Value": w.Data}}
	for _, test := range []struct {
		what  string        // that fails
		since time.Duration // the last that went well, at the third that fails
		asked int           // how often until it was given up
		want  string
	}{
		{"session/renew/", 19 * time.Second, 5, "the session is over"},
		{"session/renew/", 20 * time.Second, 4, "response code: 500"},
		{"kv/", 19 * time.Second, 5, "is gone"},
		{"kv/", 20 * time.Second, 4, "No cluster leader"},
	} {
		var asked, written int
		var published, lost bool
		clock := time.Now()
		store := agentOf(t, func(w http.ResponseWriter, r *http.Request) {
			path := strings.TrimPrefix(r.URL.Path, "/v1/")
			fails := published && strings.HasPrefix(path, test.what)
			if fails {
				asked++
				lost = asked == 5
			}
			switch {
			case fails && asked == 1 && strings.HasPrefix(path, "session/"): // of Consul's past
				http.NotFound(w, r)
			case path == "session/info/one" && !lost && r.URL.Query().Has("consistent"):
				_, _ = io.WriteString(w, `[{"ID": "one"}]`)
			case path == "session/info/one":
				_, _ = io.WriteString(w, "[]")
			case fails && asked >= 2 && !lost: // the first goes well
				if asked == 4 {
					clock = clock.Add(test.since)
				}
				http.Error(w, "No cluster leader", http.StatusInternalServerError)
			case path == "session/create":
				_, _ = io.WriteString(w, `{"ID": "one"}`)
			case path == "txn":
				written++
				_, _ = io.WriteString(w, `{"Results": []}`)
			case path == "session/renew/one" && (!lost || !fails):
				_, _ = io.WriteString(w, `[{"ID": "one"}]`)
			case strings.HasPrefix(path, "kv/") && published && !lost:
				_ = json.NewEncoder(w).Encode(there)
			default:
				http.NotFound(w, r)
			}
		})
		store.lease = 3 * 1e6 // three milliseconds: it renews at once
		store.now = func() time.Time { return clock }
		err := store.Keep(t.Context(), []registry.Written{w}, func() { published = true })
		if err == nil || !strings.Contains(err.Error(), test.want) || asked != test.asked || written != 1 {
			t.Errorf("%s: %v after %d times, %d transactions; want %s after %d", test.what, err, asked, written, test.want, test.asked)
		}
	}
}
