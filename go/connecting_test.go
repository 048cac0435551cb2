package trunkcall_test

import (
	"context"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
)

// awaited is a context that says when somebody begins to wait for its end.
type awaited struct {
	context.Context
	once  *sync.Once
	waits chan struct{}
}

func (a awaited) Done() <-chan struct{} {
	a.once.Do(func() { close(a.waits) })
	return a.Context.Done()
}

// Connect waits for the greeting of the one endpoint that there is. When that fails, and there is another by then, the
// client can work.
func TestConnectFailsOnlyIfNoEndpointIsReached(t *testing.T) {
	l := rawframe.Listen(t)
	_, target := serve(t, nil, standard()...)
	p := newPushed()
	c := newClient(t, "pushed:rest", trunkcall.WithResolver("pushed", p))
	t.Cleanup(c.Close)
	first := make(chan error, 1)
	go func() { first <- c.Connect(soon(t)) }()
	w := receive(t, p.watch, "resolver")
	mustSet(t, w, at(l.Target()))
	silent := l.Next()
	eventually(t, "it is connected", func() bool { return c.Endpoints()[0].State == trunkcall.StateReady })

	ctx := awaited{soon(t), &sync.Once{}, make(chan struct{})}
	connected := make(chan error, 1)
	go func() { connected <- c.Connect(ctx) }()
	receive(t, ctx.waits, "wait for the greeting")
	mustSet(t, w, at(l.Target(), target))
	eventually(t, "the other is connected", func() bool {
		all := c.Endpoints()
		return len(all) == 2 && all[1].State == trunkcall.StateReady
	})
	silent.Reset()
	if err := receive(t, connected, "end of Connect"); err != nil {
		t.Error(err)
	}
	if err := receive(t, first, "end of Connect"); err != nil {
		t.Error(err)
	}
}

// Dial is content with those of several endpoints that are there.
func TestDialIsContentWithOneOfSeveralEndpoints(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c := dial(t, "mem:nobody,"+target+",127.0.0.1:1")
	mustEcho(t, c, "x")
	_, err := trunkcall.Dial(soon(t), "mem:nobody,127.0.0.1:1")
	wantsText(t, wants(t, err, trunkcall.Unavailable, trunkcall.NotSent).Message, "mem:nobody", "127.0.0.1:1")
}
