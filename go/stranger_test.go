package trunkcall_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// What a caller is told of a port where something else listens: the same words whenever it is noticed.

// stranger accepts connections, each of which meet is given.
func stranger(t *testing.T, meet func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			socket, err := l.Accept()
			if err != nil {
				return
			}
			go meet(socket)
		}
	}()
	return l.Addr().String()
}

func TestOtherFirstBytesAreToldInTheSameWordsBehindACall(t *testing.T) {
	called := make(chan struct{})
	target := stranger(t, func(socket net.Conn) {
		defer func() { _ = socket.Close() }()
		<-called // the call is under way, or about to be
		_, _ = socket.Write([]byte("<!DOCTYPE HTML>\n<html lang=\"en\">"))
		_, _ = io.Copy(io.Discard, socket)
	})
	c := newClient(t, target)
	defer c.Close()
	stream, err := chat.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	close(called)
	_, err = stream.Receive()
	wantsText(t, trunkcall.StatusOf(err).Message, target, "this is not a Trunkcall server: its first bytes are")
	_, err = echo.Call(soon(t), c, text(""))
	wantsText(t, trunkcall.StatusOf(err).Message, target, "this is not a Trunkcall server: ")
}

func TestACloseBeforeAGreetingIsToldInTheSameWordsBehindACall(t *testing.T) {
	called := make(chan struct{})
	target := stranger(t, func(socket net.Conn) {
		<-called
		_ = socket.Close()
	})
	c := newClient(t, target)
	defer c.Close()
	stream, err := chat.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	close(called)
	_, err = stream.Receive()
	wantsText(t, trunkcall.StatusOf(err).Message, target, "closed before a greeting: it may not be a Trunkcall server")
}

// Nothing of a call is sent over TLS that has agreed on no protocol, before the server has greeted.
func TestAServerOfTLSThatAgreesOnNothingIsSentNoCall(t *testing.T) {
	a := newAuthority(t)
	serverTLS := &tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}}
	target := stranger(t, func(socket net.Conn) {
		secure := tls.Server(socket, serverTLS)
		_, _ = io.ReadFull(secure, make([]byte, 16))
		_ = secure.Close()
	})
	c := newClient(t, target, trunkcall.WithTLS(&tls.Config{RootCAs: a.pool}))
	defer c.Close()
	_, err := echo.Call(soon(t), c, text(""))
	s := wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
	wantsText(t, s.Message, "cannot reach "+target, "closed before a greeting", "TLS has negotiated no protocol")
}

func TestAPortThatIsSilentInTheHandshakeOfTLSSaysSo(t *testing.T) {
	greeted := make(chan struct{}, 100)
	target := stranger(t, func(socket net.Conn) {
		_, _ = socket.Read(make([]byte, 1)) // the handshake has begun
		greeted <- struct{}{}
		_, _ = io.Copy(io.Discard, socket)
		_ = socket.Close()
	})
	c := newClient(t, target, trunkcall.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12}))
	defer c.Close()
	connecting, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _ = c.Connect(connecting) }()
	receive(t, greeted, "handshake")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := echo.Call(ctx, c, text(""))
	s := wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
	wantsText(t, s.Message, target, "TLS: it has accepted the connection and said nothing for ", "that TLS is used at both ends or at neither")
}

func TestCleartextIsNotAllowedWhereThereIsNothingElse(t *testing.T) {
	if _, err := trunkcall.NewServer(trunkcall.WithCleartext()); err == nil || !strings.Contains(err.Error(), "there is no TLS") {
		t.Error(err)
	}
}
