package peer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/trunkcall/trunkcall/go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// toJSON is the message in Protobuf's JSON form, on one line. The library varies
// its white space from build to build on purpose, so it is taken out.
func toJSON(message proto.Message) ([]byte, error) {
	loose, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	var tight bytes.Buffer
	err = json.Compact(&tight, loose)
	return tight.Bytes(), err
}

// fromJSON fills in a message. The error says what and where, on one line.
func fromJSON(text []byte, message proto.Message) error {
	err := protojson.Unmarshal(text, message)
	if err == nil {
		return nil
	}
	// The library also varies the space after its name.
	cause := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return fmt.Errorf("the JSON is no %s: %s", message.ProtoReflect().Descriptor().FullName(), strings.TrimPrefix(cause, "proto: "))
}

// detailJSON is a detail in the JSON form of google.protobuf.Any. A type that
// is not linked in, or bytes that are not of the type that they claim, are shown
// as base64.
func detailJSON(detail trunkcall.Detail) json.RawMessage {
	typed, err := toJSON(&anypb.Any{TypeUrl: detail.TypeURL, Value: detail.Value})
	if err == nil && detail.TypeURL != "" { // without a type and value its form would be empty
		return typed
	}
	raw, err := json.Marshal(struct {
		Type  string `json:"@type"`
		Value []byte `json:"value"`
	}{detail.TypeURL, detail.Value})
	if err != nil {
		panic(err) // a string and bytes always have a JSON form
	}
	return raw
}
