package codefirst

import (
	"reflect"
	"strconv"
)

// preallocated is how many bytes are allocated, at most, for the announced length of a list before
// its elements have come.
const preallocated = 4 << 10

// listShape is a slice's.
type listShape struct {
	element shape
	room    int // elements that are allocated on the word of a header
}

func (s listShape) write(w valueWriter, v reflect.Value) error { return writeElements(w, v, s.element) }

func writeElements(w valueWriter, v reflect.Value, element shape) error {
	n := v.Len()
	if err := w.beginArray(n); err != nil {
		return err
	}
	for i := range n {
		w.element()
		if err := element.write(w, v.Index(i)); err != nil {
			return within(indexStep(i), err)
		}
	}
	w.endArray()
	return nil
}

func (s listShape) read(r valueReader, v reflect.Value) error {
	left, err := r.beginArray()
	if err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, min(max(left, 0), s.room)))
	for n := 0; ; n++ {
		rest, more, err := r.more(left)
		left = rest
		if err != nil || !more {
			return err
		}
		if n == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(n + 1)
		if err := s.element.read(r, v.Index(n)); err != nil {
			return within(indexStep(n), err)
		}
	}
}

// arrayShape is that of an array, a list of fixed length.
type arrayShape struct{ element shape }

func (s arrayShape) write(w valueWriter, v reflect.Value) error {
	return writeElements(w, v, s.element)
}

func (s arrayShape) read(r valueReader, v reflect.Value) error {
	left, err := r.beginArray()
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		rest, more, err := r.more(left)
		left = rest
		switch {
		case err != nil:
			return err
		case more == (n >= v.Len()):
			return badValue("want %d elements, got another number", v.Len())
		case !more:
			return nil
		}
		if err := s.element.read(r, v.Index(n)); err != nil {
			return within(indexStep(n), err)
		}
	}
}

type mapShape struct {
	key, element shape
	of           reflect.Type
}

func (s mapShape) write(w valueWriter, v reflect.Value) error {
	if err := w.beginMap(v.Len()); err != nil {
		return err
	}
	for entries := v.MapRange(); entries.Next(); {
		w.key()
		if err := s.key.write(w, entries.Key()); err != nil {
			return err
		}
		w.element()
		if err := s.element.write(w, entries.Value()); err != nil {
			return err
		}
	}
	w.endMap()
	return nil
}

func (s mapShape) read(r valueReader, v reflect.Value) error {
	left, err := r.beginMap()
	if err != nil {
		return err
	}
	v.Set(reflect.MakeMap(s.of))
	key, element := reflect.New(s.of.Key()).Elem(), reflect.New(s.of.Elem()).Elem()
	for {
		rest, more, err := r.more(left)
		left = rest
		if err != nil || !more {
			return err
		}
		if err := s.key.read(r, key); err != nil {
			return within("[key]", err)
		}
		element.SetZero()
		if err := s.element.read(r, element); err != nil {
			return within("[value]", err)
		}
		v.SetMapIndex(key, element)
	}
}

// recordShape is a struct's.
type recordShape struct {
	fields []recordField
	byName map[string]int
	sizes  recordSizes
}

type recordField struct {
	name  string
	index []int
	shape shape
	of    reflect.Type
}

func (f *recordField) in(v reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return v.Field(f.index[0])
	}
	return v.FieldByIndex(f.index)
}

func (s *recordShape) write(w valueWriter, v reflect.Value) error {
	if err := w.beginMap(len(s.fields)); err != nil {
		return err
	}
	for i := range s.fields {
		f := &s.fields[i]
		w.key()
		if err := w.text(f.name); err != nil {
			return err
		}
		w.element()
		if err := f.shape.write(w, f.in(v)); err != nil {
			return within("."+f.name, err)
		}
	}
	w.endMap()
	return nil
}

func (s *recordShape) read(r valueReader, v reflect.Value) error {
	left, err := r.beginMap()
	if err != nil {
		return err
	}
	sizes := s.sized()
	if err := r.need(sizes.own); err != nil {
		return err
	}
	v.SetZero()
	var came fieldSet
	for next := 0; ; next++ {
		rest, more, err := r.more(left)
		left = rest
		switch {
		case err != nil:
			return err
		case !more && sizes.some:
			return r.need(sizes.missing(&came))
		case !more:
			return nil
		}
		name, err := r.text()
		if err != nil {
			return within("[field]", err)
		}
		i := s.field(name, next)
		if i < 0 {
			if err := r.unknown(name); err != nil {
				return err
			}
			if err := r.skip(); err != nil {
				return err
			}
			continue
		}
		came.add(i)
		f := &s.fields[i]
		if err := f.shape.read(r, f.in(v)); err != nil {
			return within("."+f.name, err)
		}
	}
}

// field returns the index of the field of a name, most likely the one whose turn it is; -1 if there is none.
func (s *recordShape) field(name []byte, next int) int {
	if next < len(s.fields) && s.fields[next].name == string(name) {
		return next
	}
	if i, ok := s.byName[string(name)]; ok {
		return i
	}
	return -1
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }
