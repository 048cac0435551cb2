package trunkcall_test

import (
	"net/http"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

// A service that was upgraded and one that was not understand each other: what the
// other side does not know yet is ignored, unless that is asked for.

func TestWhatIsNotKnownIsIgnoredInEveryCodec(t *testing.T) {
	type small struct{ X int32 }
	type large struct {
		X, Y int32
		Z    []string
	}
	for _, codec := range []trunkcall.Codec{codefirst.JSON, codefirst.MessagePack} {
		data, err := codec.Append(nil, large{7, 8, []string{"z"}})
		if err != nil {
			t.Fatal(err)
		}
		var got small
		if err := codec.Decode(data, &got); err != nil || got.X != 7 {
			t.Errorf("%s: %+v, %v", codec.Name(), got, err)
		}
	}
	user := &examplev1.GetUserRequest{}
	if err := codefirst.JSON.Decode([]byte(`{"userId": "7", "since": {"nanos": 1}}`), user); err != nil || user.UserId != 7 {
		t.Errorf("Protobuf's JSON: %v, %v", user, err)
	}
	// Of these two the first field is a whole number alike; field 9 is nobody's.
	data, err := trunkcall.Protobuf.Append(nil, &timestamppb.Timestamp{Seconds: 7})
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, 9<<3, 1)
	for _, codec := range []trunkcall.Codec{trunkcall.Protobuf, trunkcall.ProtobufStock} {
		got, fast := &durationpb.Duration{}, &examplev1.GetUserRequest{}
		if err := codec.Decode(data, got); err != nil || got.Seconds != 7 {
			t.Errorf("%v, %v", got, err)
		}
		if err := codec.Decode(data, fast); err != nil || fast.UserId != 7 {
			t.Errorf("%v, %v", fast, err)
		}
	}
}

func TestStrictJSONRefusesUnknownFieldsOfCodeFirstRequests(t *testing.T) {
	type point struct{ X, Y int }
	sum := func(p point) int { return p.X + p.Y }
	for name, tried := range map[string]struct {
		options serverOptions
		strict  bool
	}{"by default": {}, "strict": {serverOptions{trunkcall.WithStrictJSON()}, true}} {
		t.Run(name, func(t *testing.T) {
			s, target := serve(t, tried.options, standard()...)
			if err := codefirst.RegisterFunc(s, "points/sum", sum); err != nil {
				t.Fatal(err)
			}
			c := dial(t, target)
			larger := []any{map[string]any{"x": 1, "y": 2, "z": 3}}
			call := func(codec trunkcall.Codec) error {
				return c.Invoke(soon(t), unary("points/sum"), larger, new(int), trunkcall.CallCodec(codec))
			}
			if err := call(codefirst.MessagePack); err != nil {
				t.Error(err)
			}
			if err := c.Invoke(soon(t), unary("/test.Service/Echo"), map[string]any{"z": 3}, new(any), trunkcall.CallCodec(codefirst.JSON)); err != nil {
				t.Errorf("Protobuf's JSON: %v", err)
			}
			err := call(codefirst.JSON)
			web := posts(t, &http.Client{}, "http://"+target+"/points/sum", "application/json", `[{"x":1,"y":2,"z":3}]`)
			if !tried.strict {
				if err != nil || web.status != http.StatusOK {
					t.Errorf("%v; over HTTP %d %s", err, web.status, web.body)
				}
				return
			}
			const says = `parameter 1 of /points/sum: there is no field "z"`
			if s := wants(t, err, trunkcall.InvalidArgument, trunkcall.Refused); s.Message != says {
				t.Errorf("%q", s.Message)
			}
			web.wantsError(t, http.StatusBadRequest, "invalid_argument", says)
		})
	}
}
