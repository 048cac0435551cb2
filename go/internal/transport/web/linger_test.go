package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/wire"

	"github.com/trunkcall/trunkcall/go/internal/transport/web"
)

// patient is a socket whose peer may take its time once nothing more is written.
type patient struct {
	net.Conn
	once sync.Once
	half chan struct{} // closed with the writing side
}

func (p *patient) CloseWrite() error {
	p.once.Do(func() { close(p.half) })
	return nil
}

func (p *patient) SetReadDeadline(t time.Time) error {
	select {
	case <-p.half:
		t = time.Time{}
	default:
	}
	return p.Conn.SetReadDeadline(t)
}

// A caller that still sends its request when the call has ended can send it all: a socket closed
// before would have TCP throw away the answer.
func TestTheAnswerToARequestThatIsNotReadIsNotLost(t *testing.T) {
	f := fragile(func(*web.Answer) { t.Error("its handler runs") })
	over := make(chan error, 1)
	protocol := &web.HTTP1{
		Handler:  &web.HTTP{Dialects: dialects, Server: f, Catalog: f},
		OnOpen:   func(*web.HTTP1Conn) {},
		OnClosed: func(_ *web.HTTP1Conn, err error) { over <- err },
	}
	defer protocol.Close()
	client, socket := net.Pipe()
	defer client.Close()
	server := &patient{Conn: socket, half: make(chan struct{})}
	protocol.Serve(protocol.Prepare(server, []byte("POST /a/b HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"+
		"Connect-Timeout-Ms"+": 1\r\nContent-Length: 2\r\n\r\n")))
	a, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil || a.StatusCode != 504 || !a.Close || a.Header.Get("Trunk-Delivery") != wire.Refused.String() {
		t.Fatal(err, a)
	}
	if _, err := io.ReadAll(a.Body); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.half:
	case err := <-over:
		t.Fatal("closed: ", err)
	}
	if _, err := client.Write([]byte("{}")); err != nil {
		t.Error("the rest of the request:", err)
	}
	_ = client.Close()
	<-over
}
