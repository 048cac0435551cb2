package trunkcall_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// Streams of Connect, gRPC-Web, calls by GET, and what browsers ask.

// enveloped puts messages behind the prefixes of Connect and gRPC.
func enveloped(messages ...string) string {
	var b []byte
	for _, m := range messages {
		b = append(binary.BigEndian.AppendUint32(append(b, 0), uint32(len(m))), m...)
	}
	return string(b)
}

// envelopes takes a body apart; the last has flags.
func envelopes(t testing.TB, body string) (messages []string, last byte) {
	t.Helper()
	for len(body) > 0 {
		if len(body) < 5 || len(body)-5 < int(binary.BigEndian.Uint32([]byte(body[1:5]))) {
			t.Fatalf("%q is cut off", body)
		}
		n := int(binary.BigEndian.Uint32([]byte(body[1:5])))
		last = body[0]
		messages = append(messages, body[5:5+n])
		body = body[5+n:]
	}
	return messages, last
}

func TestStreamsAnswerConnect(t *testing.T) {
	_, url := serveCalculator(t, nil)
	json := func(s string) string { return `{"data":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"}` }
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			for method, want := range map[string][]string{
				"Produce": {json("a"), "{}"}, "Chat": {json("a"), "{}"}, "Collect": {json("a"), "{}"},
			} {
				a := posts(t, c, url+"/test.Service/"+method, "application/connect+json", enveloped(json("a")))
				got, flags := envelopes(t, a.body)
				if a.status != 200 || flags != 2 || strings.Join(got, "|") != strings.Join(want, "|") || a.header.Get("Content-Type") != "application/connect+json" {
					t.Errorf("%s: %d %v %v %q", method, a.status, a.header, flags, got)
				}
			}
			a := posts(t, c, url+"/test.Service/Chat", "application/connect+json", enveloped(json("a"), json("b"))+"\x00\x00")
			got, _ := envelopes(t, a.body)
			if end := got[len(got)-1]; len(got) != 3 || !strings.Contains(end, `"code":"invalid_argument"`) || !strings.Contains(end, "cut off") {
				t.Errorf("%q", got)
			}
			for _, body := range []string{"", enveloped(json("a"), json("b"))} {
				a = posts(t, c, url+"/test.Service/Produce", "application/connect+json", body)
				got, flags := envelopes(t, a.body)
				if len(got) != 1 || flags != 2 || !strings.Contains(got[0], "unimplemented") || !strings.Contains(got[0], `"trunk-delivery":["refused"]`) {
					t.Errorf("%q", got)
				}
			}
			posts(t, c, url+"/test.Service/Chat", "application/json", "{}").wantsRefusal(t, 415)
			posts(t, c, url+"/test.Service/Echo", "application/connect+json", "{}").wantsRefusal(t, 415)
		})
	}
}

