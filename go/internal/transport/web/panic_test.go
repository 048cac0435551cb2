package web_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"

	"github.com/trunkcall/trunkcall/go/internal/transport/web"
)

// fragile serves one method, in a way of its own.
type fragile func(a *web.Answer)

func (fragile) Lookup(method string) (web.Method, bool)        { return web.Method{Name: method}, true }
func (f fragile) Accept(*web.Call) (web.Served, *wire.Refusal) { return f, nil }
func (fragile) Refused(*web.Call, *wire.Refusal)               {}
func (fragile) Whole() bool                                    { return true }
func (fragile) Pace() *roles.Pace                              { return nil }
func (fragile) Compression() uint8                             { return 0 }
func (fragile) Stopped(web.Stop)                               {}
func (fragile) Dropped()                                       {}
func (f fragile) Serve(_ web.Exchange, a *web.Answer)          { f(a) }
func (f fragile) asks(t *testing.T, told func(any), fields ...string) (a *httptest.ResponseRecorder, ended any) {
	t.Helper()
	a = httptest.NewRecorder()
	r := httptest.NewRequestWithContext(web.WithPeer(t.Context(), nowhere{}), "POST", "/a/b", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	over := make(chan any)
	go func() {
		defer func() { over <- recover() }()
		(&web.HTTP{Dialects: dialects, Server: f, Catalog: f, Panicked: func(p any, _ []byte) { told(p) }}).ServeHTTP(a, r)
	}()
	return a, <-over
}

// A panic beside a handler is told and aborts the request, also where the call has
// a deadline and so runs on a goroutine that net/http knows nothing of.
func TestAPanicBesideAHandlerAbortsItsRequestOnly(t *testing.T) {
	for name, fields := range map[string][]string{"no deadline": nil, "deadline": {"Connect-Timeout-Ms", "60000"}} {
		t.Run(name, func(t *testing.T) {
			var told any
			a, ended := fragile(func(*web.Answer) { panic("a secret") }).asks(t, func(p any) { told = p }, fields...)
			if told != "a secret" || ended != http.ErrAbortHandler || a.Body.Len() > 0 {
				t.Errorf("told %v, ended by %v, answered %q", told, ended, a.Body)
			}
		})
	}
}

// What a Served says is answered although its handler has ended the goroutine.
func TestAHandlerThatEndsItsGoroutineIsAnswered(t *testing.T) {
	for name, fields := range map[string][]string{"no deadline": nil, "deadline": {"Connect-Timeout-Ms", "60000"}} {
		t.Run(name, func(t *testing.T) {
			a, _ := fragile(func(a *web.Answer) {
				a.Ending = wire.Ending{Code: wire.Internal, Message: "the handler panicked", Delivery: wire.Executed}
				runtime.Goexit()
			}).asks(t, nil, fields...)
			if a.Code != http.StatusInternalServerError || !strings.Contains(a.Body.String(), `"code":"internal"`) {
				t.Errorf("%d %q", a.Code, a.Body)
			}
		})
	}
}
