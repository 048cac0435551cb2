package zookeeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Of ZooKeeper's protocol: what is asked here, and sizes in bytes.
const (
	askCreate     = 1
	askDelete     = 2
	askExists     = 3
	askData       = 4
	askSetData    = 5
	askChildren   = 12
	askCheck      = 13
	askMulti      = 14
	askAuth       = 100
	askSetWatches = 101
	askClose      = -11
	failedInMulti = -1

	eventNumber = -1 // in place of the number of a question

	statSize  = 68 // what is known of a node
	leastHead = 16 // of an answer
	leastBoth = 20 // the answer that begins a session, without its password
	mostBoth  = 240
)

// checked is a connection to ZooKeeper whose answers are read whole, and handed to the library if they are what they say.
// The library takes memory for as much as an answer's lengths and counts say, and some answers that are too short end
// the process in a panic. Here such an answer ends the connection.
type checked struct {
	net.Conn

	told func(error) // why that was

	begun bool   // the answer that begins a session was read
	ready []byte // what the library has still to read of an answer

	mu    sync.Mutex
	opens bool            // the packet that opens a session was written
	asked map[int32]int32 // by the numbers of the questions that are not answered
}

func newChecked(conn net.Conn, told func(error)) *checked {
	return &checked{Conn: conn, told: told, asked: map[int32]int32{}}
}

// Write is net.Conn. The library writes a whole packet at once.
func (c *checked) Write(packet []byte) (int, error) {
	c.note(packet)
	return c.Conn.Write(packet)
}

// note takes note of what is asked.
func (c *checked) note(packet []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.opens {
		c.opens = true
		return
	}
	r := reader{rest: packet}
	r.skip(4)                              // its length
	if number := r.number(); number >= 0 { // else it is a sign of life
		c.asked[number] = r.number()
	}
}

// Read is net.Conn.
func (c *checked) Read(p []byte) (int, error) {
	if len(c.ready) == 0 {
		var err error
		if c.ready, err = c.answer(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// answer reads one, with its length before it. Memory is taken for what has come.
func (c *checked) answer() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.Conn, size[:]); err != nil {
		return nil, err
	}
	n, least, most := int64(binary.BigEndian.Uint32(size[:])), int64(leastHead), int64(maxPacket)
	if !c.begun {
		least, most = leastBoth, mostBoth
	}
	if n < least || n > most {
		return nil, c.fault(fmt.Errorf("an answer of %d bytes, want %d to %d", n, least, most))
	}
	var whole bytes.Buffer
	_, _ = whole.Write(size[:])
	if _, err := io.CopyN(&whole, c.Conn, n); err != nil {
		return nil, err
	}
	var err error
	if answer := whole.Bytes()[len(size):]; c.begun {
		err = c.check(answer)
	} else {
		err = checkBegun(answer)
	}
	c.begun = true
	if err != nil {
		return nil, c.fault(err)
	}
	return whole.Bytes(), nil
}

func (c *checked) fault(err error) error {
	err = fmt.Errorf("ZooKeeper at %v: %w", c.RemoteAddr(), err)
	c.told(err)
	return err
}

// checkBegun says what is at fault in the answer that begins a session.
func checkBegun(answer []byte) error {
	r := reader{rest: answer}
	r.skip(4) // version
	time := r.number()
	over := true // a session of number 0
	for range 8 {
		over = r.octet() == 0 && over
	}
	r.data()
	switch {
	case r.short:
		return errors.New("the password of a session ends behind the answer")
	case time <= 0 && !over:
		return fmt.Errorf("a session of %d ms", time)
	}
	return nil
}

// check says what is at fault in an answer.
func (c *checked) check(answer []byte) error {
	r := reader{rest: answer}
	number := r.number()
	r.skip(8) // the number of a change
	failed := r.number() != 0
	if number < 0 {
		if number == eventNumber {
			r.skip(8)
			r.text()
		}
		return r.fault("an event")
	}
	c.mu.Lock()
	what, ok := c.asked[number]
	delete(c.asked, number)
	c.mu.Unlock()
	switch {
	case !ok: // the library knows a question a moment sooner
		return fmt.Errorf("an answer to question %d, which was not asked", number)
	case failed:
		return nil
	}
	switch what {
	case askCreate:
		r.text()
	case askDelete, askAuth, askSetWatches, askClose:
	case askExists:
		r.skip(statSize)
	case askData:
		r.data()
		r.skip(statSize)
	case askChildren:
		r.texts()
		r.skip(statSize)
	case askMulti:
		r.multi()
	default:
		return fmt.Errorf("an answer to a question of kind %d, which nobody asks here", what)
	}
	return r.fault(fmt.Sprintf("an answer to a question of kind %d", what))
}

// reader goes through an answer.
type reader struct {
	rest  []byte
	short bool // something goes on behind the end, or has less than nothing
}

// fault says that something is.
func (r *reader) fault(what string) error {
	if r.short {
		return errors.New(what + ": its lengths and counts go beyond its end")
	}
	return nil
}

func (r *reader) skip(n int) {
	if n < 0 || n > len(r.rest) {
		r.rest, r.short = nil, true
		return
	}
	r.rest = r.rest[n:]
}

func (r *reader) octet() byte {
	before := r.rest
	if r.skip(1); r.short {
		return 0
	}
	return before[0]
}

func (r *reader) number() int32 {
	before := r.rest
	if r.skip(4); r.short {
		return 0
	}
	return int32(binary.BigEndian.Uint32(before))
}

// data goes over bytes with their length before them, below zero if there are none.
func (r *reader) data() { r.skip(max(0, int(r.number()))) }

func (r *reader) text() { r.skip(int(r.number())) }

func (r *reader) texts() {
	count := r.number()
	r.short = r.short || count < 0
	for ; count > 0 && !r.short; count-- {
		r.text()
	}
}

// multi goes over the answers to the operations of one question.
func (r *reader) multi() {
	for !r.short {
		what := r.number()
		done := r.octet() != 0
		r.skip(4)
		if done {
			return
		}
		switch what {
		case failedInMulti:
			r.skip(4)
		case askCreate:
			r.text()
		case askSetData:
			r.skip(statSize)
		case askDelete, askCheck:
		default: // of which the library reads no more
			return
		}
	}
}
