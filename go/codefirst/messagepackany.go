package codefirst

import (
	"bytes"
	"math"
	"strconv"

	"github.com/tinylib/msgp/msgp"
)

// any reads a value of whatever type comes (code-first.md 3.7).
func (r *packReader) any() (any, error) {
	switch msgp.NextType(r.in) {
	case msgp.NilType:
		r.in = r.in[1:]
		return nil, nil //nolint:nilnil // null is a value
	case msgp.BoolType:
		return r.boolean()
	case msgp.IntType, msgp.UintType:
		return r.anyWhole()
	case msgp.Float32Type, msgp.Float64Type:
		return r.anyFloat()
	case msgp.StrType:
		text, err := r.text()
		return string(text), err
	case msgp.BinType:
		b, err := r.bytes()
		return bytes.Clone(b), err
	case msgp.ArrayType:
		return anyList(r)
	case msgp.MapType:
		return anyMap(r, r.anyKey)
	default:
		return r.time()
	}
}

func (r *packReader) anyWhole() (any, error) {
	negative, magnitude, err := r.whole()
	switch {
	case err != nil:
		return nil, err
	case negative:
		return -int64(magnitude), nil
	case magnitude > math.MaxInt64:
		return magnitude, nil
	}
	return int64(magnitude), nil
}

// anyKey reads the key of a map: text, or a whole number as text.
func (r *packReader) anyKey() (string, error) {
	if t := msgp.NextType(r.in); t == msgp.IntType || t == msgp.UintType {
		negative, magnitude, err := r.whole()
		if negative {
			return strconv.FormatInt(-int64(magnitude), 10), err
		}
		return strconv.FormatUint(magnitude, 10), err
	}
	text, err := r.text()
	return string(text), err
}

// anyList reads an array whose elements may be anything.
func anyList(r valueReader) ([]any, error) {
	left, err := r.beginArray()
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, min(max(left, 0), 16))
	for {
		rest, more, err := r.more(left)
		left = rest
		if err != nil || !more {
			return list, err
		}
		value, err := r.any()
		if err != nil {
			return nil, within(indexStep(len(list)), err)
		}
		list = append(list, value)
	}
}

// anyMap reads a map with keys of text whose values may be anything.
func anyMap(r valueReader, key func() (string, error)) (map[string]any, error) {
	left, err := r.beginMap()
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	for {
		rest, more, err := r.more(left)
		left = rest
		if err != nil || !more {
			return m, err
		}
		name, err := key()
		if err != nil {
			return nil, within("[key]", err)
		}
		if m[name], err = r.any(); err != nil {
			return nil, within("[value]", err)
		}
	}
}

// skip passes over a value that nobody wants.
func (r *packReader) skip() error {
	var left int
	var err error
	switch msgp.NextType(r.in) {
	case msgp.ArrayType:
		left, err = r.beginArray()
	case msgp.MapType:
		left, err = r.beginMap()
		left *= 2
	default:
		return r.skipLeaf()
	}
	for err == nil {
		var more bool
		if left, more, err = r.more(left); err != nil || !more {
			return err
		}
		err = r.skip()
	}
	return err
}

func (r *packReader) skipLeaf() error {
	if _, _, ok, err := r.extension(); ok {
		return err
	}
	if len(r.in) == 0 || msgp.NextType(r.in) == msgp.InvalidType {
		return r.unwanted("")
	}
	rest, err := msgp.Skip(r.in)
	if err != nil {
		return failed(err)
	}
	r.in = rest
	return nil
}
