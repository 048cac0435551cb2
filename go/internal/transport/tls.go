package transport

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// TLS without waiting. crypto/tls reads and writes a socket when it likes, and waits for it. It is therefore given a
// socket of ours, which during the handshake waits as any other does. Once a Conn has it, it only hands over: what has
// been received is read from memory, or there is nothing yet; records that are written gather. The Conn then receives
// and sends them as it does cleartext: in one system call for as many as possible, with callers, handlers and pollers
// that do so themselves, and with the rest left to a goroutine of its own where the peer does not read (decision 0033).

// tlsSocket is the socket that crypto/tls works on. Its methods with lower-case names may be called
// on nil, as for a connection in cleartext.
type tlsSocket struct {
	net.Conn           // the socket, while it is waited for
	tls      *tls.Conn // that reads and writes this, nil while the socket is waited for

	// Only the reader touches these.
	fd     uintptr // what to receive from
	in     []byte  // was received and not read yet
	buffer *Buffer // that in lies in, nil if there is none
	full   bool    // the last receive filled its buffer: there may be more
	fault  error   // why no more will be received
	got    int     // how many bytes the present tryRead has
	held   bool    // the last one has left some behind

	mu      sync.Mutex  // taken after crypto/tls's own
	out     *Buffer     // records to be sent, nil if there are none
	sealing bool        // the writer is about to take them
	queued  atomic.Bool // the writer is not: crypto/tls itself has something to say

	// Only the writer touches these.
	rest     []byte  // of the records that are being sent
	sending  *Buffer // that they lie in
	sealed   int     // how many bytes of the session they stand for, until one of them has left
	unsealed error   // why no more could be encrypted, until tryWrite tells it
	torn     bool    // a record was sent in part, and never will be as a whole
}

const (
	// maxSealed is how many bytes of the session are encrypted at once: the largest frame of the default size.
	maxSealed = 64<<10 + 64
	// maxQueued bounds the records that a peer has crypto/tls answer with and does not read.
	maxQueued = 256 << 10
)

// nothingYet is what crypto/tls is told when nothing has been received. It gives up after any error, unless that is
// said to be temporary.
type nothingYet struct{}

func (nothingYet) Error() string   { return "nothing has been received yet" }
func (nothingYet) Timeout() bool   { return true }
func (nothingYet) Temporary() bool { return true }

// errUnread is why no more records are kept for a peer.
var errUnread = errors.New("the peer reads none of what TLS answers")

// takeTLSSocket ends TLS's waiting for its socket and returns the tlsSocket; nil if there is no
// socket that can be read and written without waiting.
func takeTLSSocket(socket net.Conn) *tlsSocket {
	secure, _ := socket.(*tls.Conn)
	if secure == nil {
		return nil
	}
	s, _ := secure.NetConn().(*tlsSocket)
	if s == nil || RawOf(s.Conn) == nil || !secure.ConnectionState().HandshakeComplete {
		return nil
	}
	s.tls = secure
	s.held = true // crypto/tls may have read ahead
	return s
}

// Read implements net.Conn, for crypto/tls.
func (s *tlsSocket) Read(b []byte) (int, error) {
	if len(s.in) == 0 {
		if s.tls == nil {
			return s.Conn.Read(b)
		}
		if s.got > 0 && !s.full {
			return 0, nothingYet{} // what there is may be of use at once
		}
		if n, err := s.receive(); n == 0 {
			return 0, err
		}
	}
	n := copy(b, s.in)
	if s.in = s.in[n:]; len(s.in) == 0 {
		s.dropInput()
	}
	return n, nil
}

// receive makes one attempt to receive.
func (s *tlsSocket) receive() (int, error) {
	if s.fault != nil {
		return 0, s.fault // which a socket may tell only once
	}
	pool := &readBuffers
	if s.full {
		pool = &bulkBuffers
	}
	s.buffer = take(pool)
	n, err := tryRead(s.fd, nil, s.buffer.B)
	s.full = n == len(s.buffer.B)
	if s.in = s.buffer.B[:n]; n == 0 {
		s.dropInput()
		if s.fault = err; err == nil {
			err = nothingYet{}
		}
	}
	return n, err
}

func (s *tlsSocket) dropInput() {
	s.in = nil
	if b := s.buffer; b != nil {
		s.buffer = nil
		if len(b.B) == readSize {
			readBuffers.Put(b)
		} else {
			bulkBuffers.Put(b)
		}
	}
}

