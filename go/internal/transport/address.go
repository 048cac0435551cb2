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

// parseAddress reads one address (client.md 6.2).
func parseAddress(text string) (address, error) {
	fault := func(why string) (address, error) {
		return address{}, fmt.Errorf("target %q: %s: want HOST:PORT, unix:PATH, mem:NAME or ws://HOST:PORT/PATH", text, why)
	}
	if network, name, _ := strings.Cut(text, ":"); network == "unix" || network == "mem" {
		if name == "" {
			return fault("there is nothing behind " + network + ":")
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
	host, port, why := splitHostPort(part, 1)
	if why != "" {
		return fault(why)
	}
	if host == "" {
		host = "localhost"
	}
	where := net.JoinHostPort(host, port)
	return address{network: "tcp", where: where, host: host, port: port, serverName: host, text: text, webSocket: u}, nil
}

// splitHostPort reads HOST:PORT, where HOST may be empty and PORT is a number, at least that. why says what is wrong
// with it, and what would be right where that is clear.
func splitHostPort(text string, least uint64) (host, port, why string) {
	host, port, err := net.SplitHostPort(text)
	bracketed := strings.HasPrefix(text, "[")
	if err != nil || strings.ContainsAny(host, "/[] \t") || bracketed && !strings.Contains(host, ":") {
		return "", "", noHostPort(text)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err == nil && number >= least && len(port) <= 5:
		return host, strconv.FormatUint(number, 10), ""
	case strings.HasPrefix(port, "//"):
		return "", "", noHostPort(text)
	case strings.Contains(port, "/"):
		before, _, _ := strings.Cut(text, "/")
		return "", "", "there is a path behind the port; without it, it is " + before
	}
	return "", "", fmt.Sprintf("a port is a number from %d to 65535, not %q", least, port)
}

// noHostPort is what is wrong with what is not HOST:PORT.
func noHostPort(text string) string {
	scheme, rest, isURL := strings.Cut(text, "://")
	_, err := strconv.ParseUint(text, 10, 16)
	bare := text[:max(strings.LastIndexByte(text, ':'), 0)]
	switch {
	case text == "":
		return "it is empty"
	case isURL:
		why := "it is a URL"
		authority, _, _ := strings.Cut(rest, "/")
		if host, port, fault := splitHostPort(authority, 1); fault == "" {
			why += "; as an address it is " + net.JoinHostPort(host, port)
		}
		if scheme == "https" || scheme == "grpcs" {
			why += ", and TLS is an option"
		}
		return why
	case strings.HasPrefix(text, "/") || strings.HasPrefix(text, "."):
		return "it is a path; a Unix socket there is unix:" + text
	case strings.Contains(text, ","):
		return "there is a comma in it; each address is given by itself"
	case strings.ContainsAny(text, " \t"):
		return "there is a blank in it"
	case err == nil:
		return "it has no host; that port on this machine is localhost:" + text
	case strings.Count(text, ":") > 1 && net.ParseIP(bare) != nil:
		return "an address of IPv6 stands in brackets, such as [" + bare + "]" + text[len(bare):]
	case net.ParseIP(strings.Trim(text, "[]")) != nil || !strings.Contains(text, ":"):
		return "it has no port; with one it is, for example, " + net.JoinHostPort(strings.Trim(text, "[]"), "8080")
	}
	return "it is no address"
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
