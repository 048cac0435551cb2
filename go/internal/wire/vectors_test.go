package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The vectors of spec/vectors, replayed as its README asks.

type vectorFill struct {
	Byte  string `json:"byte"`
	Count int    `json:"count"`
}

func (f *vectorFill) bytes() []byte {
	if f == nil {
		return nil
	}
	return bytes.Repeat(unhex(f.Byte), f.Count)
}

type vector struct {
	ID       string            `json:"id"`
	Hex      string            `json:"hex"`
	Fill     *vectorFill       `json:"fill"`
	Limits   map[string]uint32 `json:"limits"`
	Receiver string            `json:"receiver"`
	From     string            `json:"from"`
	Accepts  struct {
		Codecs       []uint8 `json:"codecs"`
		Compressions []uint8 `json:"compressions"`
	} `json:"accepts"`
	InMessage bool `json:"in_message"`
	Progress  struct {
		Total       uint32 `json:"total"`
		Received    uint32 `json:"received"`
		Codec       uint8  `json:"codec"`
		Compression uint8  `json:"compression"`
	} `json:"progress"`
	Decoded map[string]any `json:"decoded"`
	Error   Class          `json:"error"`
	Ends    string         `json:"ends"`
	Stage   string         `json:"stage"`
}

func (v *vector) bytes() []byte { return append(unhex(v.Hex), v.Fill.bytes()...) }

// local is what the receiver of the vector has set.
func (v *vector) local() Settings {
	s := DefaultSettings()
	s.Compressions = knownCompressions
	s.Pool = 1 << 20
	if v.Accepts.Compressions != nil {
		s.Compressions = 0
		for _, n := range v.Accepts.Compressions {
			s.Compressions |= 1 << n
		}
	}
	for _, n := range v.codecs() {
		if n >= firstNamedCodec {
			s.Codecs = map[uint8]string{n: "named"}
		}
	}
	for name, value := range v.Limits {
		for _, n := range numbers {
			if n != nil && n.name == name {
				*n.field(&s) = value
			}
		}
	}
	return s
}

func (v *vector) codecs() []uint8 {
	if v.Accepts.Codecs != nil {
		return v.Accepts.Codecs
	}
	return []uint8{0, 1, 2, 3, 4}
}

// meaning is what the vector says, with every fill written out.
func (v *vector) meaning() map[string]any {
	out := maps.Clone(v.Decoded)
	if fill, ok := out["payload_fill"].(map[string]any); ok {
		out["payload"] = out["payload"].(string) + strings.Repeat(fill["byte"].(string), int(fill["count"].(float64)))
		delete(out, "payload_fill")
	}
	block := out
	if inner, ok := out["metadata"].(map[string]any); ok {
		block = inner
	}
	entries, _ := block["entries"].([]any)
	for _, e := range entries {
		e := e.(map[string]any)
		if fill, ok := e["fill"].(map[string]any); ok {
			e["text"] = e["text"].(string) + strings.Repeat(string(unhex(fill["byte"].(string))), int(fill["count"].(float64)))
			delete(e, "fill")
		}
	}
	return out
}

type vectorFile struct {
	Valid      []vector `json:"valid"`
	Degenerate []vector `json:"degenerate"`
	Invalid    []vector `json:"invalid"`
}

func (f *vectorFile) readable() []vector { return slices.Concat(f.Valid, f.Degenerate) }

