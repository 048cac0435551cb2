package transport

import "sync"

// Buffer is a reusable piece of memory.
type Buffer struct {
	B []byte
}

// Buffers come in these sizes, with room for a message of a round number of
// bytes and what surrounds it; larger ones are left to the collector.
var bufferSizes = [...]int{1 << 10, 8 << 10, 34 << 10, 68 << 10, 136 << 10, 272 << 10, 544 << 10, 1088 << 10, 2176 << 10, 4352 << 10}

var bufferPools [len(bufferSizes)]sync.Pool

// GetBuffer returns an empty buffer with room for n bytes.
func GetBuffer(n int) *Buffer {
	for i, size := range bufferSizes {
		if n <= size {
			if b, ok := bufferPools[i].Get().(*Buffer); ok {
				return b
			}
			return &Buffer{B: make([]byte, 0, size)}
		}
	}
	return &Buffer{B: make([]byte, 0, n)}
}

// Free gives b back. Nothing may use its bytes any more.
func (b *Buffer) Free() {
	for i := len(bufferSizes) - 1; i >= 0; i-- {
		if size := bufferSizes[i]; cap(b.B) >= size {
			if cap(b.B) <= 2*size {
				b.B = b.B[:0]
				bufferPools[i].Put(b)
			}
			return
		}
	}
}

// How much one read asks for: at first what a few dozen small frames take; as
// long as reads fill that, many times as much. The larger size holds the
// largest frame.
const (
	readSize = 16 << 10
	bulkSize = 128 << 10
)

// outSize is what outgoing bytes begin with.
const outSize = 16 << 10

var (
	readBuffers = sync.Pool{New: func() any { return &Buffer{B: make([]byte, readSize)} }}
	bulkBuffers = sync.Pool{New: func() any { return &Buffer{B: make([]byte, bulkSize)} }}
	outBuffers  = sync.Pool{New: func() any { return &Buffer{B: make([]byte, outSize)} }}
)

func take(p *sync.Pool) *Buffer { return p.Get().(*Buffer) } //nolint:forcetypeassert // the pools hold nothing else
