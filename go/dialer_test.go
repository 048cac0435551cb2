package trunkcall_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// tunnel leads everywhere to one place.
type tunnel struct {
	to    string
	mu    sync.Mutex
	asked []string // identities of endpoints and addresses
}

func (d *tunnel) dial(ctx context.Context, e trunkcall.Endpoint, address string) (net.Conn, error) {
	d.mu.Lock()
	d.asked = append(d.asked, e.Addresses[0]+" "+address)
	d.mu.Unlock()
	return (&net.Dialer{}).DialContext(ctx, "tcp", d.to)
}

func TestADialerOpensWhatTLSAndWebSocketsLieAbove(t *testing.T) {
	a := newAuthority(t)
	cert := a.certificate(t, x509.ExtKeyUsageServerAuth)
	_, cleartext := serve(t, nil, standard()...)
	_, secure := serve(t, serverOptions{trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{cert}})}, standard()...)
	withTLS := trunkcall.WithTLS(&tls.Config{RootCAs: a.pool})
	for target, c := range map[string]struct {
		to, asked string
		options   clientOptions
	}{
		"no.such.host:1":          {cleartext, "no.such.host:1 no.such.host:1", nil},
		"unix:/no/such":           {cleartext, "unix:/no/such unix:/no/such", nil},
		"mem:nobody":              {cleartext, "mem:nobody mem:nobody", nil},
		"ws://no.such.host/x":     {cleartext, "ws://no.such.host/x no.such.host:80", nil},
		"localhost:2":             {secure, "localhost:2 localhost:2", clientOptions{withTLS}},
		"mem:secure":              {secure, "mem:secure mem:secure", clientOptions{withTLS}},
		"wss://localhost:3/trunk": {secure, "wss://localhost:3/trunk localhost:3", clientOptions{withTLS}},
	} {
		t.Run(target, func(t *testing.T) {
			d := &tunnel{to: c.to}
			mustEcho(t, dial(t, target, append(c.options, trunkcall.WithDialer(d.dial))...), "x")
			d.mu.Lock()
			defer d.mu.Unlock()
			if !slices.Equal(d.asked, []string{c.asked}) {
				t.Fatalf("asked for %q, want %q", d.asked, c.asked)
			}
		})
	}
}

func TestADialerThatFailsOrPanicsIsNamedByTheCall(t *testing.T) {
	for said, dialer := range map[string]trunkcall.Dialer{
		"no way": func(context.Context, trunkcall.Endpoint, string) (net.Conn, error) { return nil, errors.New("no way") },
		"the dialer panicked: oh no": func(context.Context, trunkcall.Endpoint, string) (net.Conn, error) {
			panic("oh no")
		},
	} {
		c := newClient(t, "a:1", trunkcall.WithDialer(dialer))
		_, err := echo.Call(soon(t), c, text("x"))
		wantsText(t, wants(t, err, trunkcall.Unavailable, trunkcall.NotSent).Message, "a:1", said)
		c.Close()
	}
}

// A server holds buffers and a stack for each handshake, so a client of many connections does not begin all at once.
func TestAtMost64ConnectionsToAnEndpointAreOpenedAtATime(t *testing.T) {
	_, address := serve(t, nil, standard()...)
	var begun, opening, most int
	var mu sync.Mutex
	full := make(chan struct{}) // closed once 64 are being opened
	dialer := func(ctx context.Context, _ trunkcall.Endpoint, address string) (net.Conn, error) {
		mu.Lock()
		opening++
		most = max(most, opening)
		if begun++; begun == 64 {
			close(full)
		}
		mu.Unlock()
		defer func() {
			mu.Lock()
			opening--
			mu.Unlock()
		}()
		select {
		case <-full:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	c := dial(t, address, trunkcall.WithConnections(100), trunkcall.WithDialer(dialer))
	if got := len(c.Connections()); got != 100 {
		t.Errorf("%d connections are open, want 100", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if most != 64 {
		t.Errorf("%d connections were opened at a time, want 64", most)
	}
}
