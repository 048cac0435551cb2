package peer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/peer/load"
)

// The code-first methods that bench drives.
var codeFirstBenchMethods = []string{"calc/div", "hello/say"}

func isCodeFirstBench(method string) bool {
	return slices.Contains(codeFirstBenchMethods, strings.TrimPrefix(method, "/"))
}

// newDiv calls calc/div and checks each answer.
func newDiv(client *trunkcall.Client) load.Call {
	div := codefirst.Func[func(a, b int64) (int64, int64, error)](client, "calc/div")
	return func() error { return checkDiv(div(7, 2)) }
}

func newAsyncDiv(client *trunkcall.Client) load.AsyncCall {
	div := codefirst.Func[func(a, b int64, done func(int64, int64, error))](client, "calc/div")
	return func(ended func(error)) {
		div(7, 2, func(quotient, remainder int64, err error) { ended(checkDiv(quotient, remainder, err)) })
	}
}

func checkDiv(quotient, remainder int64, err error) error {
	if err == nil && (quotient != 3 || remainder != 1) {
		err = fmt.Errorf("7 / 2 is %d, %d", quotient, remainder)
	}
	return err
}

// newHello calls hello/say and checks each answer.
func newHello(client *trunkcall.Client) load.Call {
	say := codefirst.Func[func(string, int, int, float64) (string, int, int, float64, error)](client, "hello/say")
	return func() error { return checkHello(say("hello", 1, 2, 0.5)) }
}

func newAsyncHello(client *trunkcall.Client) load.AsyncCall {
	say := codefirst.Func[func(string, int, int, float64, func(string, int, int, float64, error))](client, "hello/say")
	return func(ended func(error)) {
		say("hello", 1, 2, 0.5, func(text string, a, b int, x float64, err error) { ended(checkHello(text, a, b, x, err)) })
	}
}

func checkHello(text string, a, b int, x float64, err error) error {
	if err == nil && (text != "hello" || a != 1 || b != 2 || x != 0.5) {
		err = fmt.Errorf("hello, 1, 2, 0.5 came back as %s, %d, %d, %g", text, a, b, x)
	}
	return err
}
