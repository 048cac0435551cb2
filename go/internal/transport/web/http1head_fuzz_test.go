package web

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Where net/http finds heads, heads does, as long as it passes them: what it lets
// through cannot hide one.
func FuzzHeadsAreWhereNetHTTPFindsThem(f *testing.F) {
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	for _, said := range []string{
		head + "Content-Length: 5\r\n\r\nhello" + head + "\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n2;x=\"y\"\r\nhe\r\n3 \r\nllo\r\n0\r\nTrailer: x\r\n\r\n" + head + "\r\n",
		head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		head + "Fold: a\r\n b\r\n\r\n" + head + "\n",
		"\r\n" + head + "content-LENGTH:\t0 \r\n\n\r\n" + strings.Replace(head, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
	} {
		f.Add([]byte(said))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		ours, refused := endsOfHeads(said)
		left := bytes.NewReader(said)
		r := bufio.NewReader(left)
		for i := 0; ; i++ {
			for i > 0 { // as net/http's server does behind a POST
				if b, err := r.Peek(1); err != nil || b[0] != '\r' && b[0] != '\n' {
					break
				}
				_, _ = r.Discard(1)
			}
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			end := len(said) - left.Len() - r.Buffered()
			if request.ProtoMajor != 1 {
				return
			}
			if i == len(ours) && refused {
				return
			}
			if i >= len(ours) || ours[i] != end {
				t.Fatalf("%q: net/http finds the end of a head at %d, we at %v", said, end, ours)
			}
			if _, err := io.Copy(io.Discard, request.Body); err != nil || request.Close {
				return
			}
		}
	})
}

func endsOfHeads(said []byte) (ends []int, refused bool) {
	h := &heads{}
	for at := range said {
		before := h.at == inHead && h.began
		if n, good := h.pass(said[at : at+1]); !good || n != 1 {
			return ends, true
		}
		if before && !h.began {
			ends = append(ends, at+1)
		}
	}
	return ends, false
}

func TestHeadsAreTheSameHoweverTheyAreCut(t *testing.T) {
	said := []byte("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc\nGET / HTTP/1.1\nTransfer-Encoding: chunked\n\n1\r\na\r\n0\r\n\r\nGET / HTTP/1.0\r\n a\r\n")
	whole := &heads{}
	n, good := whole.pass(said)
	if want := len(said) - 1; n != want || good {
		t.Fatal(n, want, good)
	}
	if ends, refused := endsOfHeads(said); !refused || !slices.Equal(ends, []int{38, 85}) {
		t.Error(ends, refused)
	}
}
