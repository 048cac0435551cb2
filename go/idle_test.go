package trunkcall_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
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

func TestAClientThatIsIdleHasItsEndpointsAsTheVectorsSay(t *testing.T) {
	data, err := os.ReadFile("../spec/vectors/client.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Idle []struct {
			ID, Balancer  string
			Serves        []bool
			Before, After []string
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors.Idle) == 0 {
		t.Fatal(err, len(vectors.Idle))
	}
	balancers := map[string]trunkcall.Balancer{"first": trunkcall.First(), "round_robin": trunkcall.RoundRobin(), "least_loaded": trunkcall.LeastLoaded()}
	for _, v := range vectors.Idle {
		t.Run(v.ID, func(t *testing.T) {
			var targets []string
			for _, serves := range v.Serves {
				if serves {
					_, target := serve(t, nil, standard()...)
					targets = append(targets, target)
					continue
				}
				refuses := rawframe.Listen(t)
				_ = refuses.Close()
				targets = append(targets, refuses.Target())
			}
			c := newClient(t, strings.Join(targets, ","), trunkcall.WithBalancer(balancers[v.Balancer]))
			t.Cleanup(c.Close)
			become := func(want []string, do func()) {
				eventually(t, strings.Join(want, ", "), func() bool {
					do()
					var states []string
					for _, e := range c.Endpoints() {
						states = append(states, e.State.String())
					}
					return slices.Equal(states, want)
				})
			}
			for range 2 {
				become(v.Before, func() { mustEcho(t, c, "x") })
				become(v.After, func() { trunkcall.CloseIdle(c) })
			}
		})
	}
}
