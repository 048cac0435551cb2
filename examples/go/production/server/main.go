// Command server is a server as one would run it: TLS, tokens, metrics, health, streams, error details, and an end that
// loses no call.
//
//	go build -C examples/go -o /tmp/ ./production/...
//	TOKEN=secret server -cert cert.pem -key key.pem -listen 127.0.0.1:4000 -http 127.0.0.1:4001
package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

const service = "/trunkcall.example.v1.UserService/"

var (
	getUser   = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse](service + "GetUser")
	listUsers = trunkcall.ServerStream[pb.ListUsersRequest, pb.GetUserResponse](service + "ListUsers")

	seconds = promauto.NewHistogramVec(prometheus.HistogramOpts{Name: "rpc_server_seconds"}, []string{"method", "code"})
)

// admit says who calls. It is asked before anything of the call is decoded; who is not let in knows that nothing ran.
func admit(token string) func(context.Context, *trunkcall.Arrival) (trunkcall.Admission, error) {
	return func(_ context.Context, call *trunkcall.Arrival) (trunkcall.Admission, error) {
		if call.Method.Name == healthpb.Health_Check_FullMethodName {
			return trunkcall.Admission{}, nil // probes have no token
		}
		given := call.Metadata.Get("authorization")
		if subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+token)) == 0 {
			return trunkcall.Admission{}, trunkcall.Errorf(trunkcall.Unauthenticated, "a valid token is needed")
		}
		return trunkcall.Admission{Principal: "front"}, nil
	}
}

// measure counts calls and times them, of all kinds.
func measure(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
	began := time.Now()
	err := next(ctx, call)
	seconds.WithLabelValues(call.Method.Name, trunkcall.StatusOf(err).Code.String()).Observe(time.Since(began).Seconds())
	return err
}

func user(ctx context.Context, in *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	if in.UserId < 1 {
		status := trunkcall.Status{Code: trunkcall.InvalidArgument, Message: "ids begin at 1"}
		return nil, status.WithDetails(&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "user_id", Description: "must be at least 1"},
		}}).Err()
	}
	return &pb.GetUserResponse{Name: fmt.Sprintf("user-%d, asked for by %v", in.UserId, trunkcall.PrincipalFromContext(ctx))}, nil
}

func users(_ context.Context, in *pb.ListUsersRequest, out *trunkcall.Sender[pb.GetUserResponse]) error {
	for id := range in.Count {
		if err := out.Send(&pb.GetUserResponse{Name: fmt.Sprintf("user-%d", id+1)}); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	cert, key := flag.String("cert", "cert.pem", "certificate"), flag.String("key", "key.pem", "its key")
	listen, web := flag.String("listen", "127.0.0.1:0", "address"), flag.String("http", "127.0.0.1:0", "address for /metrics")
	delay := flag.Duration("drain-delay", 5*time.Second, "how long to serve on after SIGTERM, until nobody is sent here")
	flag.Parse()
	token := os.Getenv("TOKEN")
	if token == "" {
		log.Fatal("TOKEN is empty: everybody would be let in")
	}

	server, err := trunkcall.NewServer(
		trunkcall.WithTLSFiles(*cert, *key), // read again when they change
		trunkcall.WithAdmission(admit(token)),
		trunkcall.WithInterceptors(measure),
		trunkcall.WithMaxConnectionAge(time.Hour), // so that load spreads to new servers
		trunkcall.WithDrainDelay(*delay),
		trunkcall.WithLogger(slog.Default()),
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Register(getUser.Handler(user), listUsers.Handler(users)); err != nil {
		log.Fatal(err)
	}
	// A probe of Kubernetes, on the same port: NOT_SERVING as soon as the server is to stop.
	healthpb.RegisterHealthServer(grpcstub.Registrar(server), health.NewServer())

	address, err := server.Listen(*listen)
	if err != nil {
		log.Fatal(err)
	}
	operations, err := net.Listen("tcp", *web)
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/metrics", promhttp.Handler())
	go func() { log.Print(http.Serve(operations, nil)) }() //nolint:gosec // for the cluster's own metrics, on a port of its own
	fmt.Println("serving", address, "and HTTP on", operations.Addr())

	go func() {
		signals, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
		defer cancel()
		<-signals.Done()
		grace, cancel := context.WithTimeout(context.Background(), *delay+30*time.Second)
		defer cancel()
		if err := server.Stop(grace); err != nil {
			log.Print(err)
		}
	}()
	if err := server.Serve(); !errors.Is(err, trunkcall.ErrServerStopped) { // returns when Stop is done
		log.Fatal(err)
	}
	fmt.Println("stopped")
}
