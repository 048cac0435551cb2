// Metrics counts calls of all kinds for Prometheus, at both ends, by one interceptor.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/trunkcall/trunkcall/examples/go/internal/users"
	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

type metrics struct {
	open    *prometheus.GaugeVec
	seconds *prometheus.HistogramVec // which counts the calls, too
}

func newMetrics(registry *prometheus.Registry) *metrics {
	return &metrics{
		promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{Name: "rpc_open_calls", Help: "Calls that are open."}, []string{"side", "method"}),
		promauto.With(registry).NewHistogramVec(prometheus.HistogramOpts{Name: "rpc_seconds", Help: "What calls took."}, []string{"side", "method", "code"}),
	}
}

// of is the interceptor of one side: "client" or "server".
func (m *metrics) of(side string) trunkcall.Interceptor {
	return func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		began, method := time.Now(), call.Method.Name
		m.open.WithLabelValues(side, method).Inc()
		call.OnEnd(func(s trunkcall.Status) { // also of a stream, and of one that its user drops
			m.open.WithLabelValues(side, method).Dec()
			m.seconds.WithLabelValues(side, method, s.Code.String()).Observe(time.Since(began).Seconds())
		})
		return next(ctx, call)
	}
}

func main() {
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	server := users.Serve(trunkcall.WithInterceptors(m.of("server")))
	client := users.Client(server, trunkcall.WithInterceptors(m.of("client")))
	list, err := users.List.Call(context.Background(), client, &pb.ListUsersRequest{Count: 2})
	users.Check(err)
	for _, err := range list.All() {
		fmt.Println(trunkcall.StatusOf(err).Code)
	}
	client.Close()
	users.Check(server.Stop(context.Background()))
	page := httptest.NewRecorder() // in earnest: http.ListenAndServe
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	fmt.Print(page.Body.String())
}
