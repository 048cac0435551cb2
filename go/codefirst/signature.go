package codefirst

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/trunkcall/trunkcall/go"
)

// signature is what a code-first method takes and gives, found out once.
type signature struct {
	name       string // the public one, "/calc/div"
	parameters []shape
	results    []shape

	takesContext, failing, variadic bool // of the Go function: a context first, an error last
	// arguments and answer are structs of the parameters and of the results, so
	// that those of a call are allocated together. The first field of arguments
	// is the context.
	arguments, answer reflect.Type
}

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// signatureOf looks at a function's type.
func signatureOf(name string, function reflect.Type) (*signature, error) {
	s, err := newSignature(name, types(function.NumIn(), function.In), types(function.NumOut(), function.Out))
	if err == nil {
		s.variadic = function.IsVariadic()
	}
	return s, err
}

// newSignature takes the types of Go's parameters and results.
func newSignature(name string, parameters, results []reflect.Type) (*signature, error) {
	s := &signature{name: name}
	if len(parameters) > 0 && parameters[0] == contextType {
		s.takesContext, parameters = true, parameters[1:]
	}
	if n := len(results); n > 0 && results[n-1] == errorType {
		s.failing, results = true, results[:n-1]
	}
	var err error
	if s.parameters, err = shapesOf(parameters, "parameter", name); err != nil {
		return nil, err
	}
	if s.results, err = shapesOf(results, "result", name); err != nil {
		return nil, err
	}
	s.arguments, s.answer = tupleOf(append([]reflect.Type{contextType}, parameters...)), tupleOf(results)
	return s, nil
}

func types(n int, at func(int) reflect.Type) []reflect.Type {
	all := make([]reflect.Type, n)
	for i := range all {
		all[i] = at(i)
	}
	return all
}

func shapesOf(types []reflect.Type, what, name string) ([]shape, error) {
	all := make([]shape, len(types))
	for i, t := range types {
		var err error
		if all[i], err = shapeOf(t); err != nil {
			return nil, fmt.Errorf("%s %d of %s: %w", what, i+1, name, err)
		}
	}
	return all, nil
}

func tupleOf(types []reflect.Type) reflect.Type {
	fields := make([]reflect.StructField, len(types))
	for i, t := range types {
		fields[i] = reflect.StructField{Name: fmt.Sprintf("V%d", i), Type: t}
	}
	return reflect.StructOf(fields)
}

// Arguments are the arguments of a code-first call: what interceptors find in
// Call.Request, and what a codec of a user's own, numbered 8 or more, is given
// to encode and decode. One goroutine uses them at a time.
type Arguments struct {
	signature *signature
	values    []reflect.Value // behind the context's place
	strict    bool            // fields of JSON that nobody knows are refused
	few       [5]reflect.Value
}

// Len is the number of arguments.
func (a *Arguments) Len() int { return len(a.values) - 1 }

// Values returns the arguments in order.
func (a *Arguments) Values() []any { return interfaces(a.values[1:]) }

// Pointers returns a pointer to each argument, for a codec to decode into. At
// the caller, where nothing is decoded, it panics.
func (a *Arguments) Pointers() []any { return pointers(a.values[1:]) }

// Set replaces the argument at index i, from 0. It fails for a value that is not
// of the parameter's type.
func (a *Arguments) Set(i int, value any) error {
	return replace(&a.values[i+1], value, a.signature.arguments.Field(i+1).Type)
}

// Results are the results of a code-first call: what interceptors find in
// Call.Response, at the server after the handler has returned, at the client
// after the answer came, and what a codec of a user's own encodes and decodes.
// One goroutine uses them at a time.
type Results struct {
	signature *signature // nil when a user made them
	values    []reflect.Value
}

// NewResults returns results for a server's interceptor to answer with, in place
// of the handler. They are written by their own types.
func NewResults(values ...any) *Results {
	r := &Results{values: make([]reflect.Value, len(values))}
	for i, v := range values {
		r.values[i] = reflect.ValueOf(&v).Elem()
	}
	return r
}

// Len is the number of results, without the error.
func (r *Results) Len() int { return len(r.values) }

// Values returns the results in order, without the error.
func (r *Results) Values() []any { return interfaces(r.values) }

// Pointers returns a pointer to each result, for a codec to decode into. At the
// server, where nothing is decoded, it panics.
func (r *Results) Pointers() []any { return pointers(r.values) }

// Set replaces the result at index i, from 0: a client's interceptor answers by
// setting all of them. It fails for a value that is not of the result's type.
func (r *Results) Set(i int, value any) error {
	return replace(&r.values[i], value, r.values[i].Type())
}

func interfaces(values []reflect.Value) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v.Interface()
	}
	return all
}

func pointers(values []reflect.Value) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v.Addr().Interface()
	}
	return all
}

func replace(place *reflect.Value, value any, want reflect.Type) error {
	held := reflect.New(want).Elem()
	if v := reflect.ValueOf(value); v.IsValid() {
		if !v.Type().AssignableTo(want) {
			return fmt.Errorf("%T is not assignable to %v", value, want)
		}
		held.Set(v)
	}
	*place = held
	return nil
}

// fault is how a call fails whose value number i cannot be carried.
func (s *signature) fault(what string, i int, err error) trunkcall.Status {
	separator := ": "
	var at *valueError
	if errors.As(err, &at) && at.path != "" {
		separator = ", "
	}
	return trunkcall.Status{
		Code:    codeOfValue(err, trunkcall.InvalidArgument),
		Message: fmt.Sprintf("%s %d of %s%s%v", what, i+1, s.name, separator, err),
	}
}

