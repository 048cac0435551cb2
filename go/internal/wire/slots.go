package wire

import "math/bits"

// slotSet hands out the lowest free slot. Bit n of word n/64 is set when slot
// n+1 is taken.
type slotSet struct {
	words []uint64
	hint  int // no word before it has a free slot
}

// grab takes the lowest free slot below limit, or 0.
func (t *slotSet) grab(limit uint32) uint32 {
	for w := t.hint; ; w++ {
		if w == len(t.words) {
			t.words = append(t.words, 0)
		}
		if free := ^t.words[w]; free != 0 {
			bit := bits.TrailingZeros64(free)
			slot := uint32(w*64 + bit + 1)
			if slot > limit {
				return 0
			}
			t.words[w] |= 1 << bit
			t.hint = w
			return slot
		}
	}
}

func (t *slotSet) release(slot uint32) {
	w := int(slot-1) / 64
	t.words[w] &^= 1 << ((slot - 1) % 64)
	t.hint = min(t.hint, w)
}