// tryRead is tryRead of what the socket has, decrypted.
func (s *tlsSocket) tryRead(fd uintptr, first, b []byte) (n int, err error) {
	if s == nil {
		return tryRead(fd, first, b)
	}
	s.fd, s.got = fd, 0
	if !s.held && len(s.in) == 0 {
		if n, err := s.receive(); n == 0 && errors.Is(err, nothingYet{}) {
			return 0, nil // as most often when somebody looks again: nothing that crypto/tls need know of
		}
	}
	for size := len(first) + len(b); s.got < size && err == nil; s.got += n {
		to := b[max(s.got-len(first), 0):]
		if s.got < len(first) {
			to = first[s.got:]
		}
		n, err = s.tls.Read(to)
	}
	nothing := errors.Is(err, nothingYet{})
	s.held = !nothing
	if s.got > 0 || nothing {
		err = nil // that of the end is found again
	}
	return s.got, err
}

// holds reports whether there is input that waiting for the socket would not find.
func (s *tlsSocket) holds() bool { return s != nil && s.held }

// Write implements net.Conn, for crypto/tls.
func (s *tlsSocket) Write(b []byte) (int, error) {
	if s.tls == nil {
		if s.torn {
			return 0, net.ErrClosed
		}
		return s.Conn.Write(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		s.out = GetBuffer(len(b))
	}
	if len(s.out.B) > maxQueued {
		return 0, errUnread
	}
	s.out.B = append(s.out.B, b...)
	s.queued.Store(!s.sealing)
	return len(b), nil
}

// SetWriteDeadline implements net.Conn. crypto/tls sets one for its farewell, which does not wait here.
func (s *tlsSocket) SetWriteDeadline(t time.Time) error {
	if s.tls == nil {
		return s.Conn.SetWriteDeadline(t)
	}
	return nil
}

// seal encrypts what of o comes next.
func (s *tlsSocket) seal(o *outgoing) error {
	left := min(o.size(), maxSealed)
	s.mu.Lock()
	if s.out == nil && left > 0 {
		s.out = GetBuffer(left + left/32 + 64) // what records add, those of the first 128 KiB being small
	}
	s.sealing = true
	s.mu.Unlock()
	var err error
	for left > 0 && err == nil {
		o.skip(0)
		n := min(len(o.first), left)
		_, err = s.tls.Write(o.first[:n])
		o.skip(n)
		s.sealed += n
		left -= n
	}
	if o.empty() {
		o.free() // it lies in the records now
	}
	s.mu.Lock()
	s.sending, s.out = s.out, nil
	s.sealing = false
	s.queued.Store(false)
	s.mu.Unlock()
	if s.sending != nil {
		s.rest = s.sending.B
	}
	return err
}

// sealAhead has what tryWrite writes next encrypted. Encrypting takes much stack, and below a RawConn there is
// less of it.
func (s *tlsSocket) sealAhead(o *outgoing) {
	if s != nil && len(s.rest) == 0 && s.unsealed == nil {
		s.unsealed = s.seal(o)
	}
}

// tryWrite makes one attempt to write what of o comes next. It returns how many bytes of o may have reached the peer
// with it, and how many it has given to the socket.
func (s *tlsSocket) tryWrite(fd uintptr, o *outgoing) (passed, wrote int, err error) {
	if s == nil {
		if wrote, err = tryWrite(fd, o.first, o.more); wrote > 0 {
			o.skip(wrote)
		}
		return wrote, wrote, err
	}
	s.sealAhead(o)
	if err, s.unsealed = s.unsealed, nil; len(s.rest) == 0 {
		return 0, 0, err
	}
	wrote, failed := tryWrite(fd, s.rest, nil)
	if err == nil {
		err = failed
	}
	if wrote > 0 {
		passed, s.sealed = s.sealed, 0
	}
	if s.rest = s.rest[wrote:]; len(s.rest) == 0 {
		s.sending.Free()
		s.sending = nil
	}
	return passed, wrote, err
}

// hasOutput reports whether crypto/tls has something to say by itself.
func (s *tlsSocket) hasOutput() bool { return s != nil && s.queued.Load() }

// unwritten reports whether there is something to send for which nothing need be taken from the session.
func (s *tlsSocket) unwritten() bool { return s != nil && (len(s.rest) > 0 || s.queued.Load()) }

// sent reports whether the socket has taken all that was encrypted, so that it may take more.
func (s *tlsSocket) sent() bool { return s != nil && len(s.rest) == 0 }

// farewell makes one attempt to send close_notify, behind an alert if crypto/tls has written one.
// Nobody else writes.
func (s *tlsSocket) farewell(fd uintptr) {
	_ = s.tls.CloseWrite()
	if len(s.rest) == 0 {
		_, _, _ = s.tryWrite(fd, &outgoing{})
	}
}

// await has the socket, which nobody reads or writes, waited for again.
func (s *tlsSocket) await(socket net.Conn) *tls.Conn {
	secure := s.tls
	s.Conn, s.tls = socket, nil
	s.torn = len(s.rest) > 0
	if s.out != nil && !s.torn {
		_, err := socket.Write(s.out.B)
		s.torn = err != nil
	}
	return secure
}
