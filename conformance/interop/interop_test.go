package interop

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/testdata"
	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(fatalPanics{})
	os.Exit(m.Run())
}

func TestInterop(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		t.Run(name, func(t *testing.T) {
			c := channels[name](t)
			all := maps.Clone(cases)
			if c.dial != nil {
				maps.Copy(all, stockCases)
				delete(all, clientsOwn)
			}
			for _, name := range slices.Sorted(maps.Keys(all)) {
				t.Run(name, func(t *testing.T) {
					if err := carryOut(t, all[name], c); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// TestEveryCaseHasAPlace fails when grpc-go's client has a case that is carried out nowhere
// and has no reason for that.
func TestEveryCaseHasAPlace(t *testing.T) {
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/grpc").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "interop", "client", "client.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\tcase "(\w+)":$`).FindAllSubmatch(source, -1)
	if len(found) < 20 {
		t.Fatalf("only %d cases are found in grpc-go's client", len(found))
	}
	for _, one := range found {
		name := string(one[1])
		if cases[name] == nil && stockCases[name] == nil && notApplicable[name] == "" {
			t.Errorf("%s is nowhere", name)
		}
	}
}

// channels are the ways to the server.
var channels = map[string]func(*testing.T) channel{
	"native":            func(t *testing.T) channel { return native(t, "", nil) },
	"native, TLS":       func(t *testing.T) channel { return native(t, "", clientTLS(t)) },
	"native, WebSocket": func(t *testing.T) channel { return native(t, "ws://", nil) },
	"HTTP/2":            func(t *testing.T) channel { return stock(t, nil) },
	"HTTP/2, TLS":       func(t *testing.T) channel { return stock(t, clientTLS(t)) },
}

// serve has grpc-go's test service answer on a port, with TLS if clients want it.
func serve(t *testing.T, secure bool) string {
	t.Helper()
	var options []trunkcall.ServerOption
	if secure {
		own, err := tls.LoadX509KeyPair(testdata.Path("server1.pem"), testdata.Path("server1.key"))
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}))
	}
	server, err := trunkcall.NewServer(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	testgrpc.RegisterTestServiceServer(grpcstub.Registrar(server), interop.NewTestServer())
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return address.String()
}

// native is a client's connections, as stock stubs take them.
func native(t *testing.T, scheme string, config *tls.Config) channel {
	t.Helper()
	var options []trunkcall.ClientOption
	if config != nil {
		options = append(options, trunkcall.WithTLS(config))
	}
	client, err := trunkcall.Dial(t.Context(), scheme+serve(t, config != nil), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return channel{ClientConnInterface: grpcstub.Conn(client)}
}

// stock is a channel of grpc-go's own.
func stock(t *testing.T, config *tls.Config) channel {
	t.Helper()
	address := serve(t, config != nil)
	secured := insecure.NewCredentials()
	if config != nil {
		secured = credentials.NewTLS(config)
	}
	dial := func() *grpc.ClientConn {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(secured))
		if err != nil {
			panic(err)
		}
		return conn
	}
	conn := dial()
	t.Cleanup(func() { _ = conn.Close() })
	return channel{ClientConnInterface: conn, dial: dial}
}

// clientTLS trusts the certificate of serve.
func clientTLS(t *testing.T) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(testdata.Path("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: trusted, ServerName: "x.test.google.fr", MinVersion: tls.VersionTLS12}
}

// patience bounds a case in which something hangs.
const patience = 2 * time.Minute

// carryOut returns why the case failed.
func carryOut(t *testing.T, do testCase, c channel) (err error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer func() { err = asError(recover()) }()
	do(ctx, c)
	return nil
}

// callNoMethod calls what the service does not have, with messages that are nil.
func callNoMethod(ctx context.Context, c channel) {
	var request, answer proto.Message
	err := c.Invoke(ctx, "/grpc.testing.TestService/UnimplementedCall", request, answer)
	if status.Code(err) != codes.Unimplemented {
		grpclog.Fatalf("Invoke: %v, want the code %s", err, codes.Unimplemented)
	}
}
