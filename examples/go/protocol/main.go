// Protocol serves a protocol of its own on the port of a Trunkcall server, beside all others: lines of JSON. A
// request is a line {"method": …, "argument": …}, its answer the line {"result": …} or {"error": …}, or as
// many of the former as a stream has messages.
//
//	go run . & printf '{"method":"/greeter/greet","argument":["Ada"]}\n' | nc 127.0.0.1 7000
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// lines is the protocol.
type lines struct{ calls *trunkcall.Calls }

func (l *lines) Name() string { return "lines" }

func (l *lines) Start(calls *trunkcall.Calls) error {
	l.calls = calls
	return nil
}

// Stop has nothing to do: connections end by themselves when their context does.
func (l *lines) Stop(context.Context) error { return nil }

// ALPN names none: over TLS it is recognised as in the clear.
func (l *lines) ALPN() []string { return nil }

// Recognize takes what begins with a brace, as none of the server's other protocols does.
func (l *lines) Recognize(first []byte) trunkcall.Recognition {
	if first[0] == '{' {
		return trunkcall.Recognized
	}
	return trunkcall.NotRecognized
}

// ServeConn answers one request after the other until its client has gone, or the connection is to end.
func (l *lines) ServeConn(ctx context.Context, conn *trunkcall.PortConn) {
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })() // the line after this one is not waited for
	for in := bufio.NewScanner(conn); in.Scan(); {
		var request struct {
			Method   string
			Argument json.RawMessage
		}
		err := json.Unmarshal(in.Bytes(), &request)
		if err == nil {
			err = l.call(conn, request.Method, request.Argument)
		}
		if err != nil {
			_ = json.NewEncoder(conn).Encode(map[string]string{"error": err.Error()})
		}
	}
}

// call hands one request over to the server.
func (l *lines) call(conn *trunkcall.PortConn, method string, argument []byte) error {
	call, err := l.calls.Accept(&trunkcall.IncomingCall{
		Method: method, Codec: codefirst.JSON.Name(), Conn: conn, Deadline: time.Now().Add(30 * time.Second),
	})
	if err != nil {
		return err
	}
	_, err = call.Serve(context.Background(), &exchange{conn: conn, argument: argument})
	return err
}

// exchange is the messages of one call: a request, and as many answers as come.
type exchange struct {
	conn     *trunkcall.PortConn
	argument []byte
	received bool
}

// Receive returns the request, then the end.
func (x *exchange) Receive(context.Context) (message []byte, compressed bool, err error) {
	if x.received {
		return nil, false, io.EOF
	}
	x.received = true
	return x.argument, false, nil
}

// SendHeader drops what this protocol has no place for.
func (x *exchange) SendHeader(context.Context, trunkcall.Metadata) error { return nil }

// Send writes an answer.
func (x *exchange) Send(_ context.Context, message []byte, _ bool) error {
	return json.NewEncoder(x.conn).Encode(map[string]json.RawMessage{"result": message})
}

// serve serves until the context ends, and returns once all calls are answered.
func serve(ctx context.Context, listener net.Listener) error {
	server, err := trunkcall.NewServer(trunkcall.WithProtocol(&lines{}))
	if err != nil {
		return err
	}
	err = codefirst.RegisterFunc(server, "greeter/greet", func(name string) (string, error) {
		if name == "" {
			return "", trunkcall.Errorf(trunkcall.InvalidArgument, "whom?")
		}
		return "hello, " + name, nil
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		if err := server.Stop(context.Background()); err != nil {
			log.Print(err)
		}
	})()
	return server.Serve(listener)
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:7000")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening", listener.Addr())
	fmt.Println(serve(ctx, listener))
}
