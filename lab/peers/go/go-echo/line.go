package main

import (
	"bytes"
	"net"
	"runtime"
	"sync"

	"github.com/trunkcall/trunkcall/go/peer/load"
)

// line is a connection that callers share. Callers append their frames to one
// buffer, a flusher writes all that has gathered, and a reader wakes the callers
// whose frames came back.
//
// The flusher alone writes to the connection and owns the buffer that it took;
// the reader alone reads. Callers register before the load starts.
type line struct {
	connection net.Conn
	payload    []byte
	flush      chan struct{} // holds at most one request to flush

	mu        sync.Mutex // guards what follows
	gathered  []byte
	requested bool // a flush has been asked for and has not begun
	failure   error
	waiting   []chan error // by the number of the caller
}

func newLine(connection net.Conn, payload []byte) *line {
	l := &line{connection: connection, payload: payload, flush: make(chan struct{}, 1)}
	go l.write()
	go l.read()
	return l
}

// caller adds one more to those who share the line.
func (l *line) caller() load.Call {
	answered := make(chan error, 1)
	l.mu.Lock()
	number := uint32(len(l.waiting))
	l.waiting = append(l.waiting, answered)
	l.mu.Unlock()
	return func() error {
		l.mu.Lock()
		if l.failure != nil {
			l.mu.Unlock()
			return l.failure
		}
		l.gathered = appendFrame(l.gathered, number, l.payload)
		first := !l.requested
		l.requested = true
		l.mu.Unlock()
		if first {
			l.flush <- struct{}{}
		}
		return <-answered
	}
}

func (l *line) write() {
	var buffer []byte
	for range l.flush {
		// Callers that can run now add their frames to the same write.
		runtime.Gosched()
		l.mu.Lock()
		buffer, l.gathered = l.gathered, buffer[:0]
		l.requested = false
		l.mu.Unlock()
		if _, err := l.connection.Write(buffer); err != nil {
			l.fail(err)
			return
		}
	}
}

func (l *line) read() {
	buffer := make([]byte, 64<<10)
	filled := 0
	for {
		n, err := l.connection.Read(buffer[filled:])
		if err != nil {
			l.fail(err)
			return
		}
		l.mu.Lock()
		waiting := l.waiting
		l.mu.Unlock()
		data := buffer[:filled+n]
		for {
			caller, payload, rest, ok := parseFrame(data)
			if !ok {
				break
			}
			data = rest
			var wrong error
			if !bytes.Equal(payload, l.payload) {
				wrong = wrongEcho(payload)
			}
			waiting[caller] <- wrong
		}
		if filled = copy(buffer, data); filled == len(buffer) {
			// A frame larger than the buffer: make room for it.
			buffer = append(buffer, make([]byte, len(buffer))...)
		}
	}
}

// fail gives up the line: those who wait, and those to come, get the error.
func (l *line) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return
	}
	l.failure = err
	for _, answered := range l.waiting {
		select {
		case answered <- err:
		default:
		}
	}
}
