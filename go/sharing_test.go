package trunkcall_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// sayState is a handler that answers with how its goroutine is described, such as
// "goroutine 7 [running, locked to thread]:".
func sayState(context.Context, *payload) (*payload, error) {
	stack := make([]byte, 1<<10)
	stack = stack[:runtime.Stack(stack, false)]
	line, _, _ := bytes.Cut(stack, []byte("\n"))
	return &payload{Data: line}, nil
}

// callers are those of a method by every protocol of a server: each returns what it answers.
func callers(t *testing.T, target string) map[string]func(name string) string {
	post := func(over func(*http.Protocols)) func(name string) string {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		over(transport.Protocols)
		t.Cleanup(transport.CloseIdleConnections)
		client := &http.Client{Transport: transport}
		return func(name string) string {
			answer, err := client.Post("http://"+target+name, "application/proto", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatal(answer.Status, string(body), err)
			}
			return string(body)
		}
	}
	c := dial(t, target)
	return map[string]func(name string) string{
		"native": func(name string) string {
			method := trunkcall.Unary[payload, payload](name)
			answer, err := method.Call(soon(t), c, text(""))
			if err != nil {
				t.Fatal(err)
			}
			return string(answer.GetData())
		},
		"HTTP/1.1": post(func(p *http.Protocols) { p.SetHTTP1(true) }),
		"HTTP/2":   post(func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }),
	}
}

func TestWithoutSharingAHandlersThreadIsNobodyElses(t *testing.T) {
	const lock, state = "/test.Service/Lock", "/test.Service/State"
	for _, inline := range []bool{false, true} {
		handlers := []trunkcall.Handler{
			trunkcall.Unary[payload, payload](lock).Handler(func(context.Context, *payload) (*payload, error) {
				runtime.LockOSThread()
				return text("locked"), nil
			}),
			trunkcall.Unary[payload, payload](state).Handler(sayState),
		}
		for i := range handlers {
			handlers[i].Inline = inline
		}
		_, target := serve(t, serverOptions{trunkcall.WithoutSharing()}, handlers...)
		for protocol, call := range callers(t, target) {
			for range 20 {
				call(lock)
				if line := call(state); !strings.Contains(line, "goroutine ") || strings.Contains(line, "locked") {
					t.Fatalf("%s, inline %v: %s", protocol, inline, line)
				}
			}
		}
	}
}

func TestWithoutSharingAHandlerMayEndItsGoroutine(t *testing.T) {
	log := &logged{}
	_, target := serve(t, serverOptions{trunkcall.WithoutSharing(), log.option()}, echo.Handler(serveEcho),
		block.Handler(func(context.Context, *payload) (*payload, error) {
			runtime.Goexit()
			return nil, nil
		}))

	c := dial(t, target)
	for range 3 {
		if _, err := block.Call(soon(t), c, text("")); trunkcall.StatusOf(err).Code != trunkcall.Internal {
			t.Fatal(err)
		}
		mustEcho(t, c, "after it")
	}
}

// labelsHere are the profiler's labels of the goroutine that it runs on, as a profile
// prints them.
func labelsHere(t *testing.T) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Error(err)
	}
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(record, "_test.labelsHere") {
			_, labels, _ := strings.Cut(record, "# labels: ")
			labels, _, _ = strings.Cut(labels, "\n")
			return labels
		}
	}
	t.Error("a goroutine is not in its profile")
	return ""
}

func TestProfilerLabelsOfAHandlerAreNobodyElses(t *testing.T) {
	const label, state = "/test.Service/Label", "/test.Service/State"
	for name, options := range map[string]serverOptions{"shared": nil, "not shared": {trunkcall.WithoutSharing()}} {
		_, target := serve(t, options,
			trunkcall.Unary[payload, payload](label).Handler(func(ctx context.Context, _ *payload) (*payload, error) {
				pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("left", "behind")))
				return text(labelsHere(t)), nil
			}),
			trunkcall.Unary[payload, payload](state).Handler(func(context.Context, *payload) (*payload, error) {
				return text("labels " + labelsHere(t)), nil
			}))
		for protocol, call := range callers(t, target) {
			for range 20 {
				if labels := call(label); !strings.Contains(labels, "behind") {
					t.Fatalf("%s, %s: its own labels are %q", protocol, name, labels)
				}
				if labels := call(state); strings.Contains(labels, "behind") {
					t.Fatalf("%s, %s: the next handler has %s", protocol, name, labels)
				}
			}
		}
	}
}

func TestPollersAndSpinningAreSwitchedOffByOneOptionEach(t *testing.T) {
	const never = math.MaxInt
	for name, x := range map[string]struct {
		options    clientOptions
		polls      bool
		noSpinning bool
	}{
		"by default":       {nil, true, false},
		"WithoutPollers":   {clientOptions{trunkcall.WithoutPollers()}, false, false},
		"WithoutSpinning":  {clientOptions{trunkcall.WithoutSpinning()}, true, true},
		"without the both": {clientOptions{trunkcall.WithoutSpinning(), trunkcall.WithoutPollers()}, false, true},
	} {
		c := newClient(t, "127.0.0.1:1", x.options...)
		from, noSpinning := trunkcall.Switches(c)
		if (from != never) != x.polls || noSpinning != x.noSpinning {
			t.Errorf("%s: polled from %d on, no spinning %v", name, from, noSpinning)
		}
		c.Close()
	}
}
