package services

import (
	"context"

	"github.com/trunkcall/trunkcall/go"
)

// Calc is a code-first service, "calc".
type Calc struct{}

// Div returns the quotient, rounded towards zero, and the remainder. A divisor
// of zero is INVALID_ARGUMENT.
func (Calc) Div(_ context.Context, a, b int64) (quotient, remainder int64, err error) {
	if b == 0 {
		return 0, 0, trunkcall.Errorf(trunkcall.InvalidArgument, "division by zero")
	}
	return a / b, a % b, nil
}

// Hello is a code-first service, "hello".
type Hello struct{}

// Say returns its arguments.
func (Hello) Say(text string, a, b int, x float64) (string, int, int, float64) {
	return text, a, b, x
}
