package trunkcall_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
)

// A port that accepts and says nothing is another protocol's, or there is something before it. How a call ends that ran
// out of time says so, and what to look at.
func TestACallToAServerThatSaysNothingSaysSo(t *testing.T) {
	one, two := rawframe.Listen(t), rawframe.Listen(t)
	for name, target := range map[string]string{"one endpoint": one.Target(), "several": one.Target() + "," + two.Target()} {
		for kind, call := range map[string]func(context.Context, *trunkcall.Client) error{
			"unary": func(ctx context.Context, c *trunkcall.Client) error {
				_, err := echo.Call(ctx, c, text("x"))
				return err
			},
			"asynchronous": func(ctx context.Context, c *trunkcall.Client) error {
				ended := make(chan error, 1)
				echo.CallFunc(ctx, c, text("x"), func(_ *payload, err error) { ended <- err })
				return receive(t, ended, "end")
			},
			"stream": func(ctx context.Context, c *trunkcall.Client) error {
				stream, err := chat.Open(ctx, c)
				if err != nil {
					return err
				}
				_, err = stream.Receive()
				return err
			},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				c := newClient(t, target)
				t.Cleanup(c.Close)
				connecting, stop := context.WithCancel(context.Background())
				defer stop()
				go func() { _ = c.Connect(connecting) }()
				eventually(t, "a connection", func() bool { return len(c.Connections()) > 0 })
				ctx, cancel := within(50 * time.Millisecond)
				defer cancel()
				s := trunkcall.StatusOf(call(ctx, c))
				if s.Code != trunkcall.DeadlineExceeded {
					t.Fatal(s)
				}
				wantsText(t, s.Message, one.Target(), "it has accepted the connection and said nothing for ", "ms: check that", "TLS", "proxy or firewall")
			})
		}
	}
}

func TestWrongAddressesSayWhatWouldBeRight(t *testing.T) {
	for where, says := range map[string]string{
		"":                    "it is empty",
		"localhost":           "it has no port; with one it is, for example, localhost:8080",
		"127.0.0.1":           "it has no port; with one it is, for example, 127.0.0.1:8080",
		"[::1]":               "it has no port; with one it is, for example, [::1]:8080",
		"::1":                 "it has no port; with one it is, for example, [::1]:8080",
		"8080":                "it has no host; that port on this machine is localhost:8080",
		"::1:80":              "stands in brackets, such as [::1]:80",
		"http://localhost:80": "it is a URL; as an address it is localhost:80",
		"https://x.test:1/a":  "it is a URL; as an address it is x.test:1, and TLS is an option",
		"grpc://x.test":       "it is a URL",
		"/tmp/x.sock":         "it is a path; a Unix socket there is unix:/tmp/x.sock",
		"localhost:80/path":   "there is a path behind the port; without it, it is localhost:80",
		"a b:1":               "blank",
		"localhost:99999":     `a number from`,
		"localhost:http":      `not "http"`,
		"unix:":               "nothing behind unix:",
		"mem:":                "nothing behind mem:",
	} {
		_, err := trunkcall.Dial(soon(t), where)
		s := wants(t, err, trunkcall.FailedPrecondition, trunkcall.NotSent)
		wantsText(t, s.Message, "target ", says, "want ")
		server := newServer(t)
		if _, err = server.Listen(where); err == nil {
			t.Errorf("it listens on %q", where)
		} else {
			wantsText(t, err.Error(), "cannot listen on ", says, "want HOST:PORT, unix:PATH or mem:NAME")
		}
		server.Close()
	}
	_, err := trunkcall.NewClient("dns:///x.test:1")
	wantsText(t, err.Error(), "without which it is dns:x.test:1")
	server := newServer(t)
	defer server.Close()
	if err := server.Start(nil); err == nil || !strings.Contains(err.Error(), "a listener is nil") {
		t.Error(err)
	}
}
