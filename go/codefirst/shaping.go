package codefirst

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
)

// shaping finds the shapes of a type and of its parts. A recursive type is met again while its
// shape is being made.
type shaping struct{ begun map[reflect.Type]*laterShape }

// laterShape stands for a shape that is not finished yet.
type laterShape struct{ shape }

var (
	timeType          = reflect.TypeFor[time.Time]()
	durationType      = reflect.TypeFor[time.Duration]()
	textMarshaler     = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler   = reflect.TypeFor[encoding.TextUnmarshaler]()
	protoMessage      = reflect.TypeFor[proto.Message]()
	statusType        = reflect.TypeFor[trunkcall.Status]()
	shapesOfLeafTypes = map[reflect.Type]shape{timeType: timeShape{}, durationType: durationShape{}}
	shapesOfLeafKinds = map[reflect.Kind]shape{
		reflect.Bool:  booleanShape{},
		reflect.Int:   integerShape{strconv.IntSize},
		reflect.Int8:  integerShape{8},
		reflect.Int16: integerShape{16},
		reflect.Int32: integerShape{32},
		reflect.Int64: integerShape{64}, reflect.Uint: unsignedShape{strconv.IntSize},
		reflect.Uint8:   unsignedShape{8},
		reflect.Uint16:  unsignedShape{16},
		reflect.Uint32:  unsignedShape{32},
		reflect.Uint64:  unsignedShape{64},
		reflect.Float32: floatShape{32},
		reflect.Float64: floatShape{64},
		reflect.String:  textShape{},
	}
)

func (g *shaping) shapeOf(t reflect.Type) (shape, error) {
	if s := shapesOfLeafTypes[t]; s != nil {
		return s, nil
	}
	if isTextual(t) {
		return textualShape{pointer: !t.Implements(textMarshaler)}, nil
	}
	if s := shapesOfLeafKinds[t.Kind()]; s != nil {
		return s, nil
	}
	if later := g.begun[t]; later != nil {
		return later, nil
	}
	if g.begun == nil {
		g.begun = map[reflect.Type]*laterShape{}
	}
	later := &laterShape{}
	g.begun[t] = later
	s, err := g.compound(t)
	later.shape = s
	return s, err
}

// isTextual holds for types that have a form of text themselves: addresses, big
// numbers, enumerations.
func isTextual(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface &&
		p.Implements(textMarshaler) && p.Implements(textUnmarshaler)
}

func (g *shaping) compound(t reflect.Type) (shape, error) {
	switch t.Kind() {
	case reflect.Pointer:
		if t.Implements(protoMessage) {
			return nil, fmt.Errorf("%v is a Protobuf message", t)
		}
		if k := t.Elem().Kind(); k == reflect.Pointer || k == reflect.Interface {
			return nil, fmt.Errorf("%v points to what may be null itself", t)
		}
		element, err := g.shapeOf(t.Elem())
		return optionalShape{element, t.Elem()}, err
	case reflect.Slice, reflect.Array:
		return g.sequence(t)
	case reflect.Map:
		return g.mapOf(t)
	case reflect.Struct:
		if t == statusType {
			return nil, fmt.Errorf("%v is how calls end: declare an error as the last result", t)
		}
		if reflect.PointerTo(t).Implements(protoMessage) {
			return nil, fmt.Errorf("%v is a Protobuf message", t)
		}
		return g.record(t)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return anyShape{}, nil
		}
		return nil, fmt.Errorf("values of %v can be of any type", t)
	default:
		return nil, fmt.Errorf("values of type %v cannot be carried", t)
	}
}

func (g *shaping) sequence(t reflect.Type) (shape, error) {
	if t.Elem().Kind() == reflect.Uint8 && !isTextual(t.Elem()) {
		if t.Kind() == reflect.Array {
			return byteArrayShape{}, nil
		}
		return bytesShape{}, nil
	}
	element, err := g.shapeOf(t.Elem())
	if t.Kind() == reflect.Array {
		return arrayShape{element}, err
	}
	return listShape{element, max(preallocated/max(int(t.Elem().Size()), 1), 1)}, err
}

func (g *shaping) mapOf(t reflect.Type) (shape, error) {
	switch key := t.Key(); {
	case isTextual(key):
	case key.Kind() == reflect.String, reflect.Int <= key.Kind() && key.Kind() <= reflect.Uint64:
	default:
		return nil, fmt.Errorf("keys of %v are neither text nor whole numbers", t)
	}
	key, err := g.shapeOf(t.Key())
	if err != nil {
		return nil, err
	}
	element, err := g.shapeOf(t.Elem())
	return mapShape{key, element, t}, err
}

func (g *shaping) record(t reflect.Type) (shape, error) {
	s := &recordShape{byName: map[string]int{}}
	err := g.fields(s, t, nil)
	if err == nil && len(s.fields) == 0 && t.NumField() > 0 {
		err = fmt.Errorf("%v has no exported fields", t)
	}
	return s, err
}

// fields adds the fields of a struct, and of those that are embedded in it.
func (g *shaping) fields(s *recordShape, t reflect.Type, path []int) error {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(path[:len(path):len(path)], i)
		name, given := givenName(f.Tag)
		if f.Anonymous && !given && f.Type.Kind() == reflect.Struct && shapesOfLeafTypes[f.Type] == nil && !isTextual(f.Type) {
			if err := g.fields(s, f.Type, index); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if !given {
			name = publicName(f.Name)
		}
		if _, taken := s.byName[name]; taken || name == "" {
			return fmt.Errorf("field %s of %v: its name %q is taken or empty", f.Name, t, name)
		}
		element, err := g.shapeOf(f.Type)
		if err != nil {
			return fmt.Errorf("field %s of %v: %w", f.Name, t, err)
		}
		s.byName[name] = len(s.fields)
		s.fields = append(s.fields, recordField{name: name, index: index, shape: element, of: f.Type})
	}
	return nil
}

// givenName is the name of a struct's field by its tag `trunkcall:"name"`, or else by that of
// encoding/json, whose options are ignored.
func givenName(tag reflect.StructTag) (name string, given bool) {
	if name, given = tag.Lookup("trunkcall"); given {
		return name, true
	}
	name, _, _ = strings.Cut(tag.Get("json"), ",")
	return name, name != ""
}
