package codefirst

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// The vectors of code-first.md, replayed as spec/vectors/README.md asks.

type codeFirstVectors struct {
	Names     []struct{ Member, Public string }
	Values    []valueVector
	Requests  []valueVector
	Responses []valueVector
	Read      []valueVector
	Refused   []valueVector
	Strict    []valueVector
}

type valueVector struct {
	ID, Msgpack, JSON, Codec, Input string
	Code                            string
	Type                            any
	Types                           []any
	Value                           any
	Values                          []any
	Parameter                       int
	Field                           string
}

func loadCodeFirst(t testing.TB) *codeFirstVectors {
	t.Helper()
	data, err := os.ReadFile("../../spec/vectors/code-first.json")
	if err != nil {
		t.Fatal(err)
	}
	var v codeFirstVectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return &v
}

// colour is the enumeration of the vectors.
type colour int

func (c colour) MarshalText() ([]byte, error) { return []byte([]string{"RED", "GREEN"}[c]), nil }

func (c *colour) UnmarshalText(text []byte) error {
	switch string(text) {
	case "RED":
		*c = 0
	case "GREEN":
		*c = 1
	default:
		return fmt.Errorf("no colour: %s", text)
	}
	return nil
}

var vectorTypes = map[string]reflect.Type{
	"boolean": reflect.TypeFor[bool](), "int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](),
	"int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](), "uint8": reflect.TypeFor[uint8](),
	"uint16": reflect.TypeFor[uint16](), "uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
	"float32": reflect.TypeFor[float32](), "float64": reflect.TypeFor[float64](), "text": reflect.TypeFor[string](),
	"bytes": reflect.TypeFor[[]byte](), "time": timeType, "duration": durationType, "any": reflect.TypeFor[any](),
}

// typeOf is the Go type for a type of the vectors. Lists of small whole numbers
// are of wider ones here, since []uint8 is bytes.
func typeOf(described any) reflect.Type {
	if name, ok := described.(string); ok {
		return vectorTypes[name]
	}
	for kind, inner := range described.(map[string]any) {
		switch kind {
		case "optional":
			return reflect.PointerTo(typeOf(inner))
		case "list":
			return reflect.SliceOf(typeOf(inner))
		case "map":
			m := inner.(map[string]any)
			return reflect.MapOf(typeOf(m["key"]), typeOf(m["value"]))
		case "enumeration":
			return reflect.TypeFor[colour]()
		case "record":
			var fields []reflect.StructField
			for i, f := range inner.([]any) {
				field := f.(map[string]any)
				tag := reflect.StructTag(fmt.Sprintf("trunkcall:%q", field["name"]))
				fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: typeOf(field["type"]), Tag: tag})
			}
			return reflect.StructOf(fields)
		}
	}
	panic(described)
}

// valueOf is a value of the vectors as one of Go's type for it.
func valueOf(t testing.TB, described, value any) reflect.Value {
	t.Helper()
	v := reflect.New(typeOf(described)).Elem()
	if kind, ok := described.(string); ok {
		setLeaf(t, v, kind, value)
		return v
	}
	for kind, inner := range described.(map[string]any) {
		switch kind {
		case "optional":
			if value != nil {
				v.Set(reflect.New(v.Type().Elem()))
				v.Elem().Set(valueOf(t, inner, value))
			}
		case "list":
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			for _, element := range value.([]any) {
				v.Set(reflect.Append(v, valueOf(t, inner, element)))
			}
		case "map":
			v.Set(reflect.MakeMap(v.Type()))
			for _, pair := range value.([]any) {
				m := inner.(map[string]any)
				v.SetMapIndex(valueOf(t, m["key"], pair.([]any)[0]), valueOf(t, m["value"], pair.([]any)[1]))
			}
		case "enumeration":
			if err := v.Addr().Interface().(*colour).UnmarshalText([]byte(value.(string))); err != nil {
				t.Fatal(err)
			}
		case "record":
			for i, f := range inner.([]any) {
				field := f.(map[string]any)
				v.Field(i).Set(valueOf(t, field["type"], value.(map[string]any)[field["name"].(string)]))
			}
		}
	}
	return v
}

