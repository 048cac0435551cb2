package transport

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// address is one place to dial.
type address struct {
	network, where string // for package net
	host, port     string // of a name that is not looked up yet
	serverName     string // for TLS
	text           string
	webSocket      *url.URL // where it is asked for; nil: nowhere
}

// asked is the address as a user's dialer is given it.
func (a *address) asked() string {
	if a.network == "tcp" {
		return a.where
	}
	return a.text
}

// CheckAddress returns an error for an address that is malformed.
func CheckAddress(address string) error {
	_, err := parseAddress(address)
	return err
}

const wantAddress = "target %q: want HOST:PORT, unix:PATH, mem:NAME or ws://HOST:PORT/PATH"

// parseAddress reads one address (client.md 6.2).
func parseAddress(text string) (address, error) {
	if network, name, _ := strings.Cut(text, ":"); network == "unix" || network == "mem" {
		if name == "" {
			return address{}, fmt.Errorf(wantAddress, text)
		}
		return address{network: network, where: name, serverName: "localhost", text: text}, nil
	}
	u, err := webSocketURL(text)
	if err != nil {
		return address{}, err
	}
	part := text
	if u != nil {
		part = u.Host
	}
	host, port, err := net.SplitHostPort(part)
	if err != nil || strings.ContainsAny(host, "/[] \t") {
		return address{}, fmt.Errorf(wantAddress, text)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 || len(port) > 5 {
		return address{}, fmt.Errorf("target %q: want a port from 1 to 65535, got %q", text, port)
	}
	if host == "" {
		host = "localhost"
	}
	where := net.JoinHostPort(host, strconv.FormatUint(number, 10))
	return address{network: "tcp", where: where, host: host, port: port, serverName: host, text: text, webSocket: u}, nil
}

// resolve returns the addresses to try, in the order of client.md 9.4, and the failures of those
// that cannot be resolved.
func (t *Target) resolve(ctx context.Context) (found []address, failed failures) {
	type answer struct {
		addresses []address
		err       error
	}
	answers := make([]answer, len(t.Addresses))
	var all sync.WaitGroup
	for i, text := range t.Addresses {
		all.Go(func() { answers[i].addresses, answers[i].err = t.lookUp(ctx, text) })
	}
	all.Wait()
	for i, a := range answers {
		if a.err != nil {
			failed = append(failed, failure{t.Addresses[i], a.err})
		}
		for _, one := range a.addresses {
			if !slices.ContainsFunc(found, one.same) {
				found = append(found, one)
			}
		}
	}
	return interleaved(found), failed
}

func (a *address) same(b address) bool {
	return a.network == b.network && a.where == b.where && (a.webSocket == nil) == (b.webSocket == nil) &&
		(a.webSocket == nil || *a.webSocket == *b.webSocket)
}

// lookUp replaces an address by all those of its host.
func (t *Target) lookUp(ctx context.Context, text string) ([]address, error) {
	a, err := parseAddress(text)
	if err != nil {
		return nil, err
	}
	literal := a.host == "" || net.ParseIP(strings.Split(a.host, "%")[0]) != nil
	if t.ServerName != "" {
		a.serverName = t.ServerName
	}
	if literal || t.Open != nil { // who opens it finds it
		return []address{a}, nil
	}
	lookup := t.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	ips, err := lookup(ctx, a.host)
	if err != nil {
		return nil, err
	}
	out := make([]address, len(ips))
	for i, ip := range ips {
		out[i] = a
		out[i].where = net.JoinHostPort(ip, a.port)
		if out[i].text = out[i].where; a.webSocket != nil {
			out[i].text += " (" + a.text + ")"
		}
	}
	return out, nil
}

// interleaved puts IPv6 and IPv4 addresses in turns, beginning with the family of the first.
func interleaved(found []address) []address {
	var kinds [2][]address
	for _, a := range found {
		kind := 0
		if a.isIPv6() != found[0].isIPv6() {
			kind = 1
		}
		kinds[kind] = append(kinds[kind], a)
	}
	out := make([]address, 0, len(found))
	for len(out) < len(found) {
		for i := range kinds {
			if len(kinds[i]) > 0 {
				out = append(out, kinds[i][0])
				kinds[i] = kinds[i][1:]
			}
		}
	}
	return out
}

func (a *address) isIPv6() bool { return a.network == "tcp" && strings.HasPrefix(a.where, "[") }
