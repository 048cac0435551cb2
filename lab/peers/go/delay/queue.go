package main

import (
	"sync"
	"time"
)

// queue is what is under way in one direction, in the order in which it was sent:
// bytes in blocks, and marks that say of how many of them when they are due. One
// goroutine adds, another takes; the bytes of a mark lie in one block.
type queue struct {
	room int // how many bytes may be held before whoever adds has to wait

	mu        sync.Mutex // guards what follows
	changed   sync.Cond
	blocks    []*block
	marks     []mark
	held      int
	end       end           // how it ends after the last mark
	endDue    time.Duration // and when
	abandoned bool          // nobody takes any more
}

type mark struct {
	due   time.Duration
	bytes int
}

// block is filled from the front and emptied from the front.
type block struct {
	filled, taken int
	data          [blockSize]byte
}

const (
	blockSize = 256 << 10
	// With less space than this left in a block, the next one is begun.
	leastSpace = 16 << 10
)

var blocks = sync.Pool{New: func() any { return new(block) }}

// end is how a direction ends.
type end int

const (
	open end = iota
	ended
	reset
)

func newQueue(room int) *queue {
	q := &queue{room: room}
	q.changed.L = &q.mu
	return q
}

// space returns where to put the next bytes; nil if nobody wants them.
func (q *queue) space() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.held >= q.room && !q.over() {
		q.changed.Wait()
	}
	if q.over() {
		return nil
	}
	if n := len(q.blocks); n > 0 && blockSize-q.blocks[n-1].filled >= leastSpace {
		return q.blocks[n-1].data[q.blocks[n-1].filled:]
	}
	b := blocks.Get().(*block)
	b.filled, b.taken = 0, 0
	q.blocks = append(q.blocks, b)
	return b.data[:]
}

// over reports whether nothing can be added any more. The caller holds the lock.
func (q *queue) over() bool { return q.abandoned || q.end != open }

// add notes that so many bytes of the space were filled.
func (q *queue) add(bytes int, due time.Duration) {
	if bytes == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over() {
		return
	}
	q.blocks[len(q.blocks)-1].filled += bytes
	q.marks = append(q.marks, mark{due, bytes})
	q.held += bytes
	q.changed.Broadcast()
}

// close says how the direction ends, and when. A reset cuts off an end that is
// still to come; what was sent before either arrives.
func (q *queue) close(how end, due time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if how > q.end {
		q.end, q.endDue = how, max(q.endDue, due)
	}
	q.changed.Broadcast()
}

// abandon says that nobody takes any more.
func (q *queue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abandoned = true
	q.changed.Broadcast()
}

// due waits for something to be under way and returns when it is due.
func (q *queue) due() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.marks) == 0 && q.end == open {
		q.changed.Wait()
	}
	if len(q.marks) == 0 {
		return q.endDue
	}
	return q.marks[0].due
}

// take returns bytes that are due, as many as lie together, or the end if that is
// due. The bytes are to be freed.
func (q *queue) take(now time.Duration) ([]byte, end) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.marks) == 0 {
		if q.end != open && q.endDue <= now {
			return nil, q.end
		}
		return nil, open
	}
	b := q.blocks[0]
	bytes := 0
	for len(q.marks) > 0 && q.marks[0].due <= now && b.taken+bytes < b.filled {
		bytes += q.marks[0].bytes
		q.marks = q.marks[1:]
	}
	return b.data[b.taken : b.taken+bytes], open
}

// free gives back the bytes that were taken.
func (q *queue) free(bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.blocks[0]
	b.taken += bytes
	// The block that is being filled stays, unless there is no space left in it.
	if b.taken == b.filled && (len(q.blocks) > 1 || blockSize-b.filled < leastSpace) {
		q.blocks = q.blocks[1:]
		blocks.Put(b)
	}
	q.held -= bytes
	q.changed.Broadcast()
}
