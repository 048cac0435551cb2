package roles

import "testing"

func TestPaceIsTheAverage(t *testing.T) {
	p := &Pace{}
	settled := func(every int, took int64) bool {
		for i := range 10 * paceWeight {
			if p.Note(1000); i%every == every-1 {
				p.Note(took)
			}
		}
		return p.Quick()
	}
	if p.Note(1000); p.Quick() {
		t.Fatal("quick from the start")
	}
	if !settled(1, 1000) {
		t.Fatal("quick handlers do not count as quick")
	}
	if !settled(10*paceWeight, 1e6) {
		t.Fatal("one that was held up counts too much")
	}
	if settled(100, 2e6) {
		t.Fatal("a method with one slow handler in a hundred counts as quick")
	}
	if !settled(1, 1000) {
		t.Fatal("never forgiven")
	}
	var none *Pace
	none.Note(1)
	if none.Quick() {
		t.Fatal("a method without a pace is quick")
	}
}
