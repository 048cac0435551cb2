package trunkcall_test

import (
	"context"
	"net"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// An attempt to connect that is under way while the other connections are idle brings a connection when they are closed:
// all calls would go there from then on.
func TestConnectionsStayWhileAnotherIsBeingOpened(t *testing.T) {
	_, one := serve(t, nil, standard()...)
	_, two := serve(t, nil, standard()...)
	entered, release := make(chan struct{}), make(chan struct{})
	c := newClient(t, one+","+two, trunkcall.WithDialer(func(ctx context.Context, _ trunkcall.Endpoint, address string) (net.Conn, error) {
		if address == two {
			select {
			case entered <- struct{}{}:
				<-release
			case <-release:
			}
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}))
	t.Cleanup(c.Close)
	mustEcho(t, c, "x")
	receive(t, entered, "attempt")
	trunkcall.CloseIdle(c) // it notes how many calls there were
	trunkcall.CloseIdle(c)
	close(release)
	eventually(t, "the other is connected", func() bool { return c.Endpoints()[1].State == trunkcall.StateReady })
	eventually(t, "both are connected", func() bool {
		mustEcho(t, c, "x")
		for _, e := range c.Endpoints() {
			if e.State != trunkcall.StateReady {
				return false
			}
		}
		return true
	})
	eventually(t, "all are closed together once none was used", func() bool {
		trunkcall.CloseIdle(c)
		return len(c.Connections()) == 0
	})
	mustEcho(t, c, "x")
	eventually(t, "and opened together", func() bool { return len(c.Connections()) == 2 })
}

// Who waits for a connection wants all that the balancer wants.
func TestConnectionsStayWhileACallWaits(t *testing.T) {
	_, one := serve(t, nil, standard()...)
	_, two := serve(t, nil, standard()...)
	nowhere := trunkcall.WithBalancer(balancerFunc(func(all []*trunkcall.EndpointState) trunkcall.Picker {
		return pickerFunc(func(p *trunkcall.Pick) *trunkcall.EndpointState {
			if p.Metadata.Get("to") == "nobody" {
				return nil
			}
			return all[0]
		})
	}))
	c := dial(t, one+","+two, nowhere)
	ctx, cancel := context.WithCancel(trunkcall.WithMetadata(context.Background(), trunkcall.Metadata{{Key: "to", Value: "nobody"}}))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(ctx, c, text("x"), trunkcall.WaitForReady())
		ended <- err
	}()
	eventually(t, "it waits", func() bool { return trunkcall.Waiting(c) > 0 })
	trunkcall.CloseIdle(c)
	trunkcall.CloseIdle(c)
	if n := len(c.Connections()); n != 2 {
		t.Errorf("%d connections are left", n)
	}
	for _, e := range c.Endpoints() {
		if e.State != trunkcall.StateReady {
			t.Errorf("%s is %v", e.Endpoint.ID, e.State)
		}
	}
	cancel()
	wants(t, receive(t, ended, "end"), trunkcall.Canceled, trunkcall.NotSent)
}
