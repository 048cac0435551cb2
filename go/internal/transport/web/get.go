package web

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// get serves a call by GET, whose message is in the query.
func (h *HTTP) get(w http.ResponseWriter, r *http.Request, m Method) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	refuse := func(status int, why string) { refuseRequest(w, status, wire.InvalidArgument, why) }
	codec, message := query.Get("encoding"), []byte(query.Get("message"))
	switch {
	case err != nil:
		refuse(http.StatusBadRequest, "malformed query")
		return
	case codec == "" || !query.Has("message"):
		refuse(http.StatusBadRequest, "GET wants the query's parameters encoding and message")
		return
	case query.Has("connect") && query.Get("connect") != "v1":
		refuse(http.StatusBadRequest, "the query's parameter connect is not v1")
		return
	case m.lacks(codec):
		h.acceptPost(w, &m)
		refusePlainly(w, http.StatusUnsupportedMediaType, m.Name+" does not take the encoding "+strconv.Quote(codec))
		return
	}
	if query.Get("base64") == "1" {
		if message, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(string(message), "=")); err != nil {
			refuse(http.StatusBadRequest, "the query's message is not base64")
			return
		}
	}
	called := r.WithContext(r.Context())
	called.Body, called.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	x := &httpCall{protocol: h, w: w, r: called, spoken: h.plain(), query: query, stopped: make(chan struct{})}
	x.serve(m, codec)
}
