package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/protobuf/encoding/protojson"
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

// serve starts a server as it is asked to on in, says on out where it is, and
// ends when it is told to by a signal.
func serve(in io.Reader, out io.Writer) error {
	if err := loadSchema(); err != nil {
		return err
	}
	wanted := asked{}
	request := newMessage("ServerCompatRequest")
	if err := readMessage(in, request, &wanted); err != nil {
		return err
	}
	options, err := wanted.options()
	if err != nil {
		return err
	}
	server, err := trunkcall.NewServer(options...)
	if err != nil {
		return err
	}
	if err := server.Register(handlers()...); err != nil {
		return err
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close()
	where := map[string]any{"host": "127.0.0.1", "port": address.(*net.TCPAddr).Port}
	if wanted.UseTLS {
		where["pemCert"] = wanted.ServerCreds.Cert
	}
	if err := writeMessage(out, "ServerCompatResponse", where); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
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

// readMessage reads a message behind its length, and fills in a struct shaped as
// its JSON is.
func readMessage(in io.Reader, m proto.Message, into any) error {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(in, b); err != nil {
		return err
	}
	if err := proto.Unmarshal(b, m); err != nil {
		return err
	}
	return shape(m, into)
}

func writeMessage(out io.Writer, name string, value any) error {
	m, err := message(name, value)
	if err != nil {
		return err
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	_, err = out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// shape fills in a struct that is shaped as a message's JSON is.
func shape(m proto.Message, into any) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// message makes a message of the suite from what its JSON would be.
func message(name string, value any) (proto.Message, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	m := newMessage(name)
	if err := protojson.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
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
