package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Origins are the origins whose pages may call from browsers besides the
// server's own: "https://app.example.com", with a port unless it is the usual one; "*": all.
type Origins []string

// allow reports whether a request may be served: it comes from no page, from one
// of the server's own, or from one of these origins.
func (o Origins) allow(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return origin == "" || o.lists(origin) || sameOrigin(origin, r.Host)
}

// lists reports whether an origin is one of these.
func (o Origins) lists(origin string) bool {
	return slices.ContainsFunc(o, func(one string) bool { return one == "*" || strings.EqualFold(one, origin) })
}

func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// crossOrigin answers what a browser asks before a call of a page's, and otherwise
// adds to the answer that the page may read it (CORS). It reports whether
// the request is answered.
func (h *HTTP) crossOrigin(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	header := w.Header()
	header.Add("Vary", "Origin")
	if !h.Origins.lists(origin) {
		if preflight {
			w.WriteHeader(http.StatusForbidden)
		}
		return preflight
	}
	header["Access-Control-Allow-Origin"] = []string{origin}
	if !preflight {
		header["Access-Control-Expose-Headers"] = []string{"*"}
		return false
	}
	header["Access-Control-Allow-Methods"] = []string{"GET, POST"}
	if wanted := r.Header.Values("Access-Control-Request-Headers"); len(wanted) > 0 {
		header["Access-Control-Allow-Headers"] = wanted
	}
	header["Access-Control-Max-Age"] = []string{"7200"}
	w.WriteHeader(http.StatusNoContent)
	return true
}
