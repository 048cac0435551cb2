package conformance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/trunkcall/trunkcall/go"
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
	MaxMessage  uint32 `json:"maxMessage"`
	Serves      bool   `json:"serves"`
}

type callLine struct {
	Method    string          `json:"method"`
	Requests  []requestLine   `json:"requests"`
	Arguments json.RawMessage `json:"arguments"`
	Metadata  pairs           `json:"metadata"`
	TimeoutMs *int64          `json:"timeoutMs"`
	Cancel    string          `json:"cancel"`
	Begin     string          `json:"begin"`
	Do        string          `json:"do"`
	Ready     bool            `json:"waitForReady"`
	WhileOK   bool            `json:"whileOk"`
	Hold      bool            `json:"hold"`
	Observe   string          `json:"observe"`
}

type requestLine struct {
	Message json.RawMessage `json:"message"`
	Size    uint32          `json:"size"`
	Noise   bool            `json:"noise"`
	Bytes   *[]byte         `json:"bytes"`
}

// asIs is a message that is sent as it stands.
type asIs []byte

func (r *requestLine) message() (any, error) {
	if r.Bytes != nil {
		return asIs(*r.Bytes), nil
	}
	in := &request{}
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

// pairs is metadata: a value of a key that ends in -bin is base64.
type pairs [][2]string

func (p pairs) metadata() (m trunkcall.Metadata, err error) {
	for _, pair := range p {
		value := pair[1]
		if isBinary(pair[0]) {
			raw, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, err
			}
			value = string(raw)
		}
		m = append(m, trunkcall.Metadata{{Key: pair[0], Value: value}}...)
	}
	return m, nil
}

func toPairs(m trunkcall.Metadata) pairs {
	found := pairs{}
	for _, p := range m {
		value := p.Value
		if isBinary(p.Key) {
			value = base64.StdEncoding.EncodeToString([]byte(value))
		}
		found = append(found, [2]string{p.Key, value})
	}
	return found
}

type resultLine struct {
	Name     string        `json:"name"`
	Outcomes []outcomeLine `json:"outcomes,omitempty"`
	Error    string        `json:"error,omitempty"`
	Do       string        `json:"do,omitempty"`
}

type outcomeLine struct {
	Code     string           `json:"code"`
	Message  string           `json:"message"`
	Details  []detailLine     `json:"details"`
	Delivery string           `json:"delivery"`
	Header   pairs            `json:"header"`
	Trailer  pairs            `json:"trailer"`
	Answers  []map[string]any `json:"answers,omitempty"`
	Results  json.RawMessage  `json:"results,omitempty"`
	Observed json.RawMessage  `json:"observed,omitempty"`
}

type detailLine struct {
	TypeURL string `json:"typeUrl"`
	Value   []byte `json:"value"`
}

func (r *result) line() (outcomeLine, error) {
	line := outcomeLine{
		Code: trunkcall.OK.String(), Details: []detailLine{}, Header: toPairs(r.header), Trailer: toPairs(r.trailer), Results: r.results,
	}
	if s := r.status; s.Code != trunkcall.OK {
		line.Code, line.Message, line.Delivery = s.Code.String(), s.Message, s.Delivery.String()
		for _, d := range s.Details {
			line.Details = append(line.Details, detailLine{d.TypeURL, append([]byte{}, d.Value...)})
		}
	}
	for _, a := range r.answers {
		told, err := answerLine(a)
		if err != nil {
			return line, err
		}
		line.Answers = append(line.Answers, told)
	}
	if r.observed != nil {
		var err error
		if line.Observed, err = protojson.Marshal(r.observed); err != nil {
			return line, err
		}
	}
	return line, r.broken
}

func answerLine(a *answer) (map[string]any, error) {
	sum := sha256.Sum256(a.GetData())
	line := map[string]any{"size": len(a.GetData()), "sha256": hex.EncodeToString(sum[:])}
	text, err := protojson.Marshal(&answer{Seen: a.GetSeen(), Onward: a.GetOnward()})
	if err != nil {
		return nil, err
	}
	return line, json.Unmarshal(text, &line)
}

var errNoCodec = errors.New("there is no such codec")
