package transport

import (
	"slices"
	"testing"
	"time"
)

// Those whose time ends together leave without being looked for among all that wait, which would take minutes here.
func TestAMillionThatWaitLeaveTheirQueue(t *testing.T) {
	var q SlotQueue
	all := make([]Turn, 1_000_000)
	for i := range all {
		q.Queue(&all[i])
	}
	over := make(chan int)
	go func() {
		left := 0
		for i := range slices.Backward(all) {
			if q.Leave(&all[i]) {
				left++
			}
		}
		over <- left
	}()
	select {
	case left := <-over:
		if left != len(all) || q.length.Load() != 0 || q.turns.Len() != 0 {
			t.Errorf("%d of %d have left", left, len(all))
		}
	case <-time.After(time.Minute):
		t.Fatal("they still leave")
	}
}

func TestTurnsComeInOrderWhoeverLeaves(t *testing.T) {
	var q SlotQueue
	c := &Conn{}
	turns := make([]Turn, 6)
	for i := range turns {
		q.Queue(&turns[i])
	}
	for _, i := range []int{0, 3, 5} { // the first, one between, the last
		if !q.Leave(&turns[i]) || q.Leave(&turns[i]) {
			t.Errorf("turn %d does not leave once", i)
		}
	}
	q.Queue(&turns[3])
	turns[1].Only = &Conn{} // for others than c
	for _, i := range []int{2, 4, 3} {
		if next := q.take(c, true); next != &turns[i] {
			t.Errorf("turn %d does not come next", i)
		}
	}
	if next := q.take(c, true); next != nil || q.Leave(&turns[2]) || !q.Leave(&turns[1]) || q.length.Load() != 0 {
		t.Error("not those are left that did not come")
	}
}
