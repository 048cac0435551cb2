package publicsuite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
)

// asked is what the suite asks of a server: a ServerCompatRequest.
type asked struct {
	UseTLS              bool                       `json:"useTls"`
	ClientTLSCert       []byte                     `json:"clientTlsCert"`
	MessageReceiveLimit uint32                     `json:"messageReceiveLimit"`
	ServerCreds         struct{ Cert, Key []byte } `json:"serverCreds"`
}

// Serve starts a server as it is asked to on in, says on out where it is, and
// ends when ended has something.
func Serve(in io.Reader, out io.Writer, ended <-chan os.Signal) error {
	wanted, read := asked{}, make(chan error, 1)
	go func() { read <- readMessage(in, "ServerCompatRequest", &wanted) }()
	select {
	case err := <-read:
		if err != nil {
			return err
		}
	case <-ended:
		return nil
	}
	options, err := wanted.options()
	if err != nil {
		return err
	}
	server, err := trunkcall.NewServer(options...)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.Register(handlers()...); err != nil {
		return err
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return err
	}
	where := map[string]any{"host": host, "port": json.Number(port)}
	if wanted.UseTLS {
		where["pemCert"] = wanted.ServerCreds.Cert
	}
	if err := writeMessage(out, "ServerCompatResponse", where); err != nil {
		return err
	}
	<-ended
	return nil
}

func (a *asked) options() ([]trunkcall.ServerOption, error) {
	var options []trunkcall.ServerOption
	if a.MessageReceiveLimit != 0 {
		options = append(options, trunkcall.WithLimits(trunkcall.Limits{MessageBytes: a.MessageReceiveLimit}))
	}
	if !a.UseTLS {
		return options, nil
	}
	certificate, err := tls.X509KeyPair(a.ServerCreds.Cert, a.ServerCreds.Key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if len(a.ClientTLSCert) > 0 {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(a.ClientTLSCert)
	}
	return append(options, trunkcall.WithTLS(config)), nil
}

func handlers() []trunkcall.Handler {
	method := func(name string, kind trunkcall.Kind) trunkcall.Method {
		return trunkcall.Method{Name: "/" + schemaPackage + "ConformanceService/" + name, Kind: kind}
	}
	unary := func(name string) trunkcall.Handler {
		return trunkcall.Handler{
			Method: method(name, trunkcall.KindUnary), NoSideEffects: name == "IdempotentUnary",
			Unary: func(ctx context.Context, in *trunkcall.ServerCall) (any, error) {
				request := newMessage(name + "Request")
				if err := in.Decode(request); err != nil {
					return nil, err
				}
				return answerOne(ctx, name, []proto.Message{request})
			},
		}
	}
	stream := func(name string, kind trunkcall.Kind, serve func(context.Context, trunkcall.Stream) error) trunkcall.Handler {
		return trunkcall.Handler{Method: method(name, kind), Stream: serve}
	}
	return []trunkcall.Handler{
		unary("Unary"), unary("IdempotentUnary"),
		stream("ClientStream", trunkcall.KindClientStream, clientStream),
		stream("ServerStream", trunkcall.KindServerStream, serverStream),
		stream("BidiStream", trunkcall.KindBidiStream, bidiStream),
	}
}
