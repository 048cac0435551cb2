package transport

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Reading. An idle connection holds no buffer: the reader waits for the socket
// to become readable first, where the socket can say so.

const (
	// readAhead is how much is parsed at most before calls are started, when
	// more input than one read takes has piled up (section 10).
	readAhead = 1 << 20
)

// readLocked waits for input and takes it in. It holds the lock on entry and
// on return, not in between.
func (c *Conn) readLocked() {
	for total, piled := 0, false; !c.closed; {
		if !c.prefixed {
			p := c.polled
			p.useLocked()
			again := total > 0
			c.roles.ReadingOn = again
			c.spinsLocked()
			c.mu.Unlock()
			more, err := c.fill(p, again)
			c.mu.Lock()
			c.roles.ReadingOn = false
			p.doneLocked()
			if err != nil {
				if c.interrupted && errors.Is(err, os.ErrDeadlineExceeded) {
					return
				}
				c.inputEndedLocked(err)
				return
			}
			if c.closed || !more {
				break
			}
		}
		c.prefixed = false
		full := c.inEnd == len(c.room())
		c.bulk = full
		if c.raw != nil && c.readN > 0 {
			total += c.readN // some of it may be placed
		} else {
			total += c.inEnd - c.inStart
		}
		if err := c.parseLocked(roles.Clock()); err != nil {
			c.violateLocked(err)
			return
		}
		// Where input has piled up, as while the process stood still, a CANCEL may
		// lie behind it: all is read before anything is started, be it by another
		// goroutine that has just finished a handler (roles.ReadyLocked).
		if piled = piled || full; !piled || total >= readAhead {
			break
		}
	}
	if c.closed {
		return
	}
	c.armLocked(c.session.NextDeadline())
	c.closeIfDrainedLocked()
}

// placed is a frame that has arrived in part, whose body is gathered in the
// message that it is a piece of: large messages are not copied again.
type placed struct {
	header [wire.HeaderSize]byte
	body   []byte // nil: there is no such frame
	n      int    // bytes of body that have arrived
}

// behindPlaced is how much of what follows a placed frame is read with it: the
// less, the more of the next one can be placed.
const behindPlaced = 8 << 10

func (p *placed) active() bool { return p != nil && p.body != nil }

// room is where input goes that is not placed.
func (c *Conn) room() []byte {
	if c.placed.active() {
		return c.in.B[:behindPlaced]
	}
	return c.in.B
}

// parseLocked takes in what has arrived.
func (c *Conn) parseLocked(now int64) (err *wire.Error) {
	defer c.contain(&err)
	if p := c.placed; p.active() {
		if p.n < len(p.body) {
			c.session.Heard(now)
			c.compactLocked()
			return nil
		}
		body := p.body
		p.body = nil
		if err := c.session.ReceivePlaced(p.header[:], body, now); err != nil {
			return err
		}
	}
	input := c.in.B[c.inStart:c.inEnd]
	n, err := c.session.Receive(input, now)
	if err != nil && err.Class == wire.ErrPreface && !c.acceptor && !bytes.HasPrefix(input, wire.Magic[:]) {
		err = wrongServer(input)
	}
	c.inStart += n
	if err == nil && c.raw != nil {
		c.placeLocked()
	}
	c.compactLocked()
	return err
}

// placeLocked has the rest of a frame that has arrived in part read to where it
// belongs.
func (c *Conn) placeLocked() {
	rest := c.in.B[c.inStart:c.inEnd]
	body := c.session.Place(rest)
	if body == nil {
		return
	}
	if c.placed == nil {
		c.placed = &placed{}
	}
	p := c.placed
	copy(p.header[:], rest)
	p.body, p.n = body, copy(body, rest[wire.HeaderSize:])
	c.inStart = c.inEnd
}

// compactLocked moves what is left of the input to the front, or lets go of
// the buffer.
func (c *Conn) compactLocked() {
	switch {
	case c.inStart == c.inEnd:
		c.inStart, c.inEnd = 0, 0
		if c.in == nil || c.raw == nil && len(c.in.B) == readSize {
			return // a socket that cannot be asked needs one to wait with
		}
		c.freeInput()
	case c.inStart > 0:
		c.inEnd = copy(c.in.B, c.in.B[c.inStart:c.inEnd])
		c.inStart = 0
	}
}

