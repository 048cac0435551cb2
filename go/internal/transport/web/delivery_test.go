package web

import (
	"math"
	"net/http"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func TestSecondsToComeBackAreRoundedUp(t *testing.T) {
	for milliseconds, seconds := range map[uint32]string{1: "1", 1000: "1", 1001: "2", math.MaxUint32: "4294968"} {
		h := http.Header{}
		AddDelivery(h, &wire.Ending{Code: wire.Unavailable, Delivery: wire.Refused, RetryAfter: milliseconds})
		if h.Get("Retry-After") != seconds {
			t.Errorf("after %d ms: %q", milliseconds, h.Get("Retry-After"))
		}
	}
}
