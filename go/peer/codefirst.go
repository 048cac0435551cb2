package peer

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// codeFirstHandlers are those of the services without a .proto file that serve has, in the
// order of their names.
func codeFirstHandlers() ([]trunkcall.Handler, error) {
	calc, err := codefirst.ServiceHandlers("calc", services.Calc{}, codefirst.Methods("Div"))
	if err != nil {
		return nil, err
	}
	hello, err := codefirst.ServiceHandlers("hello", services.Hello{}, codefirst.Methods("Say"))
	return append(calc, hello...), err
}

func registerCodeFirst(server *trunkcall.Server) error {
	handlers, err := codeFirstHandlers()
	if err != nil {
		return err
	}
	return server.Register(handlers...)
}

// codeFirstCodecs are what --codec names for code-first calls, the default
// first.
var codeFirstCodecs = []trunkcall.Codec{codefirst.MessagePack, codefirst.JSON}

func codeFirstCodec(name string) (trunkcall.Codec, error) {
	var names []string
	for _, c := range codeFirstCodecs {
		if c.Name() == name {
			return c, nil
		}
		names = append(names, c.Name())
	}
	return nil, usagef("--codec %s: for a code-first method want %s", name, choice(names))
}

// codeFirstCall is a call of a method of which no more is known than its name:
// a JSON array of arguments, JSON for what comes back.
type codeFirstCall struct {
	method    string
	arguments []any
	codec     trunkcall.Codec
}

// isCodeFirst holds for methods of services that no .proto file describes, if
// their arguments come as an array.
func isCodeFirst(method, arguments string) bool {
	service, short, ok := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	return ok && service != "" && short != "" && !isDescribed(service) && strings.HasPrefix(strings.TrimSpace(arguments), "[")
}

func parseCodeFirst(method, arguments, codec string) (*codeFirstCall, error) {
	c := &codeFirstCall{method: trunkcall.CanonicalName(method)}
	var err error
	if c.codec, err = codeFirstCodec(codec); err != nil {
		return nil, err
	}
	if err := codefirst.JSON.Decode([]byte(arguments), &c.arguments); err != nil {
		return nil, unsendable(trunkcall.InvalidArgument, "the arguments are no JSON array: %v", err)
	}
	return c, nil
}

func (c *codeFirstCall) invoke(ctx context.Context, client *trunkcall.Client, show func(json.RawMessage) error) error {
	var answer any
	if err := client.Invoke(ctx, trunkcall.NewMethod(c.method, trunkcall.KindUnary), c.arguments, &answer, trunkcall.CallCodec(c.codec)); err != nil {
		return err
	}
	line, err := codefirst.JSON.Append(nil, answer)
	if err != nil {
		return outputError{err}
	}
	return show(line)
}