// A caller that has half-closed its connection counts as gone. What it can still read
// does not look like the whole of an answer.
func TestAnAnswerToACallerThatHasGoneIsNotEnded(t *testing.T) {
	s, url := serveCalculator(t, nil, trunkcall.ServerStream[payload, payload]("/test.Service/Slow").Handler(
		func(ctx context.Context, in *payload, out *trunkcall.Sender[payload]) error {
			_ = out.Send(in)
			<-ctx.Done()
			return nil
		}))
	for _, timeout := range []string{"", "Connect-Timeout-Ms: 60000\r\n"} {
		socket, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		_ = socket.SetDeadline(time.Now().Add(long))
		body := enveloped("{}")
		_, _ = io.WriteString(socket, "POST /test.Service/Slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\n"+timeout+
			"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		got := ""
		for piece := make([]byte, 1000); !strings.Contains(got, "{}"); {
			n, err := socket.Read(piece)
			if got += string(piece[:n]); err != nil {
				t.Fatal(got, err)
			}
		}
		_ = socket.(*net.TCPConn).CloseWrite()
		rest, _ := io.ReadAll(socket)
		if got += string(rest); strings.HasSuffix(got, "0\r\n\r\n") {
			t.Errorf("%q: %q is ended", timeout, got)
		}
	}
	eventually(t, "no call is left", func() bool { return s.Running() == 0 })
}

func TestAMessageThatLiesAboutItsLengthIsRefused(t *testing.T) {
	_, url := serveCalculator(t, nil)
	for _, c := range overHTTP(t) {
		a := posts(t, c, url+"/test.Service/Produce", "application/connect+proto", "\x00\xff\xff\xff\xff")
		got, _ := envelopes(t, a.body)
		if len(got) != 1 || !strings.Contains(got[0], "max_message 67108864") {
			t.Errorf("%q", got)
		}
	}
}

func TestGRPCWebAnswersInBothItsForms(t *testing.T) {
	_, url := serveCalculator(t, nil)
	message, _ := proto.Marshal(text("hello"))
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{"Echo", "Chat"} {
				a := posts(t, c, url+"/test.Service/"+method, "application/grpc-web+proto", enveloped(string(message)), "X-Grpc-Web", "1")
				got, flags := envelopes(t, a.body)
				if a.status != 200 || flags != 0x80 || len(got) != 2 || got[0] != string(message) || got[1] != "grpc-status: 0\r\n" ||
					a.header.Get("Content-Type") != "application/grpc-web+proto" {
					t.Errorf("%s: %d %v %q", method, a.status, a.header, got)
				}
				half := enveloped(string(message))
				in := base64.StdEncoding.EncodeToString([]byte(half[:4])) + base64.StdEncoding.EncodeToString([]byte(half[4:]))
				a = posts(t, c, url+"/test.Service/"+method, "application/grpc-web-text", in)
				var out []byte
				for at := 0; at < len(a.body); { // each piece has padding of its own
					end := at + 4
					for end < len(a.body) && a.body[end-1] != '=' {
						end += 4
					}
					piece, err := base64.StdEncoding.DecodeString(a.body[at:end])
					if err != nil {
						t.Fatal(err, a.body)
					}
					out, at = append(out, piece...), end
				}
				if got, flags = envelopes(t, string(out)); flags != 0x80 || len(got) != 2 || got[0] != string(message) {
					t.Errorf("%s: %q", method, got)
				}
			}
			for body, kind := range map[string]string{"!!!!": "application/grpc-web-text", "AAAAA": "application/grpc-web-text", "\x00\x00": "application/grpc-web"} {
				a := posts(t, c, url+"/test.Service/Echo", kind, body)
				if kind == "application/grpc-web-text" {
					plain, _ := base64.StdEncoding.DecodeString(a.body)
					a.body = string(plain)
				}
				got, flags := envelopes(t, a.body)
				if a.status != 200 || flags != 0x80 || !strings.Contains(got[0], "grpc-status: 3\r\n") {
					t.Errorf("%q: %d %q", body, a.status, got)
				}
			}
			a := posts(t, c, url+"/test.Service/None", "application/grpc-web", enveloped(string(message)))
			if got, _ := envelopes(t, a.body); !strings.Contains(got[0], "grpc-status: 12\r\n") || !strings.Contains(got[0], "trunk-delivery: refused\r\n") {
				t.Errorf("%q", got)
			}
		})
	}
}

func safeEcho() trunkcall.Handler {
	h := block.Handler(serveEcho)
	h.NoSideEffects = true
	return h
}

func TestMethodsWithoutSideEffectsAreCalledByGET(t *testing.T) {
	s, where := serveCalculator(t, nil, safeEcho())
	handlers, err := codefirst.ServiceHandlers("safe", calculator{}, codefirst.Methods("Div"), codefirst.WithoutSideEffects("Div"))
	if err == nil {
		err = s.Register(handlers...)
	}
	if err != nil {
		t.Fatal(err)
	}
	message, _ := proto.Marshal(text("hello?"))
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			get := func(path string) replied { return requests(t, c, "GET", where+path, "", "") }
			get("/safe/div?encoding=json&message="+url.QueryEscape("[7,2]")).wants(t, "[3,1]")
			a := get("/test.Service/Block?connect=v1&encoding=proto&base64=1&message=" + base64.URLEncoding.EncodeToString(message))
			a.wants(t, string(message))
			if a.header.Get("Vary") != "Accept-Encoding" {
				t.Error(a.header)
			}
			get("/test.Service/Block?encoding=json").wantsError(t, 400, "invalid_argument", "message")
			get("/test.Service/Block?encoding=json&message=%").wantsError(t, 400, "invalid_argument", "query")
			get("/test.Service/Block?encoding=json&message=!&base64=1").wantsError(t, 400, "invalid_argument", "base64")
			get("/test.Service/Block?encoding=json&message={}&connect=v2").wantsError(t, 400, "invalid_argument", "v1")
			a = get("/calc/div?encoding=json&message=[7,2]")
			a.wantsRefusal(t, 405)
			if a.header.Get("Allow") != "POST" {
				t.Error(a.header)
			}
			if a = requests(t, c, "PUT", where+"/safe/div", "", ""); a.status != 405 || a.header.Get("Allow") != "GET, POST" {
				t.Error(a)
			}
		})
	}
}

