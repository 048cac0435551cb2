// Retry is an interceptor that makes unary calls again which provably did not run, within a
// budget: a server that is overloaded is not asked many times as often.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/examples/go/internal/users"
	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

// budget is how many calls may be made again: a tenth of those that are made, and ten to begin with.
type budget struct{ tenths atomic.Int64 }

// retry makes up to three attempts; the library's own repetition is off (WithoutRepeating).
func (b *budget) retry(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
	if b.tenths.Add(1) > 100 {
		b.tenths.Add(-1)
	}
	for attempt := 1; ; attempt++ {
		err := next(ctx, call)
		s := trunkcall.StatusOf(err)
		again := s.Code == trunkcall.Unavailable && (s.Delivery == trunkcall.NotSent || s.Delivery == trunkcall.Refused)
		if !again || call.Method.Kind != trunkcall.KindUnary || attempt == 3 {
			return err
		}
		if b.tenths.Add(-10) < 0 {
			b.tenths.Add(10)
			return err
		}
		select {
		case <-time.After(rand.N(10 * time.Millisecond << attempt)): //nolint:gosec // jitter, no secret
		case <-ctx.Done():
			return err
		}
	}
}

func main() {
	arrivals := 0
	server := users.Serve(trunkcall.WithAdmission(func(context.Context, *trunkcall.Arrival) (trunkcall.Admission, error) {
		if arrivals++; arrivals < 3 { // it is overloaded at first
			return trunkcall.Admission{}, trunkcall.Errorf(trunkcall.Unavailable, "overloaded")
		}
		return trunkcall.Admission{}, nil
	}))
	defer server.Close()
	spare := &budget{}
	spare.tenths.Store(100)
	client := users.Client(server, trunkcall.WithInterceptors(spare.retry), trunkcall.WithoutRepeating())
	defer client.Close()
	user, err := users.Get.Call(context.Background(), client, &pb.GetUserRequest{UserId: 7})
	fmt.Println(user.GetName(), err, "at attempt", arrivals)
}
