package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
)

// The lines of conformance/cases/README.md, section 3.

type caseLine struct {
	Name          string     `json:"name"`
	Target        string     `json:"target"`
	TLS           *tlsFiles  `json:"tls"`
	Client        setup      `json:"client"`
	OwnConnection bool       `json:"ownConnection"`
	Calls         []callLine `json:"calls"`
}

type tlsFiles struct {
	CA   string `json:"ca"`
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// setup is how a client is set up.
type setup struct {
	Compression string `json:"compression"`
	Codec       string `json:"codec"`
	MaxMessage  int    `json:"maxMessage"`
}

type callLine struct {
	Method       string        `json:"method"`
	Requests     []requestLine `json:"requests"`
	Metadata     [][2]string   `json:"metadata"`
	TimeoutMs    *int64        `json:"timeoutMs"`
	WaitForReady bool          `json:"waitForReady"`
	Cancel       string        `json:"cancel"`
	Begin        string        `json:"begin"`
	Do           string        `json:"do"`
	Hold         bool          `json:"hold"`
	Observe      string        `json:"observe"`
}

type requestLine struct {
	Message json.RawMessage `json:"message"`
	Size    int             `json:"size"`
	Noise   bool            `json:"noise"`
	Bytes   *[]byte         `json:"bytes"`
}

type resultLine struct {
	Name     string     `json:"name"`
	Outcomes []*outcome `json:"outcomes,omitempty"`
	Error    string     `json:"error,omitempty"`
	Do       string     `json:"do,omitempty"`
}

// outcome has no delivery where the server has sent none: what its absence means
// depends on who has ended the call, and that is not known.
type outcome struct {
	Code     string           `json:"code"`
	Message  string           `json:"message"`
	Details  []detailLine     `json:"details"`
	Delivery string           `json:"delivery,omitempty"`
	Header   [][2]string      `json:"header"`
	Trailer  [][2]string      `json:"trailer"`
	Answers  []map[string]any `json:"answers"`
	Observed json.RawMessage  `json:"observed,omitempty"`
}

type detailLine struct {
	TypeURL string `json:"typeUrl"`
	Value   []byte `json:"value"`
}

// asIs is a message that is sent as it stands.
type asIs []byte

// message is a Request or asIs.
func (r *requestLine) message() (any, error) {
	if r.Bytes != nil {
		return asIs(*r.Bytes), nil
	}
	in := &conformancev1.Request{}
	if len(r.Message) > 0 {
		if err := protojson.Unmarshal(r.Message, in); err != nil {
			return nil, err
		}
	}
	if r.Size > 0 {
		in.Data = makeData(r.Size, r.Noise)
	}
	return in, nil
}

// makeData makes the bytes that conformance.proto describes.
func makeData(size int, noise bool) []byte {
	data := make([]byte, size)
	state := uint32(1)
	for i := range data {
		if noise {
			state = state*1664525 + 1013904223
			data[i] = byte(state >> 24)
		} else {
			data[i] = byte(i % 251)
		}
	}
	return data
}

func isBinary(key string) bool { return strings.HasSuffix(key, "-bin") }

// pairsToSend has metadata as gRPC takes it: keys and values in turn.
func pairsToSend(pairs [][2]string) (flat []string, err error) {
	for _, pair := range pairs {
		value := pair[1]
		if isBinary(pair[0]) {
			raw, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, fmt.Errorf("metadata %s: %w", pair[0], err)
			}
			value = string(raw)
		}
		flat = append(flat, pair[0], value)
	}
	return flat, nil
}

func toPairs(md metadata.MD) [][2]string {
	pairs := [][2]string{}
	for key, values := range md {
		for _, value := range values {
			if isBinary(key) {
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			pairs = append(pairs, [2]string{key, value})
		}
	}
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return pairs
}

func answerLine(a *conformancev1.Answer) (map[string]any, error) {
	sum := sha256.Sum256(a.GetData())
	line := map[string]any{"size": len(a.GetData()), "sha256": hex.EncodeToString(sum[:])}
	text, err := protojson.Marshal(&conformancev1.Answer{Seen: a.GetSeen(), Onward: a.GetOnward()})
	if err != nil {
		return nil, err
	}
	return line, json.Unmarshal(text, &line)
}