func setLeaf(t testing.TB, v reflect.Value, kind string, value any) {
	t.Helper()
	var err error
	switch kind {
	case "boolean":
		v.SetBool(value.(bool))
	case "text":
		v.SetString(value.(string))
	case "bytes":
		var b []byte
		b, err = hex.DecodeString(value.(string))
		v.SetBytes(b)
	case "time":
		var at time.Time
		at, err = time.Parse(time.RFC3339Nano, value.(string))
		v.Set(reflect.ValueOf(at))
	case "any":
		of := value.(map[string]any)
		if of["value"] != nil {
			v.Set(valueOf(t, of["type"], of["value"]))
		}
	case "float32", "float64":
		var f float64
		f, err = strconv.ParseFloat(value.(string), 64)
		v.SetFloat(f)
	case "uint8", "uint16", "uint32", "uint64":
		var u uint64
		u, err = strconv.ParseUint(value.(string), 10, 64)
		v.SetUint(u)
	default:
		var i int64
		i, err = strconv.ParseInt(value.(string), 10, 64)
		v.SetInt(i)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func alike(a, b any) bool {
	x, isFloat := a.(float64)
	y, _ := b.(float64)
	if narrow, ok := a.(float32); ok {
		other, _ := b.(float32)
		x, y, isFloat = float64(narrow), float64(other), true
	}
	if isFloat {
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	// A nil slice or map is the same as an empty one.
	x1, err1 := MessagePack.Append(nil, a)
	x2, err2 := MessagePack.Append(nil, b)
	return err1 == nil && err2 == nil && bytes.Equal(x1, x2)
}

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return reflect.DeepEqual(x, y)
}

// signatureFor is that of a method with such parameters and results.
func signatureFor(t testing.TB, parameters, results []any) *signature {
	t.Helper()
	in, out := []reflect.Type{}, []reflect.Type{}
	for _, p := range parameters {
		in = append(in, typeOf(p))
	}
	for _, r := range results {
		out = append(out, typeOf(r))
	}
	s, err := signatureOf("/vectors/method", reflect.FuncOf(in, out, false))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *signature) newResults() *Results {
	held := reflect.New(s.answer).Elem()
	r := &Results{signature: s}
	for i := range held.NumField() {
		r.values = append(r.values, held.Field(i))
	}
	return r
}

func TestVectorsCodeFirstNames(t *testing.T) {
	for _, v := range loadCodeFirst(t).Names {
		if got := publicName(v.Member); got != v.Public {
			t.Errorf("%s is %s in public, want %s", v.Member, got, v.Public)
		}
	}
}

func TestVectorsCodeFirstValues(t *testing.T) {
	for _, v := range loadCodeFirst(t).Values {
		t.Run(v.ID, func(t *testing.T) {
			value := valueOf(t, v.Type, v.Value)
			packed, err := MessagePack.Append(nil, value.Interface())
			if err != nil || hex.EncodeToString(packed) != v.Msgpack {
				t.Errorf("MessagePack %x, %v, want %s", packed, err, v.Msgpack)
			}
			text, err := JSON.Append(nil, value.Interface())
			if err != nil || !sameJSON(t, string(text), v.JSON) {
				t.Errorf("JSON %s, %v, want %s", text, err, v.JSON)
			}
			for codec, data := range map[trunkcall.Codec][]byte{MessagePack: packed, JSON: text} {
				back := reflect.New(value.Type())
				if err := codec.Decode(data, back.Interface()); err != nil {
					t.Errorf("%s: %v", codec.Name(), err)
				} else if v.Type != "any" && !alike(back.Elem().Interface(), value.Interface()) {
					t.Errorf("%s came back as %v", codec.Name(), back.Elem())
				}
				everyCut(t, codec, data, value.Type())
			}
		})
	}
}

// everyCut reads what is left of a message that is cut off, which is an error
// but for a JSON number, whose digits may be fewer.
func everyCut(t *testing.T, codec trunkcall.Codec, data []byte, of reflect.Type) {
	t.Helper()
	for i := range data {
		back := reflect.New(of)
		err := codec.Decode(data[:i], back.Interface())
		isNumber := codec == JSON && i > 0 && !strings.ContainsAny(string(data[:1]), `"[{tfn`)
		if err == nil && !isNumber {
			t.Errorf("%s cut off at %d reads as %v", codec.Name(), i, back.Elem())
		}
	}
}

func TestVectorsCodeFirstRequests(t *testing.T) {
	for _, v := range loadCodeFirst(t).Requests {
		t.Run(v.ID, func(t *testing.T) {
			s := signatureFor(t, v.Types, nil)
			a := &Arguments{signature: s, values: []reflect.Value{{}}}
			for i, described := range v.Types {
				a.values = append(a.values, valueOf(t, described, v.Values[i]))
			}
			for codec, want := range map[trunkcall.Codec]string{MessagePack: v.Msgpack, JSON: v.JSON} {
				data := writes(t, codec, a, want)
				back := s.newArguments()
				if err := codec.Decode(data, back); err != nil || !reflect.DeepEqual(back.Values(), a.Values()) {
					t.Errorf("%s came back as %v, %v", codec.Name(), back.Values(), err)
				}
				for i := range data {
					if err := codec.Decode(data[:i], s.newArguments()); err == nil {
						t.Errorf("%s cut off at %d can be read", codec.Name(), i)
					}
				}
			}
		})
	}
}

func writes(t *testing.T, codec trunkcall.Codec, message any, want string) []byte {
	t.Helper()
	data, err := codec.Append([]byte("before"), message)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.TrimPrefix(data, []byte("before"))
	if codec == JSON {
		if !sameJSON(t, string(data), want) {
			t.Errorf("JSON %s, want %s", data, want)
		}
	} else if hex.EncodeToString(data) != want {
		t.Errorf("MessagePack %x, want %s", data, want)
	}
	return data
}

func TestVectorsCodeFirstResponses(t *testing.T) {
	for _, v := range loadCodeFirst(t).Responses {
		t.Run(v.ID, func(t *testing.T) {
			s := signatureFor(t, nil, v.Types)
			r := &Results{signature: s}
			for i, described := range v.Types {
				r.values = append(r.values, valueOf(t, described, v.Values[i]))
			}
			for codec, want := range map[trunkcall.Codec]string{MessagePack: v.Msgpack, JSON: v.JSON} {
				data := writes(t, codec, r, want)
				back := s.newResults()
				if err := codec.Decode(data, back); err != nil || !reflect.DeepEqual(back.Values(), r.Values()) {
					t.Errorf("%s came back as %v, %v", codec.Name(), back.Values(), err)
				}
			}
		})
	}
}

func (v *valueVector) input(t testing.TB) (trunkcall.Codec, []byte) {
	t.Helper()
	if v.Codec == "json" {
		return JSON, []byte(v.Input)
	}
	data, err := hex.DecodeString(v.Input)
	if err != nil {
		t.Fatal(err)
	}
	return MessagePack, data
}

func TestVectorsCodeFirstRead(t *testing.T) {
	for _, v := range loadCodeFirst(t).Read {
		t.Run(v.ID, func(t *testing.T) {
			codec, data := v.input(t)
			a := signatureFor(t, v.Types, nil).newArguments()
			if err := codec.Decode(data, a); err != nil {
				t.Fatal(err)
			}
			for i, want := range v.Values {
				if got := a.values[i+1].Interface(); !alike(got, valueOf(t, v.Types[i], want).Interface()) {
					t.Errorf("argument %d is %#v, want %v", i+1, got, want)
				}
			}
		})
	}
}

func TestVectorsCodeFirstRefused(t *testing.T) {
	for _, v := range loadCodeFirst(t).Refused {
		t.Run(v.ID, func(t *testing.T) {
			codec, data := v.input(t)
			status := trunkcall.StatusOf(codec.Decode(data, signatureFor(t, v.Types, nil).newArguments()))
			if status.Code.String() != v.Code {
				t.Fatalf("ends as %v, want %s", status, v.Code)
			}
			about := "/vectors/method"
			if v.Parameter > 0 {
				about = fmt.Sprintf("parameter %d of /vectors/method", v.Parameter)
			}
			if !strings.Contains(status.Message, about) || len(status.Message) > 200 {
				t.Errorf("the message is %q, want it to be about %s", status.Message, about)
			}
		})
	}
}

func TestVectorsCodeFirstStrict(t *testing.T) {
	for _, v := range loadCodeFirst(t).Strict {
		t.Run(v.ID, func(t *testing.T) {
			codec, data := v.input(t)
			if err := codec.Decode(data, signatureFor(t, v.Types, nil).newArguments()); err != nil {
				t.Fatalf("refused where nobody asked for that: %v", err)
			}
			strict := signatureFor(t, v.Types, nil).newArguments()
			strict.strict = true
			status := trunkcall.StatusOf(JSON.Decode(data, strict))
			if status.Code.String() != v.Code {
				t.Fatalf("ends as %v, want %s", status, v.Code)
			}
			for _, part := range []string{fmt.Sprintf("parameter %d of /vectors/method", v.Parameter), strconv.Quote(v.Field)} {
				if !strings.Contains(status.Message, part) {
					t.Errorf("the message is %q, want it to say %s", status.Message, part)
				}
			}
		})
	}
}
