package trunkcall_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// A connection beyond the limits is told so in its own protocol; when others have gone there is room again.
func TestConnectionsBeyondTheirLimitAreTurnedAway(t *testing.T) {
	t.Parallel() // it waits more than it computes
	for name, option := range map[string]trunkcall.ServerOption{
		"in all": trunkcall.WithMaxConnections(3), "per address": trunkcall.WithMaxConnectionsPerAddress(3),
	} {
		t.Run(name, func(t *testing.T) {
			s, target := serve(t, serverOptions{option}, standard()...)
			native, overHTTP := dial(t, target), newClient(t, "ws://"+target+"/")
			defer overHTTP.Close()
			mustEcho(t, overHTTP, "as a WebSocket")
			third := dial(t, target)
			_, err := trunkcall.Dial(soon(t), target)
			if err == nil || !strings.Contains(err.Error(), "limit of 3") {
				t.Fatal(err)
			}

			p := raw(t, target)
			if f := p.Await(wire.GoAway); f.Word != wire.GoAwayNotServed {
				t.Fatalf("%+v", f.Header)
			}
			request, err := http.NewRequestWithContext(soon(t), http.MethodPost, "http://"+target+"/test.Service/Echo", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode < 400 || !strings.Contains(string(body), "limit of 3") {
				t.Fatal(response.Status, string(body))
			}
			r := (&attacked{t: t, target: target}).raid(true)
			if code := receive(t, r.ended, "GOAWAY"); code != http2.ErrCodeNo && code != http2.ErrCodeProtocol && code != http2.ErrCodeInadequateSecurity {
				t.Fatal(code)
			}
			if s.Gauges().RejectedConnections < 4 {
				t.Fatal(s.Gauges().RejectedConnections)
			}
			mustEcho(t, native, "those that are there go on")
			mustEcho(t, overHTTP, "those that are there go on")

			third.Close()
			native.Close()
			overHTTP.Close()
			for range 3 { // all have been counted out
				eventually(t, "there is room again", func() bool {
					c, err := trunkcall.Dial(soon(t), target)
					if err == nil {
						t.Cleanup(c.Close)
					}
					return err == nil
				})
			}
		})
	}
}

// Connections from other addresses do not count.
func TestALimitPerAddressCountsAddresses(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithMaxConnectionsPerAddress(1), trunkcall.WithProxyProtocol()}, standard()...)
	from := func(address string) error {
		socket, err := net.Dial("tcp", target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = socket.Close() })
		_ = socket.SetDeadline(time.Now().Add(long))
		_, _ = io.WriteString(socket, "PROXY TCP4 "+address+" 127.0.0.1 1000 2000\r\n")
		_, _ = io.WriteString(socket, "POST /test.Service/Echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		response, err := http.ReadResponse(bufio.NewReader(socket), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(response.Body)
			return errors.New(string(body))
		}
		return nil
	}
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		if err := from(address); err != nil {
			t.Fatal(address, err)
		}
	}
	if err := from("192.0.2.2"); err == nil || !strings.Contains(err.Error(), "192.0.2.2/32") {
		t.Fatal(err)
	}
	_, err := trunkcall.NewServer(trunkcall.WithMaxConnections(0))
	if err == nil || !strings.Contains(err.Error(), "max connections is 0, least 1") {
		t.Fatal(err)
	}
}
