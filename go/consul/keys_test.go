package consul

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
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
	random := rand.New(rand.NewPCG(1, 1))
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
		var published atomic.Bool
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
			case strings.HasPrefix(asked, "kv/") && published.Load():
				_ = json.NewEncoder(w).Encode(append([]any{nil}, test.there...))
			default:
				http.NotFound(w, r)
			}
		})
		store.lease = time.Minute
		k := keyKeeping{Store: store, records: []registry.Written{ours}}
		if err := k.put(t.Context()); err != nil {
			t.Fatal(err)
		}
		published.Store(true)
		_, err := k.renew(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// Consul may have no leader for a while, or the agent be started anew: a session that lives on is renewed, and not replaced.
func TestASessionOutlivesRenewalsThatFail(t *testing.T) {
	records := make([]registry.Written, 2)
	for i := range records {
		id := string(rune('i' + i))
		records[i] = registry.Written{Record: registry.Record{Service: "s", ID: id, Addresses: []string{"a:1"}}, Data: []byte("{}")}
	}
	var (
		mutex   sync.Mutex
		fails   string // how what is asked for begins that no leader answers
		past    bool   // a renewal is answered of the past, in which there was no session
		written int    // transactions
	)
	store := agentOf(t, func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		asked := strings.TrimPrefix(r.URL.Path, "/v1/")
		id, isKey := strings.CutPrefix(asked, "kv/root/v1/s/")
		switch {
		case fails != "" && strings.HasPrefix(asked, fails):
			http.Error(w, "No cluster leader", http.StatusInternalServerError)
		case asked == "session/renew/one" && past:
			http.NotFound(w, r)
		case asked == "session/create":
			_, _ = io.WriteString(w, `{"ID": "one"}`)
		case strings.HasPrefix(asked, "session/"):
			_, _ = io.WriteString(w, `[{"ID": "one"}]`)
		case asked == "txn":
			written++
			_, _ = io.WriteString(w, `{"Results": []}`)
		case isKey && written > 0:
			_ = json.NewEncoder(w).Encode([]pair{{Key: "root/v1/s/" + nameOf(strings.Trim(id, "/"), []byte("{}")), Value: []byte("{}")}})
		default:
			http.NotFound(w, r)
		}
	})
	store.lease = 36 * time.Second // of which Consul ends the session
	clock := time.Now()
	store.now = func() time.Time { return clock }
	k := keyKeeping{Store: store, records: records}
	if err := k.put(t.Context()); err != nil {
		t.Fatal(err)
	}
	renew := func(after time.Duration, failing string, isPast bool, want time.Duration, text string) {
		t.Helper()
		mutex.Lock()
		fails, past = failing, isPast
		mutex.Unlock()
		clock = clock.Add(after)
		again, err := k.renew(t.Context())
		if again != want || (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%v, %q, %v: again in %v, %v; want %v, %q", after, failing, isPast, again, err, want, text)
		}
	}
	for range 2 {
		renew(12*time.Second, "", false, 12*time.Second, "")
		renew(12*time.Second, "session/", false, 4*time.Second, "")
		renew(12*time.Second, "kv/", false, 4*time.Second, "")
		renew(11*time.Second, "", true, 4*time.Second, "")
	}
	renew(time.Second, "kv/root/v1/s/j", false, 0, "No cluster leader")
	renew(0, "", false, 12*time.Second, "")
	if renew(36*time.Second, "", true, 0, "does not renew"); written != 1 {
		t.Errorf("%d transactions", written)
	}
}
