package web

import (
	"cmp"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// HTTP is the protocol for clients of HTTP: those of Connect, curl, and browsers
// (spec/http.md 4 to 7). It is served over HTTP/1.1 by HTTP1 and over HTTP/2 by
// HTTP2.Other. Each request's context must hold its Peer (WithPeer).
type HTTP struct {
	Server  Server
	Catalog Catalog
	// Dialects are those that are spoken, in the order in which they are asked about a content type.
	Dialects []Dialect
	// MaxMessage is the longest message taken, as sent. 0: 64 MiB.
	MaxMessage uint32
	// Compressions are those that request messages may be in, bit n standing for number n.
	Compressions uint16
	// Limits are those of metadata; nil: the defaults.
	Limits *wire.Settings
	// Budget is what all connections may hold together; nil: no bound.
	Budget *wire.Budget
	// Stall is what time a message has on its way at first, in either direction. 0: a minute.
	Stall time.Duration
	// Origins are those whose pages may read the answers.
	Origins Origins
	// Panicked, if set, is told of a panic beside handlers, which ended a request, and
	// where it was.
	Panicked func(value any, stack []byte)
}

// Catalog is what the protocols can learn of methods before they are called.
type Catalog interface {
	// Lookup returns what is known of a method; ok is false if it is not served.
	// It is called by many goroutines at once.
	Lookup(method string) (m Method, ok bool)
}

// Method is what the protocols can learn of a method.
type Method struct {
	Name string // canonical
	// Streams says that more than one message may go one way or the other.
	Streams bool
	// Safe says that calls have no side effects, so that GET may make them.
	Safe bool
	// Lacks are the codecs that are known not to carry its messages, bit n standing for
	// number n.
	Lacks uint16
}

// lacks reports whether a codec is known not to carry the method's messages.
func (m *Method) lacks(codec string) bool { return m.Lacks>>CodecNumber(codec)&1 != 0 }

var defaultLimits = wire.DefaultSettings()

func (h *HTTP) limits() *wire.Settings {
	if h.Limits != nil {
		return h.Limits
	}
	return &defaultLimits
}

func (h *HTTP) stall() time.Duration { return cmp.Or(h.Stall, defaultStall) }

func (h *HTTP) maxMessage() int64 {
	if h.MaxMessage != 0 {
		return int64(h.MaxMessage)
	}
	return int64(defaultLimits.Message)
}

// panicked tells of a panic.
func (h *HTTP) panicked(p any) {
	if h.Panicked != nil && p != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
		h.Panicked(p, debug.Stack())
	}
}

// ServeHTTP serves one request.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			h.panicked(p)
			panic(http.ErrAbortHandler) // the rest of the answer is not to be taken for whole
		}
	}()
	if r.ProtoMajor == 1 && r.ContentLength != 0 { // net/http waits for what is left of the body before it answers
		defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.stall())) }()
	}
	if h.crossOrigin(w, r) {
		return
	}
	m, known := h.Catalog.Lookup(r.URL.Path)
	spoken, codec := h.dialectOf(r.Header.Get("Content-Type"))
	post := r.Method == http.MethodPost
	switch {
	case !known && (!post || spoken == nil):
		refuseRequest(w, http.StatusNotFound, wire.Unimplemented, notServed(r.URL.Path))
	case r.Method == http.MethodGet && m.Safe && !m.Streams && h.plain() != nil:
		h.get(w, r, m)
	case !post:
		h.refuseMethod(w, r, &m)
	case known && (spoken == nil || !spoken.Takes(&m) || spoken.ByStatus() && m.lacks(codec)):
		h.refuseType(w, r, &m)
	default:
		h.serve(w, r, m, spoken, codec)
	}
}

// refuseMethod answers a request whose method of HTTP calls nothing.
func (h *HTTP) refuseMethod(w http.ResponseWriter, r *http.Request, m *Method) {
	allowed := http.MethodPost
	if m.Safe && !m.Streams {
		allowed = "GET, POST"
	}
	w.Header().Set("Allow", allowed)
	refusePlainly(w, http.StatusMethodNotAllowed, m.Name+" is called by "+allowed+", not "+r.Method)
}

func notServed(path string) string { return "method " + path + " is not served by this server" }

// refuseType answers a request in a form that its method does not take.
func (h *HTTP) refuseType(w http.ResponseWriter, r *http.Request, m *Method) {
	h.acceptPost(w, m)
	refusePlainly(w, http.StatusUnsupportedMediaType,
		m.Name+" does not take the content type "+strconv.Quote(r.Header.Get("Content-Type"))+", only "+w.Header().Get("Accept-Post"))
}

// acceptPost says what a method takes.
func (h *HTTP) acceptPost(w http.ResponseWriter, m *Method) {
	var all []string
	for _, d := range h.Dialects {
		for _, codec := range []string{"json", "proto", "msgpack"} {
			if d.ByStatus() && d.Takes(m) && !m.lacks(codec) {
				all = append(all, d.ContentType(codec))
			}
		}
	}
	w.Header().Set("Accept-Post", strings.Join(all, ", "))
}
