package trunkcall

import (
	"context"
	"fmt"
	"reflect"
)

// Code-first methods at the client: functions that call.

// Func returns a function that calls a code-first method, "calc/div":
//
//	div := trunkcall.Func[func(ctx context.Context, a, b int) (int, int, error)](client, "calc/div")
//	quotient, remainder, err := div(ctx, 7, 2)
//
// F is a function type that returns an error last, which is a *Status when the
// call fails; the results are zero then. It may take a context first and
// ...CallOption last; everything between is arguments. It is safe for concurrent
// use. Func panics for any other F, and for one whose values cannot be carried
// (spec/code-first.md).
//
// Calls use the client's codec if it can carry arguments, else MessagePack.
func Func[F any](c Caller, name string) F {
	var f F
	if err := bind(c, CanonicalName(name), reflect.ValueOf(&f).Elem()); err != nil {
		panic("trunkcall: " + err.Error())
	}
	return f
}

// Bind fills in the functions of a struct, each to call the method of a
// service that its field is named for:
//
//	var calc struct {
//		Div func(ctx context.Context, a, b int) (quotient, remainder int, err error)
//	}
//	err := trunkcall.Bind(client, "calc", &calc) // calc.Div calls /calc/div
//
// The method's name is the lowerCamelCase of the field's, unless the field has
// another in a tag `trunkcall:"name"`. The functions are as Func's are; the error
// names the one that cannot be.
func Bind(c Caller, service string, functions any) error {
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
			return err
		}
		if err := bind(c, "/"+service+"/"+name, p.Elem().Field(i)); err != nil {
			return err
		}
		bound++
	}
	if bound == 0 {
		return fmt.Errorf("service %s: %T has no exported functions to bind", service, functions)
	}
	return nil
}

var callOptionsType = reflect.TypeFor[[]CallOption]()

// codecOfValues stands for the caller's codec if it can carry arguments, else for
// MessagePack.
var codecOfValues Codec = valuesCodec{MessagePack}

type valuesCodec struct{ Codec }

var optionsOfValues = callOptions{codec: codecOfValues}

// bound is a function that calls.
type bound struct {
	*signature
	caller      Caller
	target      *target
	withOptions bool
}

// bind has function, a variable of some function type, call a method.
func bind(c Caller, name string, function reflect.Value) error {
	t := function.Type()
	if t.Kind() != reflect.Func {
		return fmt.Errorf("%s: %v is no function type", name, t)
	}
	s, err := signatureOf(name, t, callOptionsType)
	if err != nil {
		return err
	}
	if !s.failing {
		return fmt.Errorf("%s: %v has to return an error last, since a call can fail", name, t)
	}
	b := &bound{signature: s, caller: c, target: unaryTarget(name)}
	b.withOptions = t.IsVariadic() && t.In(t.NumIn()-1) == callOptionsType
	function.Set(reflect.MakeFunc(t, b.call))
	return nil
}

func (b *bound) call(in []reflect.Value) []reflect.Value {
	ctx, options := noContext, &optionsOfValues
	if b.withOptions {
		last := len(in) - 1
		if given, _ := reflect.TypeAssert[[]CallOption](in[last]); len(given) > 0 {
			options = gather(given)
			if options.codec == nil {
				options.codec = codecOfValues
			}
		}
		in = in[:last]
	}
	if b.takesContext {
		ctx, _ = reflect.TypeAssert[context.Context](in[0])
	} else {
		in = append(make([]reflect.Value, 1, len(in)+1), in...)
	}
	held := reflect.New(b.answer).Elem()
	out := make([]reflect.Value, held.NumField()+1)
	for i := range held.NumField() {
		out[i] = held.Field(i)
	}
	results := &Results{b.signature, out[: len(out)-1 : len(out)-1]}
	err := b.caller.invoke(ctx, b.target, &Arguments{signature: b.signature, values: in}, results, options)
	return b.answered(out, err)
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
