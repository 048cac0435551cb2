package trunkcall

import (
	"context"
	"errors"
	"io"
	"math"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// httpCall is what a call over HTTP does differently from a native one.
type httpCall struct {
	ServerCall
	call     *web.Call
	exchange web.Exchange
	packing  Compression // of answers, unless the handler chooses another; nil: none
	decoded  bool
	spoke    atomic.Bool // the answer has begun, with its header or a message
}

// open accepts a call, or says why it is refused.
func (s httpMethods) open(call *web.Call) (*httpCall, *wire.Refusal) {
	h := s.named(call.Method)
	if h == nil {
		return nil, s.notServed(call.Method)
	}
	codec, refusal := s.options.codecs.named(call.Codec, call.CodecName)
	if refusal != nil {
		return nil, refusal
	}
	d := &httpCall{call: call}
	c := &d.ServerCall
	c.serving, c.handler, c.codec, c.Metadata, c.http = s.serving, h, codec, call.Metadata, d
	c.context.call = c
	c.context.deadline = call.Deadline
	d.packing = s.options.compressions.answers(call)
	if refusal := s.admit(); refusal != nil {
		return nil, refusal
	}
	return d, nil
}

// answers is the compression that the answers of a call may be in: the request's
// comes first.
func (c *compressions) answers(call *web.Call) Compression {
	switch {
	case c.send.said && len(c.send.order) == 0:
		return nil
	case call.Compression != 0 && call.Accepts&(1<<call.Compression) != 0:
		return c.byCode[call.Compression]
	}
	for _, one := range c.send.order {
		if one != nil && call.Accepts&(1<<one.Number()) != 0 {
			return one
		}
	}
	return nil
}

func (d *httpCall) peer() Peer {
	p := d.call.Peer
	return Peer{Remote: p.Remote(), Local: p.Local(), TLS: p.TLS()}
}

func (d *httpCall) connection() *Connection {
	c, _ := d.call.Owner.(*Connection) // nil of a call that came by no connection
	return c
}

// Whole says that a handler starts only once its one request is there.
func (d *httpCall) Whole() bool { return d.handler.wholeFirst() }

// Pace is the method's.
func (d *httpCall) Pace() *roles.Pace { return d.handler.measured }

// Compression is the number of the one that answers may be in.
func (d *httpCall) Compression() uint8 {
	if one := d.packsWith(); one != nil {
		return one.Number()
	}
	return 0
}

func (d *httpCall) packsWith() Compression {
	if chosen := d.chosen.Load(); chosen != nil {
		return chosen.one
	}
	return d.packing
}

// Dropped gives back the place of a call whose handler did not start.
func (d *httpCall) Dropped() { d.leave() }

// Stopped ends the handler's context.
func (d *httpCall) Stopped(how web.Stop) {
	d.stoppedBy(how.Code)
	if !how.Lost {
		d.serving.unserved(d.call.Peer.Remote(), d.handler.Method.Name, how.Refused, how.Code, how.Message)
	}
}

// Serve runs the handler, as acceptor.Serve does.
func (d *httpCall) Serve(x web.Exchange, a *web.Answer) {
	d.exchange = x
	if d.serving.options.unshared {
		alone(func() { d.run(a) })
		return
	}
	d.run(a)
}

func (d *httpCall) run(a *web.Answer) {
	withoutLabels()
	returned := false
	defer func() {
		d.leave()
		if p := recover(); !returned { // p is nil when the handler ended its goroutine
			d.panicked(&a.Ending, p)
		}
		d.context.cancel(context.Canceled)
	}()
	response, err := d.serve()
	d.finish(a, response, err)
	returned = true
}

// finish says how the call ended. Callers of a one-way method have no other way
// to call it, so they get an empty message at its end.
func (d *httpCall) finish(a *web.Answer, response any, err error) {
	d.mu.Lock()
	if !d.headerSent {
		a.Header = d.header
	}
	a.Ending = wire.Ending{Metadata: d.trailer}
	d.mu.Unlock()
	if err == nil && d.handler.Unary != nil {
		a.Scratch = a.Scratch[:web.Headroom]
		if d.handler.Method.Kind == KindUnary {
			err = d.encode(a, response)
		}
	}
	if err != nil {
		d.failed(&a.Ending, err)
		if d.spoke.Load() && a.Ending.Delivery == Refused {
			a.Ending.Delivery = DeliveryUnknown
		}
		return
	}
	a.Ending.HasMessage = d.handler.Unary != nil
}

// encode puts the response into the answer.
func (d *httpCall) encode(a *web.Answer, response any) error {
	encoded, err := d.codec.Append(a.Scratch, response)
	if err != nil {
		return d.uncarriedResponse(err)
	}
	a.Scratch = encoded
	size := len(encoded) - web.Headroom
	if err := checkFramed(size); err != nil {
		return err
	}
	if packed, number := d.pack(encoded[web.Headroom:]); packed != nil {
		a.Scratch = append(encoded[:web.Headroom], packed.B...)
		packed.Free()
		a.Ending.Compression = number
	}
	return nil
}

// checkFramed refuses a message whose length callers could not be told.
func checkFramed(size int) error {
	if size > math.MaxInt32 {
		return Errorf(ResourceExhausted, "message of %d bytes exceeds the %d that can be sent", size, math.MaxInt32)
	}
	return nil
}

// pack compresses an answer if it may, and if that pays; nil: it is to be sent plain.
func (d *httpCall) pack(message []byte) (*transport.Buffer, uint8) {
	one := d.packsWith()
	if one == nil {
		return nil, 0
	}
	return d.serving.options.compressions.pack(d.handler.Method.Name, []Compression{one}, 1<<one.Number(), message)
}

// send sends a message of a stream.
func (d *httpCall) send(message any) error {
	buffer := transport.GetBuffer(web.Headroom + int(d.sizeHint.Load()))
	encoded, err := d.codec.Append(buffer.B[:web.Headroom], message)
	if err != nil {
		return d.uncarriedResponse(err)
	}
	buffer.B = encoded
	size := len(encoded) - web.Headroom
	if err := checkFramed(size); err != nil {
		return err
	}
	d.sizeHint.Store(uint32(size))
	if err := d.sendHeader(false); err != nil {
		return err
	}
	d.spoke.Store(true)
	packed, number := d.pack(encoded[web.Headroom:])
	if packed != nil {
		buffer.B = append(encoded[:web.Headroom], packed.B...)
		packed.Free()
	}
	if err := d.exchange.Send(buffer, number != 0); transport.Misused(err) {
		return Errorf(Internal, "%v", err)
	} else if err != nil {
		return d.stopped()
	}
	return nil
}

// sendHeader sends the header once: if there is one, or even if not.
func (d *httpCall) sendHeader(even bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if !d.headerSent && (even || len(d.header) > 0) {
		d.spoke.Store(true)
		err = d.exchange.SendHeader(d.header)
	}
	d.headerSent = true
	if err != nil {
		return d.stopped()
	}
	return nil
}

// decode is Decode.
func (d *httpCall) decode(request any) error {
	if d.decoded {
		return Errorf(Internal, "%s decodes its request twice", d.handler.Method.Name)
	}
	d.decoded = true
	return d.receive(request)
}

// receive takes the next message.
func (d *httpCall) receive(message any) error {
	m, compressed, err := d.exchange.Receive()
	var fault *web.Fault
	switch {
	case err == nil:
	case d.context.Err() != nil:
		return d.stopped()
	case transport.Misused(err):
		return Errorf(Internal, "%v", err)
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, &fault):
		return Status{Code: fault.Code, Message: fault.Text}.Err()
	default:
		return d.stopped()
	}
	if compressed {
		all := &d.serving.options.compressions
		err = all.decode(d.codec, d.call.Compression, m.B, message, all.limit)
	} else {
		err = d.codec.Decode(m.B, message)
	}
	m.Free()
	if err != nil {
		return d.undecodable(err)
	}
	return nil
}
