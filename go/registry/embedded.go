package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go"
	registryv1 "github.com/trunkcall/trunkcall/go/gen/registry/v1"
)

// Times of a client of the embedded registry (spec/registry.md 9.3, 9.8).
const (
	asksAfter      = 10 * time.Second
	answersWithin  = 10 * time.Second
	withdrawsIn    = 5 * time.Second
	firstAnswerFor = defaultLease
)

// Embedded is the embedded registry, which a Server keeps: a Store by its address.
type Embedded struct {
	address string
	options []trunkcall.ClientOption
}

// NewEmbedded is the embedded registry at an address. Each server and each service that is watched has a connection of
// its own to it, of a client with options, such as trunkcall.WithTLS.
func NewEmbedded(address string, options ...trunkcall.ClientOption) *Embedded {
	return &Embedded{address, append([]trunkcall.ClientOption{trunkcall.WithKeepalive(asksAfter, answersWithin)}, options...)}
}

func openEmbedded(rest string) (Source, error) {
	if rest == "" || !isText(rest, maxAddress) || strings.Contains(rest, ",") || trunkcall.CheckAddress(rest) != nil {
		return nil, errors.New("want trunkcall:ADDRESS")
	}
	return NewEmbedded(rest), nil
}

// Watch is Source.
func (e *Embedded) Watch(ctx context.Context, service string, w *Watcher) error {
	client, err := trunkcall.NewClient(e.address, e.options...)
	if err != nil {
		return err
	}
	defer client.Close()
	answers, err := watchMethod.Call(ctx, client, &registryv1.WatchRequest{Service: service}, trunkcall.WithoutDefaultTimeout())
	if err != nil {
		return err
	}
	defer answers.Close()
	t := tellings{sizes: map[string]int{}, all: w.All, change: w.Change}
	for {
		one, err := answers.Receive()
		if errors.Is(err, io.EOF) {
			err = errors.New("the registry tells no more")
		}
		if err == nil {
			err = t.take(one)
		}
		if err != nil {
			return err
		}
	}
}

// tellings puts answers together, and bounds what a registry may have a client hold.
type tellings struct {
	all    func([]Entry)
	change func(came []Entry, went []string)

	begun    bool
	gathered []Entry // of a telling of all that has more
	within   bool    // one
	sizes    map[string]int
	bytes    int
}

// take takes an answer. The error says what is wrong with it.
func (t *tellings) take(a *registryv1.WatchAnswer) error {
	all := a.Kind == registryv1.WatchAnswer_KIND_ALL
	switch {
	case a.Kind < registryv1.WatchAnswer_KIND_CHANGE || a.Kind > registryv1.WatchAnswer_KIND_PARTIAL:
		return fmt.Errorf("an answer of kind %d, which there is not", a.Kind)
	case !t.begun && a.Kind == registryv1.WatchAnswer_KIND_CHANGE:
		return errors.New("a change ahead of all that there is")
	case t.within && !all:
		return errors.New("a change between parts of all that there is")
	case all && !t.within:
		clear(t.sizes)
		t.bytes = 0
	}
	came := make([]Entry, 0, len(a.Came))
	for _, e := range a.Came {
		if !isName(e.GetId(), maxID) || len(e.GetRecord()) > maxRecord {
			return fmt.Errorf("an entry with an id of %d bytes and a record of %d: want %w", len(e.GetId()), len(e.GetRecord()), errEntry)
		}
		t.bytes += len(e.Record) - t.sizes[e.Id]
		t.sizes[e.Id] = len(e.Record)
		came = append(came, Entry{ID: e.Id, Data: e.Record})
	}
	for _, id := range a.Went {
		t.bytes -= t.sizes[id]
		delete(t.sizes, id)
	}
	if len(t.sizes) > mostKeys || t.bytes > mostBytes {
		return fmt.Errorf("%d entries of %d bytes, at most %d of %d", len(t.sizes), t.bytes, mostKeys, mostBytes)
	}
	t.begun, t.within = true, all && a.More
	switch {
	case !all:
		t.change(came, a.Went)
	case a.More:
		t.gathered = append(t.gathered, came...)
		if len(t.gathered) > mostKeys {
			return fmt.Errorf("more than %d entries", mostKeys)
		}
	default:
		t.all(append(t.gathered, came...))
		t.gathered = nil
	}
	return nil
}

