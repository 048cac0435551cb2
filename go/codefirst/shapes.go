package codefirst

import (
	"encoding"
	"reflect"
	"time"
)

// The shapes of types that have one value.
type (
	booleanShape  struct{}
	integerShape  struct{ bits int }
	unsignedShape struct{ bits int }
	floatShape    struct{ bits int }
	textShape     struct{}
	timeShape     struct{}
	durationShape struct{}
	bytesShape    struct{}
	// byteArrayShape is bytes of a fixed length.
	byteArrayShape struct{}
	anyShape       struct{}
)

func (booleanShape) write(w valueWriter, v reflect.Value) error {
	w.boolean(v.Bool())
	return nil
}

func (booleanShape) read(r valueReader, v reflect.Value) error {
	b, err := r.boolean()
	v.SetBool(b)
	return err
}

func (integerShape) write(w valueWriter, v reflect.Value) error {
	w.integer(v.Int())
	return nil
}

func (s integerShape) read(r valueReader, v reflect.Value) error {
	i, err := r.integer(s.bits)
	v.SetInt(i)
	return err
}

func (unsignedShape) write(w valueWriter, v reflect.Value) error {
	w.unsigned(v.Uint())
	return nil
}

func (s unsignedShape) read(r valueReader, v reflect.Value) error {
	u, err := r.unsigned(s.bits)
	v.SetUint(u)
	return err
}

func (s floatShape) write(w valueWriter, v reflect.Value) error {
	w.float(v.Float(), s.bits)
	return nil
}

func (s floatShape) read(r valueReader, v reflect.Value) error {
	f, err := r.float(s.bits)
	v.SetFloat(f)
	return err
}

func (textShape) write(w valueWriter, v reflect.Value) error { return w.text(v.String()) }

func (textShape) read(r valueReader, v reflect.Value) error {
	b, err := r.text()
	v.SetString(string(b))
	return err
}

func (timeShape) write(w valueWriter, v reflect.Value) error {
	t, _ := reflect.TypeAssert[time.Time](v)
	return w.time(t)
}

func (timeShape) read(r valueReader, v reflect.Value) error {
	t, err := r.time()
	v.Set(reflect.ValueOf(t))
	return err
}

func (durationShape) write(w valueWriter, v reflect.Value) error {
	w.duration(time.Duration(v.Int()))
	return nil
}

func (durationShape) read(r valueReader, v reflect.Value) error {
	d, err := r.duration()
	v.SetInt(int64(d))
	return err
}

func (bytesShape) write(w valueWriter, v reflect.Value) error {
	w.bytes(v.Bytes())
	return nil
}

func (bytesShape) read(r valueReader, v reflect.Value) error {
	b, err := r.bytes()
	v.SetBytes(append([]byte{}, b...))
	return err
}

func (byteArrayShape) write(w valueWriter, v reflect.Value) error {
	if !v.CanAddr() {
		v = addressable(v)
	}
	w.bytes(v.Bytes())
	return nil
}

func (byteArrayShape) read(r valueReader, v reflect.Value) error {
	b, err := r.bytes()
	if err == nil && len(b) != v.Len() {
		err = badValue("want %d bytes, got %d", v.Len(), len(b))
	}
	if err == nil {
		copy(v.Bytes(), b)
	}
	return err
}

func (anyShape) write(w valueWriter, v reflect.Value) error { return writeAny(w, v.Interface()) }

func (anyShape) read(r valueReader, v reflect.Value) error {
	value, err := r.any()
	if err != nil || value == nil {
		v.SetZero()
		return err
	}
	v.Set(reflect.ValueOf(value))
	return nil
}

// textualShape is for types that say themselves how they look as text.
type textualShape struct{ pointer bool } // whether MarshalText wants one

func (s textualShape) write(w valueWriter, v reflect.Value) error {
	if s.pointer {
		if !v.CanAddr() {
			v = addressable(v)
		}
		v = v.Addr()
	}
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText() //nolint:forcetypeassert // that makes it one
	if err != nil {
		return err
	}
	return w.text(string(text))
}

func (textualShape) read(r valueReader, v reflect.Value) error {
	text, err := r.text()
	if err != nil {
		return err
	}
	v.SetZero()
	// The error may quote the value or names of ours, which stay here.
	if v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text) != nil { //nolint:forcetypeassert // likewise
		return badValue("this text is not one of its values")
	}
	return nil
}

// addressable returns a copy of v that has an address.
func addressable(v reflect.Value) reflect.Value {
	held := reflect.New(v.Type()).Elem()
	held.Set(v)
	return held
}

// optionalShape is a pointer's.
type optionalShape struct {
	shape
	of reflect.Type
}

func (s optionalShape) write(w valueWriter, v reflect.Value) error {
	if v.IsNil() {
		w.null()
		return nil
	}
	return s.shape.write(w, v.Elem())
}

func (s optionalShape) read(r valueReader, v reflect.Value) error {
	if r.null() {
		v.SetZero()
		return nil
	}
	p := reflect.New(s.of)
	v.Set(p)
	return s.shape.read(r, p.Elem())
}
