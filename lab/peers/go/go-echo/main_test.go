package main

import (
	"bytes"
	"testing"

	"github.com/trunkcall/trunkcall/lab/peers/go/internal/smoke"
)

func TestAnswers(t *testing.T) { smoke.Test(t, peer) }

func TestFramesComeBackWholeAndInPieces(t *testing.T) {
	data := appendFrame(appendFrame(nil, 7, []byte("abc")), 9, nil)
	for cut := range headerSize + 3 {
		if _, _, rest, ok := parseFrame(data[:cut]); ok || len(rest) != cut {
			t.Errorf("a frame was found in its first %d bytes", cut)
		}
	}
	caller, payload, rest, ok := parseFrame(data)
	if !ok || caller != 7 || !bytes.Equal(payload, []byte("abc")) {
		t.Errorf("got caller %d, payload %q, %v", caller, payload, ok)
	}
	if caller, payload, rest, ok = parseFrame(rest); !ok || caller != 9 || len(payload)+len(rest) != 0 {
		t.Errorf("got caller %d, payload %q, rest %q, %v", caller, payload, rest, ok)
	}
}
