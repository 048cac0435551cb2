package codefirst

import (
	"context"
	"fmt"
	"reflect"

	"github.com/trunkcall/trunkcall/go"
)

// Code-first methods at the client: functions that call.

// Func returns a function that calls a code-first method, "calc/div":
//
//	div := codefirst.Func[func(ctx context.Context, a, b int) (int, int, error)](client, "calc/div")
//	quotient, remainder, err := div(ctx, 7, 2)
//
// F is a function type that returns an error last, which is a StatusError when the
// call fails; the results are zero then. It may take a context first and
// ...trunkcall.CallOption last; everything between is arguments. It is safe for concurrent
// use. Func panics for any other F, and for one whose values cannot be carried
// (spec/code-first.md).
//
// An asynchronous function returns a future,
//
//	func(ctx context.Context, a, b int) *codefirst.Future[func() (int, int, error)]
//
// or it returns nothing and takes a callback behind the arguments:
//
//	func(ctx context.Context, a, b int, done func(quotient, remainder int, err error))
//
// The callback is called once, whatever happens, on another goroutine; it may
// block and may make calls. What arguments point to must not be changed until the
// call has ended. Such a call has a goroutine of its own only where there are
// interceptors, and counts among the waiting calls while it waits for a
// connection or a slot (WithWaitingCalls).
//
// Calls use the client's codec if it can carry arguments, else MessagePack.
func Func[F any](c trunkcall.Caller, name string) F {
	var f F
	if err := bind(c, trunkcall.CanonicalName(name), reflect.ValueOf(&f).Elem()); err != nil {
		panic("codefirst: " + err.Error())
	}
	return f
}

// Bind fills in the functions of a struct. Each calls the method of a service after which its field
// is named:
//
//	var calc struct {
//		Div func(ctx context.Context, a, b int) (quotient, remainder int, err error)
//	}
//	err := codefirst.Bind(client, "calc", &calc) // calc.Div calls /calc/div
//
// The method's name is the lowerCamelCase of the field's, unless a tag `trunkcall:"name"` says
// another. So one method may have several functions, one that waits and one that does not. The
// functions are like those of Func. The error names the field that cannot be filled in.
func Bind(c trunkcall.Caller, service string, functions any) error {
	if err := checkPublicName("service", service); err != nil {
		return err
	}
	p := reflect.ValueOf(functions)
	if p.Kind() != reflect.Pointer || p.IsNil() || p.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("service %s is bound to a pointer to a struct of functions, not to a %T", service, functions)
	}
	bound := 0
	for i := range p.Elem().NumField() {
		field := p.Elem().Type().Field(i)
		name, given := field.Tag.Lookup("trunkcall")
		if !field.IsExported() || name == "-" {
			continue
		}
		if !given {
			name = publicName(field.Name)
		}
		if err := checkPublicName("method", name); err != nil {
			return fmt.Errorf("field %s: %w", field.Name, err)
		}
		if err := bind(c, "/"+service+"/"+name, p.Elem().Field(i)); err != nil {
			return fmt.Errorf("field %s: %w", field.Name, err)
		}
		bound++
	}
	if bound == 0 {
		return fmt.Errorf("service %s: %T has no exported functions to bind", service, functions)
	}
	return nil
}

var callOptionsType = reflect.TypeFor[[]trunkcall.CallOption]()

// codecOfValues is the caller's codec if that can carry arguments, else MessagePack.
var codecOfValues = trunkcall.DefaultCodec(func(callers trunkcall.Codec) trunkcall.Codec {
	if carriesValues(callers) {
		return callers
	}
	return MessagePack
})

var onlyCodecOfValues = []trunkcall.CallOption{trunkcall.JoinOptions(codecOfValues)}

// bound is a function that calls.
type bound struct {
	*signature
	caller      trunkcall.Caller
	method      *trunkcall.Method
	withOptions bool
}