func loadVectors(t testing.TB, name string) *vectorFile {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "spec", "vectors", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	f := &vectorFile{}
	if err := json.Unmarshal(text, f); err != nil {
		t.Fatal(err)
	}
	if len(f.Valid) == 0 || len(f.Degenerate) == 0 || len(f.Invalid) == 0 {
		t.Fatalf("%s.json lacks entries", name)
	}
	return f
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// plain turns Go values into what JSON would make of them.
func plain(t testing.TB, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func compare(t *testing.T, got, want map[string]any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if !reflect.DeepEqual(got[key], want[key]) {
			t.Errorf("%s is %.200v, want %.200v", key, got[key], want[key])
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s is %.200v, want none", key, got[key])
		}
	}
}

// cuts are the lengths to cut n bytes off at: all of them, or for long inputs
// those at the ends and some between.
func cuts(n int) []int {
	var out []int
	for i := range n {
		if n <= 300 || i < 64 || i == n/2 || i >= n-2 {
			out = append(out, i)
		}
	}
	return out
}

func TestPrefaceVectors(t *testing.T) {
	f := loadVectors(t, "preface")
	for _, v := range f.readable() {
		t.Run(v.ID, func(t *testing.T) {
			data := v.bytes()
			for _, cut := range cuts(len(data)) {
				if _, n, err := ParsePreface(data[:cut]); n != 0 || err != nil {
					t.Fatalf("cut off after %d bytes: %d, %v", cut, n, err)
				}
			}
			for _, tail := range [][]byte{nil, {1, 0xff}} {
				p, n, err := ParsePreface(slices.Concat(data, tail))
				if err != nil || n != len(data) {
					t.Fatalf("took %d of %d bytes: %v", n, len(data), err)
				}
				compare(t, prefaceMeaning(t, &p, data), v.meaning())
			}
		})
	}
	for _, v := range f.Invalid {
		t.Run(v.ID, func(t *testing.T) {
			data := v.bytes()
			for _, tail := range [][]byte{nil, {1, 0xff}} {
				if _, _, err := ParsePreface(slices.Concat(data, tail)); err == nil || err.Class != v.Error || v.Ends != "connection" {
					t.Fatalf("%v, want %s", err, v.Error)
				}
			}
			for _, cut := range cuts(len(data)) {
				if _, _, err := ParsePreface(data[:cut]); err != nil && err.Class != v.Error {
					t.Fatalf("cut off after %d bytes: %v, want %s", cut, err, v.Error)
				}
			}
		})
	}
}

// prefaceMeaning shows only the settings that were sent, which it finds out
// from the bytes, since a parsed preface has them all.
func prefaceMeaning(t *testing.T, p *Preface, data []byte) map[string]any {
	settings := map[string]any{}
	_ = eachTLV(data[PrefaceSize:], func(kind uint16, _ []byte) *Error {
		switch {
		case kind == setCodecs:
			list := []any{}
			for n := uint8(8); n < 16; n++ {
				if name, ok := p.Settings.Codecs[n]; ok {
					list = append(list, map[string]any{"number": n, "name": name})
				}
			}
			settings["codecs"] = list
		case kind == setCompressions:
			list := []any{}
			for n := range 16 {
				if p.Settings.Compressions&(1<<n) != 0 {
					list = append(list, n)
				}
			}
			settings["compressions"] = list
		case kind > 0 && kind < knownSettings:
			settings[numbers[kind].name] = *numbers[kind].field(&p.Settings)
		}
		return nil
	})
	return plain(t, map[string]any{
		"version": p.Version, "highest": p.Highest, "window": p.Settings.Window, "settings": settings,
	})
}

// Prefaces that say more than the shortest form does: settings that equal
// their default, or another order.
var longPrefaces = []string{
	"preface-frame-body-floor", "preface-metadata-bytes-floor", "preface-metadata-entries-floor",
	"preface-methods-floor", "preface-every-setting",
}

func TestPrefaceRoundTrip(t *testing.T) {
	for _, v := range loadVectors(t, "preface").Valid {
		data := v.bytes()
		p, _, err := ParsePreface(data)
		if err != nil {
			t.Fatal(v.ID, err)
		}
		again := AppendPreface(nil, &p)
		if slices.Contains(longPrefaces, v.ID) {
			q, n, err := ParsePreface(again)
			if err != nil || n != len(again) || n > len(data) || !reflect.DeepEqual(p, q) {
				t.Errorf("%s: %x reads otherwise: %v", v.ID, again, err)
			}
		} else if !bytes.Equal(again, data) {
			t.Errorf("%s: appended %x, want %x", v.ID, again, data)
		}
	}
}

func metadataMeaning(t testing.TB, m Metadata, own *Own, block []byte) map[string]any {
	entries := []any{}
	for _, p := range m {
		if strings.HasSuffix(p.Key, "-bin") {
			entries = append(entries, map[string]any{"key": p.Key, "hex": hex.EncodeToString([]byte(p.Value))})
		} else {
			entries = append(entries, map[string]any{"key": p.Key, "text": p.Value})
		}
	}
	owns := map[string]any{}
	if own.any() {
		owns["attempt"] = own.Attempt
	}
	counted := 0
	for rest := block; len(rest) > 0; counted++ {
		_, rest, _ = parseEntry(rest)
	}
	return plain(t, map[string]any{"entries": entries, "own": owns, "counted": counted})
}

// metadataOf reads a block with its length at the start of b.
func metadataOf(b []byte, local *Settings) (block []byte, m Metadata, own *Own, rest []byte, err *Error) {
	h := Header{Type: Data, Flags: FlagMeta | FlagMsg}
	body, err := ParseBody(&h, b, false, local)
	if err == nil {
		block, _, _ = parseBytes(b)
	}
	return block, body.Metadata, body.Own, body.Payload, err
}

func TestMetadataVectors(t *testing.T) {
	f := loadVectors(t, "metadata")
	for _, v := range f.readable() {
		t.Run(v.ID, func(t *testing.T) {
			data, local := v.bytes(), v.local()
			for _, tail := range [][]byte{{}, {1, 0xff}} {
				block, m, own, rest, err := metadataOf(slices.Concat(data, tail), &local)
				if err != nil || !bytes.Equal(rest, tail) {
					t.Fatalf("left %x: %v", rest, err)
				}
				compare(t, metadataMeaning(t, m, own, block), v.meaning())
			}
			for _, cut := range cuts(len(data)) {
				if _, _, _, _, err := metadataOf(data[:cut], &local); err == nil || err.Class != ErrMetadata {
					t.Fatalf("cut off after %d bytes: %v", cut, err)
				}
			}
		})
	}
	for _, v := range f.Invalid {
		local := v.local()
		if _, _, _, _, err := metadataOf(v.bytes(), &local); err == nil || err.Class != v.Error || (v.Ends == "call") != err.Class.EndsCall() {
			t.Errorf("%s: %v, want %s", v.ID, err, v.Error)
		}
	}
}

func TestMetadataRoundTrip(t *testing.T) {
	for _, v := range loadVectors(t, "metadata").Valid {
		data, local := v.bytes(), v.local()
		_, m, own, _, err := metadataOf(data, &local)
		if err != nil {
			t.Fatal(v.ID, err)
		}
		if err := CheckMetadata(m, own, &local); err != nil {
			t.Errorf("%s: Check finds %v", v.ID, err)
		}
		again := AppendMetadata(nil, m, own)
		if len(again) != blockSize(m, own) {
			t.Errorf("%s: %d bytes, not %d as announced", v.ID, len(again), blockSize(m, own))
		}
		if v.ID == "meta-mixed" { // the protocol's own entries go first
			_, m2, own2, _, _ := metadataOf(again, &local)
			if !reflect.DeepEqual(m, m2) || !reflect.DeepEqual(own, own2) || len(again) != len(data) {
				t.Errorf("%s: %x reads otherwise", v.ID, again)
			}
		} else if !bytes.Equal(again, data) {
			t.Errorf("%s: appended %x, want %x", v.ID, again, data)
		}
	}
}

func statusMeaning(t testing.TB, message string, details []Detail) map[string]any {
	list := []any{}
	for _, d := range details {
		list = append(list, map[string]any{"type_url": d.TypeURL, "value": hex.EncodeToString(d.Value)})
	}
	return plain(t, map[string]any{"message": message, "details": list})
}

func TestStatusVectors(t *testing.T) {
	f := loadVectors(t, "status")
	for _, v := range f.readable() {
		t.Run(v.ID, func(t *testing.T) {
			data := v.bytes()
			message, details, err := ParseStatus(data)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, statusMeaning(t, message, details), v.meaning())
			for _, cut := range cuts(len(data)) {
				message, details, err := ParseStatus(data[:cut])
				if cut > 0 && (err == nil || err.Class != ErrStatus || message != MalformedStatus || details != nil) {
					t.Fatalf("cut off after %d bytes: %q %v %v", cut, message, details, err)
				}
			}
			if _, _, err := ParseStatus(append(data[:len(data):len(data)], 0)); len(data) > 0 && err == nil {
				t.Error("takes a byte too many")
			}
		})
	}
	for _, v := range f.Invalid {
		if _, _, err := ParseStatus(v.bytes()); err == nil || err.Class != v.Error || v.Ends != "call" {
			t.Errorf("%s: %v, want %s", v.ID, err, v.Error)
		}
	}
	for _, v := range f.Valid {
		message, details, _ := ParseStatus(v.bytes())
		if again, stripped := AppendStatus(nil, message, details, MinPiece); stripped || !bytes.Equal(again, v.bytes()) {
			t.Errorf("%s: appended %x, want %s", v.ID, again, v.Hex)
		}
	}
}
