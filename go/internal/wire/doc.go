// Package wire is the Trunkcall protocol without any input or output: bytes
// in, events and bytes out, time as a parameter. It knows no socket, no
// goroutine, no clock and no codec, and nothing above it. Section numbers in
// comments refer to spec/protocol.md.
//
//	Header, Body          one frame: parse, check, append            (frame.go, body.go)
//	Preface, Settings     what each side says first                  (preface.go)
//	Metadata, Own         key and value pairs of a call              (metadata.go, own.go)
//	Status, Delivery      how a call ended                           (status.go)
//	Stream                one call: its state and its credit         (stream.go)
//	Session               all streams of one connection              (session.go)
//	Events                the layer above, as the session sees it    (events.go)
//
// What a session does stands by direction: what its own side asks for in
// open.go and send.go, what the peer sends in receive.go, receivecall.go,
// receiveanswer.go (RESULT and DATA) and message.go (pieces and credit), what
// the time brings in time.go, and how it ends in closing.go.
//
// Parsing never copies: what it returns points into the input. Appending
// takes a buffer and returns it grown. None of the types is safe for
// concurrent use; the layer above guards a Session with one lock.
package wire
