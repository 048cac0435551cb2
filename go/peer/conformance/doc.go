// Package conformance is the part of peer-go that takes part in the conformance
// matrix: the service that the cases call (Service), and the client that carries
// cases out (Client). conformance/cases/README.md describes the cases and the
// lines in which the client takes and answers them.
package conformance

import (
	"github.com/trunkcall/trunkcall/go"
	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
)

type (
	request  = conformancev1.Request
	answer   = conformancev1.Answer
	plan     = conformancev1.Plan
	observed = conformancev1.Observed
)

const service = "/trunkcall.conformance.v1.ConformanceService/"

// kinds are those of the methods that are not unary.
var kinds = map[string]trunkcall.Kind{
	"ServerStream": trunkcall.KindServerStream,
	"ClientStream": trunkcall.KindClientStream,
	"BidiStream":   trunkcall.KindBidiStream,
	"Tell":         trunkcall.KindOneWay,
}
