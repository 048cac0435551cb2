// Package http2 is the server side of HTTP/2 (RFC 9113) on a connection of
// which the first bytes may have been read already. It carries requests to a
// Handler and answers back, and knows nothing of gRPC or Connect, except that a
// body can be taken apart into messages with the five-byte prefix that both
// use.
//
// Frames are read, checked and written by golang.org/x/net/http2.Framer, header
// blocks by golang.org/x/net/http2/hpack. The states of streams, flow control
// and limits are this package's own. All of a connection's state is under one
// lock, which is never held while something waits; who reads, writes and runs
// handlers is package roles', as on native connections.
package http2
