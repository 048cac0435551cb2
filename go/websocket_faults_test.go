package trunkcall_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// rawWebSocket opens a WebSocket whose frames are written by hand.
func rawWebSocket(t *testing.T, target string) (net.Conn, *bufio.Reader) {
	t.Helper()
	socket, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	_ = socket.SetDeadline(time.Now().Add(long))
	_, _ = io.WriteString(socket, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: trunk\r\n\r\n")
	in := bufio.NewReader(socket)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	return socket, in
}

// masked is a frame of a client, whose mask changes nothing.
func masked(first byte, payload string) []byte {
	return append([]byte{first, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
}

// closing reads frames until one closes, and returns what it says.
func closing(t *testing.T, in *bufio.Reader) (code uint16, reason string) {
	t.Helper()
	for {
		var head [2]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			t.Fatal("the WebSocket ended without a word: ", err)
		}
		payload := make([]byte, head[1])
		if head[1] == 126 {
			var length [2]byte
			_, _ = io.ReadFull(in, length[:])
			payload = make([]byte, binary.BigEndian.Uint16(length[:]))
		}
		if _, err := io.ReadFull(in, payload); err != nil {
			t.Fatal(err)
		}
		if head[0] == 0x88 {
			return binary.BigEndian.Uint16(payload), string(payload[2:])
		}
	}
}

func TestAFaultOfAWebSocketIsToldAndLogged(t *testing.T) {
	settings := wire.DefaultSettings()
	preface := string(wire.AppendPreface(nil, &wire.Preface{Version: wire.Version, Highest: wire.Version, Settings: settings}))
	if len(preface) > 125 {
		t.Fatal(len(preface))
	}
	for name, c := range map[string]struct {
		frames [][]byte
		more   []byte // again and again
		code   uint16
		reason string
	}{
		"text":                      {[][]byte{masked(0x81, "hello")}, nil, 1003, "binary"},
		"text, later":               {[][]byte{masked(0x82, preface), masked(0x81, "hello")}, nil, 1003, "binary"},
		"no Trunkcall":              {[][]byte{masked(0x82, "hello")}, nil, 1002, "Trunkcall"},
		"no mask":                   {[][]byte{{0x82, 1, 'x'}}, nil, 1002, "unmasked"},
		"an unknown kind of frame":  {[][]byte{masked(0x82, preface), masked(0x83, "x")}, nil, 1002, "opcode"},
		"a long PING":               {[][]byte{{0x89, 0xfe, 0, 126, 0, 0, 0, 0}}, nil, 1002, "length"},
		"nothing to go on with":     {[][]byte{masked(0x80, "x")}, nil, 1002, "continuation"},
		"a flood of PINGs":          {[][]byte{masked(0x82, preface)}, masked(0x89, "x"), 1008, "too many frames"},
		"a flood of PINGs at once":  {nil, masked(0x89, ""), 1008, "too many frames"},
		"a flood of PONGs":          {[][]byte{masked(0x82, preface)}, masked(0x8a, strings.Repeat("x", 125)), 1008, "too many frames"},
		"a flood of empty messages": {[][]byte{masked(0x82, preface)}, masked(0x82, ""), 1008, "too many frames"},
		"a flood of empty pieces":   {[][]byte{masked(0x82, preface), masked(0x02, "")}, masked(0x00, ""), 1008, "too many frames"},
	} {
		t.Run(name, func(t *testing.T) {
			log := &logged{}
			_, target := serve(t, serverOptions{trunkcall.WithLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))}, standard()...)
			socket, in := rawWebSocket(t, target)
			for _, frame := range c.frames {
				_, _ = socket.Write(frame)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				all := bytes.Repeat(c.more, 1000)
				for len(all) > 0 {
					if _, err := socket.Write(all); err != nil {
						return
					}
				}
			}()
			code, reason := closing(t, in)
			_ = socket.Close()
			<-done
			if code != c.code || !strings.Contains(reason, c.reason) {
				t.Errorf("closed with %d %q, want %d %q", code, reason, c.code, c.reason)
			}
			eventually(t, "it is logged", func() bool { return log.has(c.reason) })
		})
	}
}
