package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"
)

// When DNS is asked again (spec/client.md 8.4).
const (
	askAgain = 30 * time.Second // less or more by a random part of up to a fifth
	askFirst = 5 * time.Second  // after an endpoint could not be reached
)

// SRV finds servers by records of DNS of type SRV: those of SERVICE are asked for as _SERVICE._tcp.DOMAIN, with "-" for
// each "." of SERVICE (spec/registry.md 8).
type SRV struct {
	domain string
	lookup func(ctx context.Context, name string) ([]*net.SRV, error)
}

// NewSRV finds servers in a domain, asking r, by default net.DefaultResolver.
func NewSRV(domain string, r *net.Resolver) *SRV {
	if r == nil {
		r = net.DefaultResolver
	}
	return &SRV{domain: domain, lookup: func(ctx context.Context, name string) ([]*net.SRV, error) {
		_, answers, err := r.LookupSRV(ctx, "", "", name+".") // the name as it is, and none of the system's search list
		return answers, err
	}}
}

// Watch is Source.
func (s *SRV) Watch(ctx context.Context, service string, w *Watcher) error {
	question := question(service, s.domain)
	w.askFor(question)
	for {
		answers, err := s.lookup(ctx, question)
		var dns *net.DNSError
		switch {
		case errors.As(err, &dns) && dns.IsNotFound:
			answers = nil
		case err != nil && len(answers) == 0: // an error beside answers tells of some that were no names
			return err
		}
		w.All(found(service, answers))
		if err := untilAskedAgain(ctx, w.Failed()); err != nil {
			return err
		}
	}
}

func question(service, domain string) string {
	return "_" + strings.ReplaceAll(service, ".", "-") + "._tcp." + domain
}

// found makes entries of answers. One that makes no record is rubbish.
func found(service string, answers []*net.SRV) []Entry {
	var useful []*net.SRV
	for _, one := range answers {
		if one.Target != "." && one.Port != 0 {
			useful = append(useful, one)
		}
	}
	entries := []Entry{}
	for _, one := range useful {
		if lowest(useful) != one.Priority {
			continue
		}
		host := strings.TrimSuffix(one.Target, ".")
		address := fmt.Sprintf("%s:%d", host, one.Port)
		r := Record{Service: service, ID: idOf(address), Addresses: []string{address}, ServerName: host, Weight: int(one.Weight)}
		data, err := r.Bytes()
		entries = append(entries, Entry{ID: r.ID, Data: data, From: "SRV " + one.Target, Err: err})
	}
	return entries
}

func lowest(answers []*net.SRV) uint16 {
	least := answers[0].Priority
	for _, one := range answers {
		least = min(least, one.Priority)
	}
	return least
}

// untilAskedAgain waits until it is time for the next look-up.
func untilAskedAgain(ctx context.Context, failed <-chan struct{}) error {
	first := time.NewTimer(askFirst)
	defer first.Stop()
	again := time.NewTimer(askAgain - askAgain/5 + rand.N(2*askAgain/5)) //nolint:gosec // jitter, not a secret
	defer again.Stop()
	select {
	case <-again.C:
		return nil
	case <-failed:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-first.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