var errEntry = errors.New("a name of at most 128 bytes and a record of at most 16384")

// Keep is Store.
func (e *Embedded) Keep(ctx context.Context, records []Written, published func()) error {
	client, err := trunkcall.NewClient(e.address, e.options...)
	if err != nil {
		return err
	}
	defer client.Close()
	parts := slices.Collect(slices.Chunk(records, mostPublished))
	var left atomic.Int32
	left.Store(int32(len(parts)))
	within, stop := context.WithCancel(ctx)
	defer stop()
	failures := make(chan error, len(parts))
	for _, part := range parts {
		go func() {
			err := keepPart(within, client, part, func() {
				if left.Add(-1) == 0 {
					published()
				}
			})
			stop() // one that fails ends the others
			failures <- err
		}()
	}
	var failed error
	for range parts {
		if err := <-failures; failed == nil {
			failed = err
		}
	}
	return failed
}

// keepPart keeps the records of one call until ctx ends, and withdraws them then.
func keepPart(ctx context.Context, client *trunkcall.Client, records []Written, published func()) error {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	late := time.AfterFunc(firstAnswerFor, cancel) // opening waits for a connection
	defer late.Stop()
	opened := context.AfterFunc(ctx, cancel)
	defer opened()
	stream, err := publishMethod.Open(own, client, trunkcall.WithoutDefaultTimeout())
	if err != nil {
		return err
	}
	defer stream.Close()
	request := &registryv1.PublishRequest{}
	for i := range records {
		request.Records = append(request.Records, records[i].Data)
	}
	if err := stream.Send(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !opened() || !late.Stop() {
		return cmp.Or(ctx.Err(), errors.New("the registry could not be reached in time"))
	}
	answers, ended := make(chan time.Duration, 1), make(chan error, 1)
	go func() { ended <- receiveLeases(own, stream, answers) }()
	lease := firstAnswerFor
	silent := time.NewTimer(lease)
	defer silent.Stop()
	renew := time.NewTicker(lease)
	defer renew.Stop()
	first := true
	for {
		select {
		case lease = <-answers:
			silent.Reset(lease)
			if first {
				first = false
				renew.Reset(lease / renewsOfLease)
				published()
			}
		case <-renew.C:
			if err := stream.Send(&registryv1.PublishRequest{}); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		case <-silent.C:
			return fmt.Errorf("the registry has not answered for %v", lease)
		case err := <-ended:
			return err
		case <-ctx.Done():
			_ = stream.CloseSend()
			silent.Reset(withdrawsIn)
			for {
				select {
				case <-answers: // of a renewal
				case <-ended: //nolint:errcheck // however it ended
					return nil
				case <-silent.C:
					return errors.New("the registry has not confirmed in time that it withdrew the server")
				}
			}
		}
	}
}

// receiveLeases takes the answers of a call that publishes, until it ends.
func receiveLeases(ctx context.Context, stream *trunkcall.BidiStream[registryv1.PublishRequest, registryv1.PublishAnswer], answers chan<- time.Duration) error {
	for {
		one, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			err = errors.New("the registry keeps it no more")
		}
		if err != nil {
			return err
		}
		lease := time.Duration(one.LeaseMs) * time.Millisecond
		if lease < leastLease || lease > greatestLease {
			return fmt.Errorf("a lease of %v: want %v to %v", lease, leastLease, greatestLease)
		}
		select {
		case answers <- lease:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
