package codefirst

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Values of Go types as JSON and MessagePack carry them, by code-first.md 3. Each type is analysed
// once, which gives its shape. A shape writes and reads values of the type in either codec.

// MaxNesting is how deep arrays and maps may nest in a message of JSON or
// MessagePack (spec/limits.md).
const MaxNesting = 100

// shape is how values of one type are written and read. Shapes are not changed
// once made, so that many goroutines use them.
type shape interface {
	write(w valueWriter, v reflect.Value) error
	// read fills in v, which is settable. What it holds is replaced.
	read(r valueReader, v reflect.Value) error
}

// valueWriter writes the values of one message in the forms of code-first.md
// 3.1. Between beginArray and endArray every value is announced by element; in
// maps by key, which the key follows, and then element.
type valueWriter interface {
	null()
	boolean(b bool)
	integer(i int64)
	unsigned(u uint64)
	float(f float64, bits int)
	text(s string) error
	bytes(b []byte)
	time(t time.Time) error
	duration(d time.Duration)
	beginArray(n int) error
	endArray()
	beginMap(n int) error
	key()
	element()
	endMap()
}

// valueReader reads the values of one message in all forms of code-first.md 3.2.
// Every method reads one whole value or fails, and then the message is done
// with. What text and bytes return is valid until the next call.
type valueReader interface {
	null() bool // takes null if that is what comes
	boolean() (bool, error)
	integer(bits int) (int64, error)
	unsigned(bits int) (uint64, error)
	float(bits int) (float64, error)
	text() ([]byte, error)
	bytes() ([]byte, error)
	time() (time.Time, error)
	duration() (time.Duration, error)
	// beginArray and beginMap return how many elements are announced, or -1 if that is not known.
	// The input is long enough for so many.
	beginArray() (announced int, err error)
	beginMap() (announced int, err error)
	// more reports whether another element comes. left is how many are still to come, at first as
	// many as were announced. Behind the last element, more ends the array or map.
	more(left int) (rest int, more bool, err error)
	any() (any, error)
	skip() error
	// unknown is asked about a field that is not known; it is skipped if there is no error.
	unknown(name []byte) error
	// need counts memory for a record against what the message may need.
	need(size int) error
	// end fails if anything follows the message.
	end() error
}

// valueError tells what is wrong with a value, and where in the message.
type valueError struct {
	code    trunkcall.Code
	path    string // such as ".items[3].count", empty at the top
	text    string
	array   bool // an array came where another value is wanted, and is still to be read
	private bool // the text may tell of Go's types, or of what a method of theirs says
}

func (e *valueError) Error() string {
	if e.path != "" {
		return "at " + e.path + ": " + e.text
	}
	return e.text
}

// Is has the package trunkcall know what kind of fault it is.
func (e *valueError) Is(target error) bool {
	return target == trunkcall.ErrLimit && e.code == trunkcall.ResourceExhausted ||
		target == trunkcall.ErrMessageType && e.private
}

func badValue(format string, args ...any) error {
	return &valueError{code: trunkcall.InvalidArgument, text: fmt.Sprintf(format, args...)}
}

// gotArray is what the readers call an array that comes.
const gotArray = "an array"

func unwanted(want, got string) error {
	return &valueError{code: trunkcall.InvalidArgument, text: "want " + want + ", got " + got, array: got == gotArray}
}

var errNesting error = &valueError{
	code: trunkcall.ResourceExhausted,
	text: fmt.Sprintf("arrays and maps nest deeper than max_nesting %d", MaxNesting),
}

// within adds a step to the path of an error that came up below.
func within(step string, err error) error {
	var e *valueError
	if !errors.As(err, &e) {
		return &valueError{code: trunkcall.InvalidArgument, path: step, text: err.Error(), private: true}
	}
	if e.code == trunkcall.ResourceExhausted {
		return err // a path of a hundred steps helps nobody
	}
	return &valueError{code: e.code, path: step + e.path, text: e.text, private: e.private}
}

// isPrivate holds for errors whose text is not for the other side.
func isPrivate(err error) bool {
	var e *valueError
	return !errors.As(err, &e) || e.private
}

// codeOfValue is the status code for a value that could not be carried,
// otherwise for any but a crossed limit.
func codeOfValue(err error, otherwise trunkcall.Code) trunkcall.Code {
	var e *valueError
	if errors.As(err, &e) && e.code == trunkcall.ResourceExhausted {
		return trunkcall.ResourceExhausted
	}
	return otherwise
}

// shapes has the shape of each type that was looked at, or why it has none.
var shapes sync.Map // of reflect.Type to shape or error

// shapeOf returns the shape of a type. The error names the part of it that
// cannot be carried.
func shapeOf(t reflect.Type) (shape, error) {
	if known, ok := shapes.Load(t); ok {
		if s, ok := known.(shape); ok {
			return s, nil
		}
		return nil, known.(error) //nolint:forcetypeassert // shapes holds nothing else
	}
	s, err := (&shaping{}).shapeOf(t)
	if err != nil {
		shapes.Store(t, err)
		return nil, err
	}
	shapes.Store(t, s)
	return s, nil
}

// writeMessage writes a whole message.
func writeMessage(w valueWriter, message any) error {
	switch m := message.(type) {
	case *Arguments:
		return m.write(w)
	case *Results:
		return m.write(w)
	}
	err := writeAny(w, message)
	var known *valueError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &valueError{code: trunkcall.Internal, text: err.Error(), private: true}
}

// readMessage reads a whole message into what message points to.
func readMessage(r valueReader, message any) error {
	switch m := message.(type) {
	case *Arguments:
		return m.read(r)
	case *Results:
		return m.read(r)
	}
	p := reflect.ValueOf(message)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("%w: a message is decoded into a pointer, not a %T", trunkcall.ErrMessageType, message)
	}
	s, err := shapeOf(p.Type().Elem())
	if err != nil {
		return &valueError{code: trunkcall.Internal, text: err.Error(), private: true}
	}
	if err := s.read(r, p.Elem()); err != nil {
		return err
	}
	return r.end()
}

// writeAny writes a value by its own type.
func writeAny(w valueWriter, value any) error {
	switch v := value.(type) {
	case nil:
		w.null()
		return nil
	case string:
		return w.text(v)
	case bool:
		w.boolean(v)
		return nil
	case int:
		w.integer(int64(v))
		return nil
	case int64:
		w.integer(v)
		return nil
	case float64:
		w.float(v, 64)
		return nil
	}
	v := reflect.ValueOf(value)
	s, err := shapeOf(v.Type())
	if err != nil {
		return err
	}
	return s.write(w, v)
}
