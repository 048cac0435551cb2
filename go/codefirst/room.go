package codefirst

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/trunkcall/trunkcall/go"
)

// How much memory the records of a message may need (limits.md 2): an empty map, one byte, is a record of
// any type.
const (
	roomAlways  = 1 << 20
	roomPerByte = 64

	recordSize = 16 // what counts for each, in bytes
	fieldSize  = 8
	listSize   = 24 // for an empty one in place of a field that is missing
	mapSize    = 64
	inlineSize = 24 // what any other field may take without being counted
)

var errRoom error = &valueError{
	code: trunkcall.ResourceExhausted,
	text: fmt.Sprintf("its records need more memory than %d bytes for each byte of the message", roomPerByte),
}

// room is what is left for the records of a message.
type room int64

func (r *room) begin(message []byte) { *r = roomAlways + roomPerByte*room(len(message)) }

// need counts bytes before they are taken.
func (r *room) need(some int) error {
	if *r -= room(some); *r < 0 {
		return errRoom
	}
	return nil
}

// recordSizes is what the records of a type count for.
type recordSizes struct {
	once sync.Once
	own  int   // without what is in place of missing fields
	zero int   // of one without any field
	of   []int // of the fields, what is in their place when they are missing
	some bool  // one of these is not 0
}

// sized is the shape's sizes. They are not made with it: a record may be a field of one that a pointer in
// itself leads to.
func (s *recordShape) sized() *recordSizes {
	z := &s.sizes
	z.once.Do(func() {
		z.own = recordSize + fieldSize*len(s.fields)
		z.zero, z.of = z.own, make([]int, len(s.fields))
		for i := range s.fields {
			z.of[i] = zeroSize(s.fields[i].shape, s.fields[i].of)
			z.zero += z.of[i]
		}
		z.some = z.zero > z.own
	})
	return z
}

func zeroSize(s shape, t reflect.Type) int {
	switch s := s.(type) {
	case *laterShape:
		return zeroSize(s.shape, t)
	case listShape:
		return listSize
	case mapShape:
		return mapSize
	case *recordShape:
		return s.sized().zero
	}
	if size := int(t.Size()); size > inlineSize { // such as an array
		return size
	}
	return 0
}

// fieldSet is which fields of a record have come.
type fieldSet struct {
	few  [2]uint64
	many []uint64
}

func (s *fieldSet) add(i int) {
	if word := i / 64; word < len(s.few) {
		s.few[word] |= 1 << (i % 64)
	} else {
		word -= len(s.few)
		for len(s.many) <= word {
			s.many = append(s.many, 0)
		}
		s.many[word] |= 1 << (i % 64)
	}
}

func (s *fieldSet) has(i int) bool {
	word := i / 64
	if word < len(s.few) {
		return s.few[word]&(1<<(i%64)) != 0
	}
	word -= len(s.few)
	return word < len(s.many) && s.many[word]&(1<<(i%64)) != 0
}

// missing is what the fields take that have not come.
func (z *recordSizes) missing(came *fieldSet) (size int) {
	for i, one := range z.of {
		if one > 0 && !came.has(i) {
			size += one
		}
	}
	return size
}
