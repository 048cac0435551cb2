package wire

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The scripts of spec/vectors/sessions, replayed as spec/vectors/README.md
// asks: each receive whole, and byte by byte.

type script struct {
	ID          string            `json:"id"`
	Layer       string            `json:"layer"`
	Role        string            `json:"role"`
	Own         map[string]any    `json:"own"`
	Methods     map[string]string `json:"methods"`
	PeerPreface *string           `json:"peer_preface"`
	Steps       []scriptStep      `json:"steps"`
}

// scriptBytes is a message, or what arrives: hex with a fill behind it.
type scriptBytes struct {
	Payload *string     `json:"payload"`
	Fill    *vectorFill `json:"payload_fill"`
}

func (b *scriptBytes) there() bool { return b.Payload != nil }

func (b *scriptBytes) bytes() []byte {
	if b.Payload == nil {
		return nil
	}
	return append(unhex(*b.Payload), b.Fill.bytes()...)
}

type scriptPair struct {
	Key  string  `json:"key"`
	Text *string `json:"text"`
	Hex  string  `json:"hex"`
}

func pairsOf(pairs []scriptPair) Metadata {
	var m Metadata
	for _, p := range pairs {
		if p.Text != nil {
			m = append(m, Pair{p.Key, *p.Text})
		} else {
			m = append(m, Pair{p.Key, string(unhex(p.Hex))})
		}
	}
	return m
}

type scriptDetail struct {
	TypeURL string      `json:"type_url"`
	Value   string      `json:"value"`
	Fill    *vectorFill `json:"value_fill"`
}

func detailsOf(list []scriptDetail) []Detail {
	var out []Detail
	for _, d := range list {
		out = append(out, Detail{d.TypeURL, append(unhex(d.Value), d.Fill.bytes()...)})
	}
	return out
}

type scriptStep struct {
	scriptBytes
	Do     string `json:"do"`
	Expect string `json:"expect"`

	Input []struct {
		Hex  string      `json:"hex"`
		Fill *vectorFill `json:"fill"`
	} `json:"input"`
	Apart       int          `json:"apart"`
	Passed      uint64       `json:"passed"`
	As          string       `json:"as"`
	Call        string       `json:"call"`
	Method      string       `json:"method"`
	End         bool         `json:"end"`
	Codec       *uint8       `json:"codec"`
	Compression uint8        `json:"compression"`
	Metadata    []scriptPair `json:"metadata"`
	DeadlineUS  *int64       `json:"deadline_us"`
	Inline      bool         `json:"inline"`
	Times       int          `json:"times"`
	Answers     struct {
		Hex string `json:"hex"`
	} `json:"answers"`
	Count   int            `json:"count"`
	Status  Code           `json:"status"`
	Text    string         `json:"text"`
	Details []scriptDetail `json:"details"`
	MS      int64          `json:"ms"`
	LateMS  int64          `json:"late_ms"`

	Frames  []wantedFrame  `json:"frames"`
	Credit  []wantedCredit `json:"credit"`
	Pool    []uint64       `json:"pool"`
	Ahead   [][2]string    `json:"ahead"`
	Defines *int           `json:"defines"`
	Events  []wantedEvent  `json:"events"`
	Running *int           `json:"running"`
	Own     *int           `json:"own_calls"`
	Served  *int           `json:"served_calls"`
}

type wantedEvent struct {
	scriptBytes
	Event       string         `json:"event"`
	Call        string         `json:"call"`
	Method      string         `json:"method"`
	Metadata    []scriptPair   `json:"metadata"`
	Compression uint8          `json:"compression"`
	Status      Code           `json:"status"`
	Delivery    string         `json:"delivery"`
	RetryAfter  *uint32        `json:"retry_after"`
	Text        []string       `json:"text"`
	Message     *string        `json:"message"`
	Details     []scriptDetail `json:"details"`
	Stripped    bool           `json:"stripped"`
	Reason      uint32         `json:"reason"`
	Class       Class          `json:"class"`
	Times       int            `json:"times"`
}

func loadScripts(t *testing.T) []script {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", "..", "spec", "vectors", "sessions", "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no session vectors: %v", err)
	}
	var all []script
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		var file struct {
			Scripts []script `json:"scripts"`
		}
		if err := decoder.Decode(&file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, file.Scripts...)
	}
	return all
}

// TestSessionVectors leaves out what no session decides alone: half-close and
// close of the socket.
func TestSessionVectors(t *testing.T) {
	for _, s := range loadScripts(t) {
		if s.Layer == "transport" {
			continue
		}
		t.Run(s.ID, func(t *testing.T) {
			t.Run("whole", func(t *testing.T) { newPlayer(t, &s, false).play() })
			t.Run("bytewise", func(t *testing.T) { newPlayer(t, &s, true).play() })
		})
	}
}

func (s *script) options() Options {
	o := Options{Acceptor: s.Role == "acceptor", Local: DefaultSettings()}
	for name, value := range s.Own {
		switch name {
		case "window":
			o.Local.Window = uint32(value.(float64))
		case "keepalive_ms":
			o.KeepaliveInterval = int64(value.(float64)) * 1e6
		case "keepalive_answer_ms":
			o.KeepaliveTimeout = int64(value.(float64)) * 1e6
		case "codecs":
			o.Local.Codecs = map[uint8]string{}
			for _, c := range value.([]any) {
				c := c.(map[string]any)
				o.Local.Codecs[uint8(c["number"].(float64))] = c["name"].(string)
			}
		case "compressions":
			for _, n := range value.([]any) {
				o.Local.Compressions |= 1 << uint8(n.(float64))
			}
		default:
			for _, n := range numbers {
				if n != nil && n.name == name {
					*n.field(&o.Local) = uint32(value.(float64))
				}
			}
		}
	}
	return o
}

// bound is how many handlers may run.
func (s *script) bound() int {
	if n, ok := s.Own["running_handlers"].(float64); ok {
		return int(n)
	}
	return 16384
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
			return false
		}
	}
	return true
}
