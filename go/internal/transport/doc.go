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
//	roles      who reads, writes and runs handlers        (roles/, roles.go)
//
// # Who owns what
//
// Each Conn has one lock, Conn.mu, that guards its session, every Stream on it
// and its Roles, with the queue of calls. Nothing blocks while holding it. See
// package roles for who reads, writes and runs calls.
package transport
