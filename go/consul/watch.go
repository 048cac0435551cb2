package consul

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/consul/api"

	"github.com/trunkcall/trunkcall/go/registry"
)

const (
	waits     = time.Minute // for a change, then Consul answers with what there is
	longer    = waits/16 + answersWithin
	maxAnswer = 256 << 20 // bytes

	// Between two questions at least: one is answered with all instances, or with the names of all.
	betweenLists = 20 * time.Millisecond
	betweenNames = 10 * time.Millisecond
)

// Watch is registry.Source. Consul tells of a change by telling all; what of that is new is found out here.
func (s *Store) Watch(ctx context.Context, service string, w *registry.Watcher) error {
	defer s.rest()
	ask, between := (&looking{store: s, service: service, seed: maphash.MakeSeed()}).ask, betweenLists
	if s.root != "" {
		between = betweenNames
		ask = (&keyLooking{store: s, prefix: s.root + "/" + service + "/"}).ask
	}
	for index := uint64(0); ; {
		asked := time.Now()
		next, err := ask(ctx, index, w)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		index = next
		t := time.NewTimer(between - time.Since(asked))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// looking is what a watcher knows of a service.
type looking struct {
	store   *Store
	service string
	seed    maphash.Seed
	begun   bool
	account registry.Account
	known   map[uint64]string // what Consul told last: of each instance, by the digest of all that was said, the id
}

// instance is what is needed of one of Consul's.
type instance struct {
	Node    struct{ Node string }
	Service struct {
		ID   string
		Meta map[string]string
	}
	Checks []struct{ Status string }
}

// ask has Consul tell all instances, once there is something newer than index, and returns what is asked for next; 0 is
// to begin anew.
func (l *looking) ask(ctx context.Context, index uint64, w *registry.Watcher) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, waits+longer)
	defer cancel()
	answer, err := l.store.request(ctx, "health/service/"+l.service, newer(index))
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusNotFound {
		return 0, refusal(answer)
	}
	next, tells, err := indexOf(answer, index)
	if err != nil || !tells {
		return next, err
	}
	return next, l.take(answer.Body, w)
}

// indexOf is what is asked for after an answer, 0 to begin anew, and whether the answer is to be taken.
func indexOf(answer *http.Response, index uint64) (next uint64, tells bool, err error) {
	next, err = strconv.ParseUint(answer.Header.Get("X-Consul-Index"), 10, 64)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("Consul's answer has the index %q", answer.Header.Get("X-Consul-Index")) //nolint:staticcheck // a name
	case index > 0 && next < index: // Consul began anew, and what it tells may be of its past (spec/registry.md 10.4)
		_, err = io.Copy(io.Discard, answer.Body)
		return 0, false, err
	case index > 0 && next == index: // nothing has changed in that time
		_, err = io.Copy(io.Discard, answer.Body)
		return next, false, err
	}
	return max(next, 1), true, nil
}

// newer has a question asked once there is something newer than index, which is 0 at first.
func newer(index uint64) url.Values {
	if index == 0 {
		return url.Values{"consistent": {""}} // or a server that has just been started may tell of its past
	}
	return url.Values{"index": {strconv.FormatUint(index, 10)}, "wait": {waits.String()}}
}

// request asks the agent. The answer may be that there is no such thing.
func (s *Store) request(ctx context.Context, path string, values url.Values) (*http.Response, error) {
	config := &s.config
	host := config.Address
	if strings.HasPrefix(host, "/") { // a Unix socket, which the library's transport dials
		host = "localhost"
	}
	where := url.URL{Scheme: config.Scheme, Host: host, Path: config.PathPrefix + "/v1/" + path}
	for name, text := range map[string]string{"dc": config.Datacenter, "ns": config.Namespace, "partition": config.Partition} {
		if text != "" {
			values.Set(name, text)
		}
	}
	where.RawQuery = values.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	// The agent is near, and would take as long to compress as to write.
	request.Header.Set("Accept-Encoding", "identity")
	if config.Token != "" {
		request.Header.Set("X-Consul-Token", config.Token)
	}
	if config.HttpAuth != nil {
		request.SetBasicAuth(config.HttpAuth.Username, config.HttpAuth.Password)
	}
	answer, err := config.HttpClient.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNotFound {
		defer func() { _ = answer.Body.Close() }()
		return nil, refusal(answer)
	}
	return answer, nil
}

