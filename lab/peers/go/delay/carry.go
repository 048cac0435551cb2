package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/peer/load"
)

// way is what lies between the two ends, the same in both directions.
type way struct {
	delay, jitter time.Duration
	rate          int64 // bytes a second; 0: as many as come
}

// fastest is the rate, in bytes a second, that a direction without one can hold.
const fastest = 1 << 30

// room is how many bytes can be under way in one direction.
func (w way) room() int {
	rate := w.rate
	if rate == 0 {
		rate = fastest
	}
	return int((w.delay+w.jitter).Seconds()*float64(rate)) + 4*blockSize
}

// carry forwards a connection until both of its directions have ended.
//
// The handshake of TCP takes a round trip before the client can send, and half of
// one more before the server hears of the connection. The client's system has
// answered it at once here, so the connection to the target is made when the last
// part of the handshake would arrive, and nothing that the client sends arrives
// before: only that connecting has returned early tells the client of it.
func carry(near *net.TCPConn, target string, w way, began time.Time) {
	defer near.Close()
	opened := time.Since(began) + 2*w.delay
	forth, back := newDirection(w, began, opened), newDirection(w, began, opened)
	go forth.read(near)
	sleepUntil(began, opened+w.delay)
	far, err := net.Dial("tcp", target)
	if err != nil {
		fmt.Fprintln(os.Stderr, "delay:", err)
		forth.sent.abandon()
		back.sent.close(reset, time.Since(began)+w.delay)
		back.write(near, forth)
		return
	}
	defer far.Close()
	var running sync.WaitGroup
	running.Go(func() { forth.write(far.(*net.TCPConn), back) })
	running.Go(func() { back.write(near, forth) })
	go back.read(far.(*net.TCPConn))
	running.Wait()
}

// sleepUntil sleeps until the time, which counts from when the program began. The
// runtime's own timers would be late by up to a millisecond.
func sleepUntil(began time.Time, due time.Duration) {
	early := due - time.Since(began)
	if early <= 0 {
		return
	}
	alarm := alarms.Get().(*load.Alarm)
	for ; early > 0; early = due - time.Since(began) {
		alarm.Sleep(early)
	}
	alarms.Put(alarm)
}

// alarms are kept open: what the pool drops, the runtime closes.
var alarms = sync.Pool{New: func() any {
	alarm, err := load.NewAlarm()
	if err != nil {
		panic(err) // out of open files, or of memory
	}
	return alarm
}}

// direction is what one end sends to the other. One goroutine reads it, another
// writes it when it is due.
type direction struct {
	way
	began  time.Time     // what times are counted from
	opened time.Duration // what is sent earlier counts as sent then
	sent   *queue
}

func newDirection(w way, began time.Time, opened time.Duration) *direction {
	return &direction{way: w, began: began, opened: opened, sent: newQueue(w.room())}
}

// read takes in what an end sends, until it ends or nobody wants it any more.
func (d *direction) read(from *net.TCPConn) {
	var left, due time.Duration // when the last byte had left the sender, when it arrives
	for {
		space := d.sent.space()
		if space == nil {
			return
		}
		if d.rate > 0 {
			space = space[:min(len(space), max(leastRead, int(d.rate/readsPerSecond)))]
		}
		n, err := from.Read(space)
		left = max(left, d.opened, time.Since(d.began))
		if d.rate > 0 {
			left += time.Duration(float64(n) / float64(d.rate) * float64(time.Second))
		}
		arrives := left + d.delay
		if d.jitter > 0 {
			arrives += rand.N(d.jitter) //nolint:gosec // not for secrets
		}
		due = max(due, arrives)
		d.sent.add(n, due)
		switch {
		case errors.Is(err, io.EOF):
			d.sent.close(ended, due)
			return
		case err != nil:
			d.sent.close(reset, due)
			return
		case d.rate > 0:
			// Reading on now would make this the place where bytes queue up for the
			// path; they are to stay with the sender.
			// A little may, or a sleep that lasts too long would cost some of the rate.
			time.Sleep(left - slack - time.Since(d.began))
		}
	}
}

// With a rate, what is read at once takes no more than a small part of a second,
// unless it is as little as a packet.
const (
	leastRead      = 1460
	readsPerSecond = 200
	slack          = 5 * time.Millisecond
)

// write hands on what is due, until all is or the receiver takes no more. Then the
// sender is to hear of it, over the other direction.
func (d *direction) write(to *net.TCPConn, other *direction) {
	for {
		sleepUntil(d.began, d.sent.due())
		data, end := d.sent.take(time.Since(d.began))
		if len(data) > 0 {
			if _, err := to.Write(data); err != nil {
				d.sent.abandon()
				other.sent.close(reset, time.Since(d.began)+d.delay)
				return
			}
			d.sent.free(len(data))
		}
		switch end {
		case ended:
			_ = to.CloseWrite()
			return
		case reset:
			_ = to.SetLinger(0)
			_ = to.Close()
			return
		}
	}
}