// bind has function, a variable of some function type, call a method.
func bind(c trunkcall.Caller, name string, function reflect.Value) error {
	t := function.Type()
	if t.Kind() != reflect.Func {
		return fmt.Errorf("%s: %v is no function type", name, t)
	}
	if err := trunkcall.CheckMethodName(name); err != nil {
		return err
	}
	b := &bound{caller: c, method: trunkcall.NewMethod(name, trunkcall.KindUnary)}
	call, parameters, results, err := b.form(t)
	if err == nil {
		b.signature, err = newSignature(name, parameters, results)
	}
	if err != nil {
		return err
	}
	function.Set(reflect.MakeFunc(t, call))
	return nil
}

// form finds out how functions of a type make calls, and the types of the method's parameters and
// results, including the error.
func (b *bound) form(t reflect.Type) (
	call func([]reflect.Value) []reflect.Value, parameters, results []reflect.Type, err error,
) {
	parameters, results = types(t.NumIn(), t.In), types(t.NumOut(), t.Out)
	last := len(parameters) - 1
	if t.IsVariadic() && parameters[last] == callOptionsType {
		b.withOptions, parameters = true, parameters[:last]
		last--
	}
	future := futureAmong(results)
	switch {
	case last >= 0 && parameters[last].Kind() == reflect.Func:
		if results, err = resultsTaken(t, parameters[last]); err == nil {
			return b.callBack, parameters[:last], results, nil
		}
	case future != nil:
		if results, err = resultsAwaited(t, future); err == nil {
			return b.callForFuture(future), parameters, results, nil
		}
	case !endsInError(results):
		err = fmt.Errorf(
			"%v has to return an error last, since a call can fail, or a *Future alone, or to take a callback behind the arguments", t)
	default:
		return b.call, parameters, results, nil
	}
	return nil, nil, nil, fmt.Errorf("%s: %w", b.method.Name, err)
}

func endsInError(types []reflect.Type) bool {
	n := len(types)
	return n > 0 && types[n-1] == errorType
}

func (b *bound) call(in []reflect.Value) []reflect.Value {
	in, options := b.options(in)
	ctx, arguments := b.take(in)
	out, results := b.place()
	return b.answered(out, trunkcall.Invoke(ctx, b.caller, b.method, arguments, results, options...))
}

// options returns those of a call, and what else it was called with.
func (b *bound) options(in []reflect.Value) ([]reflect.Value, []trunkcall.CallOption) {
	if !b.withOptions {
		return in, onlyCodecOfValues
	}
	last := len(in) - 1
	given, _ := reflect.TypeAssert[[]trunkcall.CallOption](in[last])
	if len(given) == 0 {
		return in[:last], onlyCodecOfValues
	}
	return in[:last], append([]trunkcall.CallOption{codecOfValues}, given...)
}

// take returns the context and the arguments of a call.
func (b *bound) take(in []reflect.Value) (context.Context, *Arguments) {
	ctx := context.Background()
	if b.takesContext {
		ctx, _ = reflect.TypeAssert[context.Context](in[0])
	} else {
		in = append(make([]reflect.Value, 1, len(in)+1), in...)
	}
	return ctx, &Arguments{signature: b.signature, values: in}
}

// place returns where the results of a call go, and the error behind them.
func (b *bound) place() ([]reflect.Value, *Results) {
	held := reflect.New(b.answer).Elem()
	out := make([]reflect.Value, held.NumField()+1)
	for i := range held.NumField() {
		out[i] = held.Field(i)
	}
	return out, &Results{b.signature, out[: len(out)-1 : len(out)-1]}
}

// answered fills in the error. Results that were decoded in part are zero again.
func (b *bound) answered(out []reflect.Value, err error) []reflect.Value {
	last := len(out) - 1
	out[last] = noError
	if err != nil {
		for i, v := range out[:last] {
			out[i] = reflect.Zero(v.Type())
		}
		failure := err
		out[last] = reflect.ValueOf(&failure).Elem()
	}
	return out
}

var noError = reflect.Zero(errorType)
