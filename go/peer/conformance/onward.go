package conformance

import (
	"context"

	"github.com/trunkcall/trunkcall/go"
	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
)

// callOnward makes the call of a handler. Its deadline is not named: it goes
// along with ctx.
func callOnward(ctx context.Context, own *trunkcall.ServerCall, onward *conformancev1.Onward) *conformancev1.Outcome {
	var through trunkcall.Caller = own.Connection()
	if onward.GetTarget() != "" {
		client, err := trunkcall.NewClient(onward.GetTarget())
		if err != nil {
			return &conformancev1.Outcome{Code: uint32(trunkcall.FailedPrecondition), Message: err.Error(), Delivery: trunkcall.NotSent.String()}
		}
		defer client.Close()
		through = client
	}
	c := &call{through: through, name: service + onward.GetMethod(), kind: kinds[onward.GetMethod()]}
	for _, r := range onward.GetRequests() {
		c.requests = append(c.requests, r)
	}
	got := c.make(trunkcall.WithMetadata(ctx, toMetadata(onward.GetMetadata())))
	told := &conformancev1.Outcome{Header: toEntries(got.header), Trailer: toEntries(got.trailer), Answers: got.answers}
	if s := got.status; s.Code != trunkcall.OK {
		told.Code, told.Message, told.Details = uint32(s.Code), s.Message, fromDetails(s.Details)
		told.Delivery = s.Delivery.String()
	}
	return told
}
