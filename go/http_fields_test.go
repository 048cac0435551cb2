package trunkcall_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/trunkcall/trunkcall/go"
)

// serveKeys serves a method that answers with the keys of the metadata that it got.
func serveKeys(t testing.TB) (target string) {
	t.Helper()
	keys := trunkcall.Unary[payload, payload]("/test.Service/Keys").Handler(func(ctx context.Context, _ *payload) (*payload, error) {
		var all []string
		for _, pair := range trunkcall.CallFromContext(ctx).Metadata {
			all = append(all, pair.Key)
		}
		slices.Sort(all)
		return text(strings.Join(all, " ")), nil
	})
	_, target = serve(t, nil, keys)
	return target
}

func TestFieldsOfTheConnectionAreNoMetadata(t *testing.T) {
	target := serveKeys(t)
	t.Run("gRPC", func(t *testing.T) {
		ctx := metadata.AppendToOutgoingContext(soon(t), "http2-settings", "AAMAAABk", "trailer", "x", "expect", "100-continue", "mine", "yes")
		out, err := stockEcho(ctx, stock(t, target), "/test.Service/Keys", text(""))
		if err != nil || string(out.Data) != "mine user-agent" {
			t.Errorf("%q %v", out.Data, err)
		}
	})
	t.Run("http/1.1", func(t *testing.T) {
		// As who would rather speak HTTP/2 begins in the clear.
		socket, err := net.Dial("tcp", target)
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		_, _ = io.WriteString(socket, "POST /test.Service/Keys HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings, TE, X-Hop\r\nUpgrade: h2c\r\n"+
			"HTTP2-Settings: AAMAAABk\r\nTE: trailers\r\nX-Hop: 1\r\nMine: yes\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(socket), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if body, err := io.ReadAll(answer.Body); !strings.HasSuffix(string(body), "\x04mine") || answer.StatusCode != http.StatusOK {
			t.Errorf("%d %q %v", answer.StatusCode, body, err)
		}
	})
	t.Run("h2", func(t *testing.T) {
		got := posts(t, overHTTP(t)["h2"], "http://"+target+"/test.Service/Keys", "application/proto", "", "Http2-Settings", "AAMAAABk", "Te", "trailers", "Mine", "yes")
		if !strings.HasSuffix(got.body, "\x0fmine user-agent") {
			t.Errorf("%d %q", got.status, got.body)
		}
	})
}
