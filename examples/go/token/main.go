// Token has a client send a token with each call, and a server admit only calls with one that it knows.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// tokens are those that the server knows, and whose they are.
var tokens = map[string]string{"s3cret": "Ada"}

// admit decides about a call before anything of it is decoded, whichever protocol it came by.
func admit(_ context.Context, call *trunkcall.Arrival) (trunkcall.Admission, error) {
	token, _ := strings.CutPrefix(call.Metadata.Get("authorization"), "Bearer ")
	user, ok := tokens[token]
	if !ok {
		return trunkcall.Admission{}, trunkcall.Errorf(trunkcall.Unauthenticated, "%s wants a token", call.Method.Name)
	}
	return trunkcall.Admission{Principal: user}, nil
}

// send is an interceptor of clients that sends a token with each call, streams included.
func send(token string) trunkcall.Interceptor {
	return func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		call.Metadata.Add("authorization", "Bearer "+token)
		return next(ctx, call)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	server := must(trunkcall.NewServer(trunkcall.WithAdmission(admit)))
	must(0, codefirst.RegisterFunc(server, "greeter/greet", func(ctx context.Context, greeting string) string {
		return greeting + ", " + trunkcall.PrincipalFromContext(ctx).(string) //nolint:forcetypeassert // admit sets nothing else
	}))
	address := must(server.Listen("127.0.0.1:0")).String()
	for _, token := range []string{"s3cret", "guessed"} {
		client := must(trunkcall.Dial(ctx, address, trunkcall.WithInterceptors(send(token))))
		answer, err := codefirst.Func[func(context.Context, string) (string, error)](client, "greeter/greet")(ctx, "hello")
		fmt.Println(answer, err)
		client.Close()
	}
	must(0, server.Stop(ctx))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
