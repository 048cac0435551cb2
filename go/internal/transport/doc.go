// Package transport joins a wire.Session to a socket: TCP, Unix, TLS or
// memory. It knows frames and streams, not messages' meaning: no codec, no
// service, no interceptor.
//
//	Listener   accepts, and looks at the first bytes      (listener.go)
//	Dial       reaches one of a target's addresses        (dialer.go)
//	Conn       a session on a socket: reading, flushing   (connection.go, read.go, flush.go)
//	poller     reads the idle ones, where there are many  (poll.go)
//	Stream     one call, with waiting                     (stream.go)
//	Call       the caller's end of one call               (call.go)
//	Pool       the goroutines that read and run handlers  (pool.go)
//
// # Who owns what
//
// Each Conn has one lock, Conn.mu, that guards its session, every Stream on it
// and its dispatch queue. Nothing blocks while holding it. Three roles of a
// connection are each held by at most one goroutine at a time: reading (flag
// reading), writing (flag flushing) and the promise to come and look (flag
// helperPending). See ARCHITECTURE.md for why a goroutine that reads also runs
// the calls that it read.
package transport