// refusal is an answer that is none.
func refusal(answer *http.Response) error {
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
	return fmt.Errorf("Consul answers %s: %s", answer.Status, strings.TrimSpace(string(said))) //nolint:staticcheck // a name
}

// take reads all instances and tells w what of that is new.
func (l *looking) take(body io.Reader, w *registry.Watcher) error {
	known, there, came, err := l.read(body)
	if err == nil {
		l.tell(known, there, came, w)
	}
	return err
}

// read reads all instances, one after the other: by the digest of what was said of each its id, nodes by id, and the
// entries of those that are new.
func (l *looking) read(body io.Reader) (known map[uint64]string, there map[string]string, came []registry.Entry, err error) {
	known = make(map[uint64]string, len(l.known))
	there = make(map[string]string, len(l.known))
	came = []registry.Entry{}
	for d, err := range values(body) {
		if err != nil {
			return nil, nil, nil, err
		}
		text, err := d.ReadValue()
		if err != nil {
			return nil, nil, nil, fmt.Errorf("Consul's answer: %w", err) //nolint:staticcheck // a name
		}
		digest := maphash.Bytes(l.seed, text)
		if id, ok := l.known[digest]; ok {
			if _, twice := there[id]; !twice { // else another agent's counts now, and this one is read when that has gone
				known[digest] = id
				there[id] = ""
			}
			continue
		}
		var one instance
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, nil, nil, fmt.Errorf("Consul's answer: %w", err) //nolint:staticcheck // a name
		}
		id, counts := l.idOf(&one)
		if _, twice := there[id]; !counts || twice { // at another agent as well
			continue
		}
		known[digest] = id
		there[id] = one.Node.Node
		e, err := l.account.Put(id, joined(one.Service.Meta))
		if err != nil {
			return nil, nil, nil, err
		}
		came = append(came, e)
	}
	return known, there, came, nil
}

// values has what stands in a list read, one after the other. Who does not read one ends there.
func values(body io.Reader) iter.Seq2[*jsontext.Decoder, error] {
	return func(yield func(*jsontext.Decoder, error) bool) {
		d := jsontext.NewDecoder(io.LimitReader(body, maxAnswer), jsontext.AllowInvalidUTF8(true))
		if token, err := d.ReadToken(); err != nil || token.Kind() != '[' {
			yield(nil, errors.Join(errors.New("Consul's answer is no list"), err)) //nolint:staticcheck // a name
			return
		}
		for d.PeekKind() != ']' {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// idOf is the id of an instance, and whether it counts.
func (l *looking) idOf(one *instance) (string, bool) {
	for _, check := range one.Checks {
		if check.Status == api.HealthCritical {
			return "", false
		}
	}
	// What others have registered is rubbish under its own name, which no id is.
	id, ours := strings.CutPrefix(one.Service.ID, l.service+"/")
	if !ours {
		id = "consul:" + one.Service.ID
	}
	return id, true
}

func (l *looking) tell(known map[uint64]string, there map[string]string, came []registry.Entry, w *registry.Watcher) {
	var went []string
	for _, id := range l.account.IDs() {
		if _, ok := there[id]; !ok {
			went = append(went, id)
			l.account.Remove(id)
		}
	}
	l.known = known
	switch {
	case !l.begun:
		l.begun = true
		w.All(came)
	case len(came)+len(went) > 0:
		w.Change(came, went)
	}
}