func (a *Arguments) write(w valueWriter) error {
	if err := w.beginArray(a.Len()); err != nil {
		return err
	}
	for i, v := range a.values[1:] {
		w.element()
		if err := a.signature.parameters[i].write(w, v); err != nil {
			return a.signature.fault("parameter", i, err).Err()
		}
	}
	w.endArray()
	return nil
}

func (a *Arguments) read(r valueReader) error {
	s, want := a.signature, a.Len()
	left, err := r.beginArray()
	if err != nil {
		return trunkcall.Errorf(trunkcall.InvalidArgument, "%s takes an array of %s: %v", s.name, s.count(), err)
	}
	if left >= 0 && left != want {
		return trunkcall.Errorf(trunkcall.InvalidArgument, "%s takes %s, got %d", s.name, s.count(), left)
	}
	for i := 0; ; i++ {
		rest, more, err := r.more(left)
		left = rest
		switch {
		case err != nil:
			return trunkcall.Errorf(trunkcall.InvalidArgument, "%s takes %s: %v", s.name, s.count(), err)
		case !more && i < want:
			return trunkcall.Errorf(trunkcall.InvalidArgument, "%s takes %s, got %d", s.name, s.count(), i)
		case !more:
			if err := r.end(); err != nil {
				return trunkcall.Errorf(trunkcall.InvalidArgument, "%s: %v", s.name, err)
			}
			return nil
		case i == want:
			return trunkcall.Errorf(trunkcall.InvalidArgument, "%s takes %s, got more", s.name, s.count())
		}
		if err := s.parameters[i].read(r, a.values[i+1]); err != nil {
			return s.fault("parameter", i, err).Err()
		}
	}
}

func (s *signature) count() string {
	if len(s.parameters) == 1 {
		return "1 parameter"
	}
	return fmt.Sprintf("%d parameters", len(s.parameters))
}

func (r *Results) write(w valueWriter) error {
	if len(r.values) == 0 {
		w.null()
		return nil
	}
	if len(r.values) == 1 {
		return r.writeOne(w, 0)
	}
	if err := w.beginArray(len(r.values)); err != nil {
		return err
	}
	for i := range r.values {
		w.element()
		if err := r.writeOne(w, i); err != nil {
			return err
		}
	}
	w.endArray()
	return nil
}

func (r *Results) writeOne(w valueWriter, i int) error {
	if r.signature == nil {
		return writeAny(w, r.values[i].Interface())
	}
	if err := r.signature.results[i].write(w, r.values[i]); err != nil {
		return r.signature.resultFault(i, err)
	}
	return nil
}

// resultFault is what is wrong with a result: nothing that the caller did.
func (s *signature) resultFault(i int, err error) error {
	fault := s.fault("result", i, err)
	if fault.Code != trunkcall.ResourceExhausted {
		fault.Code = trunkcall.Internal
	}
	if isPrivate(err) {
		fault.Message = fmt.Sprintf("result %d of %s cannot be carried", i+1, s.name)
	}
	return &resultError{fault, err}
}

// resultError is a Status with what it is about, which is for this side's log.
type resultError struct {
	status trunkcall.Status
	cause  error
}

func (e *resultError) Error() string            { return e.status.Message + ": " + e.cause.Error() }
func (e *resultError) Status() trunkcall.Status { return e.status }
func (e *resultError) Unwrap() error            { return e.cause }

func (r *Results) read(in valueReader) error {
	s := r.signature
	switch len(r.values) {
	case 0:
		if err := in.skip(); err != nil {
			return err
		}
	case 1:
		if err := s.results[0].read(in, r.values[0]); err != nil {
			return s.onlyResultFault(in, err)
		}
	default:
		if err := r.readAll(in); err != nil {
			return err
		}
	}
	return in.end()
}

// onlyResultFault is what is wrong with the result of a method that has one here. An
// array where none is wanted is likely to be several results.
func (s *signature) onlyResultFault(in valueReader, err error) error {
	var e *valueError
	if errors.As(err, &e) && e.array && e.path == "" {
		if n, bad := elements(in); bad == nil && n != 1 {
			return trunkcall.Errorf(trunkcall.Internal, "%s: want 1 result, got %d (or a list of so many: %s)", s.name, n, e.text)
		}
	}
	return s.resultFault(0, err)
}

// elements reads an array and returns how many there are in it.
func elements(in valueReader) (int, error) {
	left, err := in.beginArray()
	if err != nil {
		return 0, err
	}
	return elementsLeft(in, left)
}

// elementsLeft reads the rest of an array and returns how many elements that was.
func elementsLeft(in valueReader, left int) (n int, err error) {
	for {
		var more bool
		if left, more, err = in.more(left); err != nil || !more {
			return n, err
		}
		if err = in.skip(); err != nil {
			return n, err
		}
		n++
	}
}

func (r *Results) readAll(in valueReader) error {
	s := r.signature
	left, err := in.beginArray()
	if err != nil {
		return trunkcall.Errorf(trunkcall.Internal, "%s gives an array of %d results: %v", s.name, len(r.values), err)
	}
	for i := 0; ; i++ {
		rest, more, err := in.more(left)
		left = rest
		switch {
		case err != nil:
			return err
		case more && i >= len(r.values):
			if err := in.skip(); err != nil {
				return err
			}
			n, err := elementsLeft(in, left)
			if err != nil {
				return err
			}
			return trunkcall.Errorf(trunkcall.Internal, "%s: want %d results, got %d", s.name, len(r.values), i+1+n)
		case !more && i < len(r.values):
			return trunkcall.Errorf(trunkcall.Internal, "%s: want %d results, got %d", s.name, len(r.values), i)
		case !more:
			return nil
		}
		if err := s.results[i].read(in, r.values[i]); err != nil {
			return s.resultFault(i, err)
		}
	}
}
