package trunkcall_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/trunkcall/trunkcall/go"
)

func TestNilHandlerPanicsAtOnceAndNamesItsMethod(t *testing.T) {
	type value = structpb.Value
	for name, handler := range map[string]func(string) trunkcall.Handler{
		"unary":         func(name string) trunkcall.Handler { return trunkcall.Unary[value, value](name).Handler(nil) },
		"server stream": func(name string) trunkcall.Handler { return trunkcall.ServerStream[value, value](name).Handler(nil) },
		"client stream": func(name string) trunkcall.Handler { return trunkcall.ClientStream[value, value](name).Handler(nil) },
		"bidi":          func(name string) trunkcall.Handler { return trunkcall.Bidi[value, value](name).Handler(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if said, _ := recover().(string); !strings.Contains(said, "/a.B/Missing") {
					t.Errorf("got %q, want a panic that names the method", said)
				}
			}()
			handler("a.B/Missing")
		})
	}
}