func TestPagesOfOtherOriginsCallOnlyWhereTheyMay(t *testing.T) {
	_, closed := serveCalculator(t, nil)
	_, open := serveCalculator(t, serverOptions{trunkcall.WithOrigins("https://app.example.com")})
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-key", "Origin"}
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			a := requests(t, c, "OPTIONS", open+"/calc/div", "", "", append(ask, "https://app.example.com")...)
			if a.status != 204 || a.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || a.header.Get("Vary") != "Origin" ||
				a.header.Get("Access-Control-Allow-Headers") != "content-type,x-key" || a.header.Get("Access-Control-Allow-Methods") != "GET, POST" {
				t.Error(a)
			}
			for where, origin := range map[string]string{open: "https://evil.example.com", closed: "https://app.example.com"} {
				if a = requests(t, c, "OPTIONS", where+"/calc/div", "", "", append(ask, origin)...); a.status != 403 || a.header.Get("Access-Control-Allow-Origin") != "" {
					t.Error(a)
				}
				a = posts(t, c, where+"/calc/div", "application/json", "[7,2]", "Origin", origin)
				if a.wants(t, "[3,1]"); a.header.Get("Access-Control-Allow-Origin") != "" { // no page gets to see it
					t.Error(a)
				}
			}
			a = posts(t, c, open+"/calc/div", "application/json", "[7,2]", "Origin", "https://app.example.com")
			if a.wants(t, "[3,1]"); a.header.Get("Access-Control-Allow-Origin") == "" || a.header.Get("Access-Control-Expose-Headers") != "*" {
				t.Error(a)
			}
		})
	}
}

func TestAnHTTPCallIsWhatItsHandlerSees(t *testing.T) {
	_, url := serveCalculator(t, nil, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		deadline, _ := ctx.Deadline()
		seen, _ := json.Marshal(map[string]any{
			"k": call.Metadata.Get("k"), "bin": call.Metadata.Values("b-bin"), "codec": call.Codec().Name(), "kept": call.Metadata.Get("content-type"),
			"remote": call.Peer().Remote != nil, "deadline": !deadline.IsZero(),
		})
		return &payload{Data: seen}, nil
	}))
	for _, c := range overHTTP(t) {
		a := posts(t, c, url+"/test.Service/Block", "application/json", "{}", "K", "v", "B-Bin", "AP8, AQ==", "Connect-Timeout-Ms", "9999999999")
		var out struct{ Data []byte }
		_ = json.Unmarshal([]byte(a.body), &out)
		const want = `{"bin":["\u0000\ufffd","\u0001"],"codec":"json","deadline":true,"k":"v","kept":"","remote":true}`
		if a.status != http.StatusOK || string(out.Data) != want {
			t.Errorf("%d %s", a.status, out.Data)
		}
	}
}

func TestAStreamThatLeavesItsRequestUnreadHarmsNoOther(t *testing.T) {
	_, url := serveCalculator(t, nil, trunkcall.Bidi[payload, payload]("/test.Service/Hasty").Handler(
		func(context.Context, *trunkcall.BidiStream[payload, payload]) error {
			return trunkcall.Errorf(trunkcall.Aborted, "enough")
		}))
	for name, c := range overHTTP(t) {
		for range 20 {
			a := posts(t, c, url+"/test.Service/Hasty", "application/connect+json", enveloped("{}", "{}", "{}"))
			if got, _ := envelopes(t, a.body); len(got) != 1 || !strings.Contains(got[0], "aborted") {
				t.Fatalf("%s: %q", name, got)
			}
			posts(t, c, url+"/calc/div", "application/json", "[7,2]").wants(t, "[3,1]")
		}
	}
}
