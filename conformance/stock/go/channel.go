package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
)

// maxMessage is the framework's own limit, in bytes: gRPC's is 4 MiB.
const maxMessage = 64 << 20

// channel is one of the case's own, or the one for all cases that want the same.
func (p *program) channel(one *caseLine) (*grpc.ClientConn, error) {
	key, err := json.Marshal([]any{one.Target, one.TLS, one.Client})
	if err != nil {
		return nil, err
	}
	if kept := p.kept[string(key)]; kept != nil && !one.OwnConnection {
		return kept, nil
	}
	secured, err := one.TLS.credentials()
	if err != nil {
		return nil, err
	}
	defaults, err := one.Client.callOptions()
	if err != nil {
		return nil, err
	}
	quick := grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1, MaxDelay: 20 * time.Millisecond},
		MinConnectTimeout: 20 * time.Second, // grpc-go's own, which any parameters replace
	}
	conn, err := grpc.NewClient(one.Target,
		grpc.WithTransportCredentials(secured), grpc.WithDefaultCallOptions(defaults...), grpc.WithConnectParams(quick))
	if err == nil && !one.OwnConnection {
		p.kept[string(key)] = conn
	}
	return conn, err
}

func (s setup) callOptions() ([]grpc.CallOption, error) {
	limit := maxMessage
	if s.MaxMessage > 0 {
		limit = s.MaxMessage
	}
	options := []grpc.CallOption{grpc.MaxCallRecvMsgSize(limit)}
	if s.MaxMessage > 0 {
		options = append(options, grpc.MaxCallSendMsgSize(limit))
	}
	switch {
	case s.Compression == gzip.Name:
		options = append(options, grpc.UseCompressor(gzip.Name))
	case s.Compression != "":
		return nil, fmt.Errorf("grpc-go cannot compress with %s", s.Compression)
	case s.Codec != "":
		return nil, fmt.Errorf("grpc-go has no codec %s", s.Codec)
	}
	return options, nil
}

// credentials are those of a port in the clear where there are no files.
func (f *tlsFiles) credentials() (credentials.TransportCredentials, error) {
	if f == nil {
		return insecure.NewCredentials(), nil
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", f.CA)
	}
	if f.Cert != "" {
		own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return credentials.NewTLS(config), nil
}
