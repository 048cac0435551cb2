package trunkcall_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// contextKeeper is a balancer that keeps what contexts its picks have, and asks them.
type contextKeeper struct {
	with []context.Context
	seen func(ctx context.Context)
}

func (a *contextKeeper) Balance(endpoints []*trunkcall.EndpointState) trunkcall.Picker {
	return pickerFunc(func(p *trunkcall.Pick) *trunkcall.EndpointState {
		a.with = append(a.with, p.Context)
		a.seen(p.Context)
		return endpoints[0]
	})
}

// The context of a call with a timeout is one that whoever gets hold of it can rely on.
func TestTheContextOfATimeoutIsAContext(t *testing.T) {
	type key struct{}
	for name, test := range map[string]struct {
		answer func(context.Context, int) error
		code   trunkcall.Code
	}{
		"answered": {succeeds, trunkcall.OK},
		"late":     {takes(time.Hour), trunkcall.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			for _, early := range []bool{true, false} { // asked for its channel while the call runs, or never before its end
				var derived []context.Context
				balancer := &contextKeeper{seen: func(ctx context.Context) {
					deadline, ok := ctx.Deadline()
					if left := time.Until(deadline); !ok || left != time.Second || ctx.Err() != nil || ctx.Value(key{}) != "kept" {
						t.Errorf("%v left, %v, %v", left, ctx.Err(), ctx.Value(key{}))
					}
					if early {
						child, cancel := context.WithCancel(ctx)
						t.Cleanup(cancel)
						derived = append(derived, child)
					}
				}}
				server := &repeatedly{answer: test.answer}
				several(t, "", []*repeatedly{server, server}, func(t *testing.T, c *trunkcall.Client) {
					ctx := context.WithValue(t.Context(), key{}, "kept")
					_, err := echo.Call(ctx, c, text("x"), trunkcall.CallTimeout(time.Second))
					s := trunkcall.StatusOf(err)
					if s.Code != test.code || s.Code != trunkcall.OK && s.Local && !strings.Contains(s.Message, "had 1s") {
						t.Error(err)
					}
					synctest.Wait()
					for _, one := range append(derived, balancer.with...) {
						select {
						case <-one.Done():
						default:
							t.Error("it has not ended")
						}
						if one.Err() == nil {
							t.Error("it has no error")
						}
					}
					// The server, too, ends a call at its deadline: if it is first, the context may end for either reason.
					canceled, timed := !s.Local, s.Code != trunkcall.OK
					for _, one := range derived {
						switch cause := context.Cause(one); {
						case canceled && errors.Is(cause, context.Canceled):
						case timed && strings.Contains(cause.Error(), "the timeout of 1s passed"):
						default:
							t.Error(cause)
						}
					}
				}, trunkcall.WithBalancer(balancer))
			}
		})
	}
}

func TestATimeoutWithinASoonerDeadlineIsThatOne(t *testing.T) {
	several(t, "", []*repeatedly{{answer: takes(time.Hour)}}, func(t *testing.T, c *trunkcall.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := echo.Call(ctx, c, text("x"), trunkcall.CallTimeout(time.Minute))
		if s := trunkcall.StatusOf(err); s.Code != trunkcall.DeadlineExceeded || time.Since(began) != time.Second || strings.Contains(s.Message, "had") {
			t.Error(err, time.Since(began))
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		_, err = echo.Call(ctx, c, text("x"), trunkcall.CallTimeout(time.Minute))
		if s := trunkcall.StatusOf(err); s.Code != trunkcall.Canceled || !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Error(err, time.Since(began))
		}
	})
}