func (c *Conn) freeInput() {
	switch len(c.in.B) {
	case readSize:
		readBuffers.Put(c.in)
	case bulkSize:
		bulkBuffers.Put(c.in)
	}
	c.in = nil
}

// fill reads once, after what is left in c.in. With poll it returns at once
// when nothing is readable, where it can tell, as it does with the polled socket
// p, if that is not nil.
func (c *Conn) fill(p *polled, poll bool) (more bool, err error) {
	if p != nil {
		c.readN = -1
		c.readOnce(uintptr(p.fd))
		c.arrivedInput(c.readN)
		return c.readN > 0, c.readErr
	}
	if c.raw == nil {
		if poll {
			return false, nil
		}
		return c.fillBlocking()
	}
	c.readN = 0
	if poll {
		c.readN = -1
	}
	if err := c.raw.Read(c.readFD); err != nil {
		return false, err
	}
	if c.readErr != nil {
		return false, c.readErr
	}
	NoteInput()
	c.arrivedInput(c.readN)
	return c.readN > 0, nil
}

// readOnce is the body of RawConn.Read; false has it called again once the
// socket is readable. A c.readN of -1 asks not to wait.
func (c *Conn) readOnce(fd uintptr) bool {
	poll := c.readN < 0
	c.growInput()
	var first []byte
	b := c.in.B[c.inEnd:]
	if p := c.placed; p.active() {
		first, b = p.body[p.n:], c.room()
	}
	c.readN, c.readErr = c.secure.tryRead(fd, first, b)
	if c.readN == 0 && c.readErr == nil && c.spin.wanted && !poll {
		c.readN, c.readErr = c.spin.read(c.secure, fd, first, b)
	}
	if c.readN > 0 || c.readErr != nil || c.secure.hasOutput() {
		return true
	}
	if c.inEnd == 0 { // only the reader touches the input
		c.freeInput()
	}
	return poll
}

// arrivedInput notes that n bytes were read.
func (c *Conn) arrivedInput(n int) {
	if p := c.placed; p.active() {
		direct := min(n, len(p.body)-p.n)
		p.n += direct
		n -= direct
	}
	c.inEnd += n
}

// growInput makes sure that there is a buffer, one with room for the rest of
// the largest frame if part of a frame is there or the last read was full.
func (c *Conn) growInput() {
	if c.in == nil && (!c.bulk || c.placed.active()) {
		c.in = take(&readBuffers)
		return
	}
	size := max(bulkSize, int(c.config.Local.FrameBody)+64)
	if c.in != nil && (len(c.in.B) >= size || c.inputFits()) {
		return
	}
	grown := &Buffer{}
	if size == bulkSize {
		grown = take(&bulkBuffers)
	} else {
		grown.B = make([]byte, size)
	}
	if c.in != nil {
		copy(grown.B, c.in.B[:c.inEnd])
		c.freeInput()
	}
	c.in = grown
}

// inputFits reports whether the frame that has arrived in part fits the buffer.
func (c *Conn) inputFits() bool {
	if c.inEnd < wire.HeaderSize {
		return true
	}
	h := wire.ParseHeader(c.in.B)
	return wire.HeaderSize+int(h.Length) <= len(c.in.B) && c.inEnd < len(c.in.B)
}

func (c *Conn) fillBlocking() (bool, error) {
	c.growInput()
	n, err := c.socket.Read(c.in.B[c.inEnd:])
	NoteInput()
	c.inEnd += n
	if n > 0 {
		return true, nil
	}
	return false, err
}

// inputEndedLocked is called at the end of the stream and on a read error.
func (c *Conn) inputEndedLocked(err error) {
	if c.peerCause != nil {
		err = c.peerCause
	} else if !c.closed && c.failing == nil && !errors.Is(err, io.EOF) {
		c.readFault = err
	}
	switch {
	case c.closed:
	case c.closing, errors.Is(err, io.EOF) && c.session.Drained():
		c.failLocked(errDrained)
	default:
		c.failLocked(err)
	}
}
