package peer

import (
	"context"

	"github.com/trunkcall/trunkcall/go"
	faultv1 "github.com/trunkcall/trunkcall/go/gen/fault/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
	"github.com/trunkcall/trunkcall/go/peer/ledger"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// onward is FaultService, but calls of Behave are answered by another server, as
// in a tier between others.
type onward struct {
	services.Fault
	client *trunkcall.Client
}

func (o onward) Behave(ctx context.Context, request *faultv1.Behaviour) (*faultv1.Answer, error) {
	if id := trunkcall.CallFromContext(ctx).Metadata.Get(ledger.Key); id != "" {
		ctx = trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: ledger.Key, Value: id}})
	}
	return faultv1.NewFaultServiceClient(grpcstub.Conn(o.client)).Behave(ctx, request)
}

// newOnwardClient is the one client for all that is passed on.
func newOnwardClient(o *faultOptions) (*trunkcall.Client, error) {
	var options []trunkcall.ClientOption
	if o.policyFile != "" {
		options = append(options, trunkcall.WithPolicyFile(o.policyFile))
	}
	if o.ledger != nil {
		options = append(options, trunkcall.WithAttemptObserver(trunkcall.AttemptObserver{
			Began: func(a *trunkcall.Attempt) { o.ledger.Attempt(a.Number) },
			Ended: func(*trunkcall.Attempt) {},
		}))
	}
	return trunkcall.NewClient(o.onward, options...)
}
