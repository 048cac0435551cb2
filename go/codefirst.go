package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Code-first services at the server: functions and methods that are served as
// they are (spec/code-first.md). Their types are looked at when they are
// registered; a call looks up no name of Go's.

// RegisterService serves the exported methods of value under a public name:
//
//	type Calculator struct{}
//
//	func (Calculator) Div(ctx context.Context, a, b int) (quotient, remainder int, err error)
//
//	server.RegisterService("calc", Calculator{}) // serves /calc/div
//
// A method may take a context first, and any number of arguments, and may return
// any number of results and an error last. Its public name is the lowerCamelCase
// of its own, unless an option gives another; names of Go's stay inside. What
// values can be arguments and results, and how they map to other languages,
// says spec/code-first.md. A client serves its servers likewise. The error names the
// method and parameter that cannot be served.
func (s *serving) RegisterService(name string, value any, options ...ServiceOption) error {
	handlers, err := ServiceHandlers(name, value, options...)
	if err != nil {
		return err
	}
	return s.Register(handlers...)
}

// RegisterFunc serves one function under a public name, "calc/div". It may be
// shaped as the methods for RegisterService are.
func (s *serving) RegisterFunc(name string, function any) error {
	handler, err := FuncHandler(name, function)
	if err != nil {
		return err
	}
	return s.Register(handler)
}

// ServiceOption changes how the methods of a service are published.
type ServiceOption interface{ applyService(o *serviceOptions) }

type serviceOptions struct {
	names map[string]string // by Go's name; empty for none
	safe  map[string]bool   // likewise
}

type serviceOption func(*serviceOptions)

func (f serviceOption) applyService(o *serviceOptions) { f(o) }

// PublishAs has the method that Go calls method served under the name public.
func PublishAs(method, public string) ServiceOption {
	return serviceOption(func(o *serviceOptions) { o.names[method] = public })
}

// WithoutSideEffects declares that methods change nothing, by the names that Go
// calls them (Handler.NoSideEffects).
func WithoutSideEffects(methods ...string) ServiceOption {
	return serviceOption(func(o *serviceOptions) {
		for _, m := range methods {
			o.safe[m] = true
		}
	})
}

// Unpublished has methods not served, by the names that Go calls them.
func Unpublished(methods ...string) ServiceOption {
	return serviceOption(func(o *serviceOptions) {
		for _, m := range methods {
			o.names[m] = ""
		}
	})
}

// ServiceHandlers returns the handlers of what RegisterService would serve, for
// Register, to be changed before (Inline).
func ServiceHandlers(name string, value any, options ...ServiceOption) ([]Handler, error) {
	if err := checkPublicName("service", name); err != nil {
		return nil, err
	}
	o := serviceOptions{map[string]string{}, map[string]bool{}}
	for _, option := range options {
		option.applyService(&o)
	}
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return nil, fmt.Errorf("service %s: there is no value", name)
	}
	if err := o.check(name, v.Type()); err != nil {
		return nil, err
	}
	var handlers []Handler
	served := map[string]string{}
	for i := range v.NumMethod() {
		method := v.Type().Method(i).Name
		public, renamed := o.names[method]
		if !renamed {
			public = publicName(method)
		} else if public == "" {
			continue
		}
		if other := served[public]; other != "" {
			return nil, fmt.Errorf("service %s: the methods %s and %s are both %s in public", name, other, method, public)
		}
		served[public] = method
		if err := checkPublicName("method", public); err != nil {
			return nil, err
		}
		h, err := functionHandler("/"+name+"/"+public, v.Method(i))
		if err != nil {
			return nil, err
		}
		h.NoSideEffects = o.safe[method]
		handlers = append(handlers, h)
	}
	if len(handlers) == 0 {
		return nil, fmt.Errorf("service %s: %v has no exported methods to serve", name, v.Type())
	}
	return handlers, nil
}

// check tells of names in options that nothing has.
func (o *serviceOptions) check(name string, t reflect.Type) error {
	named := slices.AppendSeq(slices.Collect(maps.Keys(o.names)), maps.Keys(o.safe))
	for _, method := range named {
		if _, ok := t.MethodByName(method); !ok {
			return fmt.Errorf("service %s: an option names the method %s, which %v has not", name, method, t)
		}
	}
	return nil
}

// FuncHandler returns the handler of what RegisterFunc would serve.
func FuncHandler(name string, function any) (Handler, error) {
	f := reflect.ValueOf(function)
	if f.Kind() != reflect.Func || f.IsNil() {
		return Handler{}, fmt.Errorf("%s: %T is no function to serve", name, function)
	}
	name = CanonicalName(name)
	if err := nameFault(name); err != nil {
		return Handler{}, err
	}
	return functionHandler(name, f)
}

// served is a function that is served.
type served struct {
	*signature
	function reflect.Value
}

func functionHandler(name string, function reflect.Value) (Handler, error) {
	s, err := signatureOf(name, function.Type())
	if err != nil {
		return Handler{}, err
	}
	f := served{s, function}
	return Handler{Method: Method{Name: name, Kind: KindUnary}, Unary: f.serve, codeFirst: true}, nil
}

// serve is a Handler.Unary.
func (f served) serve(ctx context.Context, in *ServerCall) (any, error) {
	a := f.newArguments()
	if err := in.decodeArguments(a); err != nil {
		return nil, err
	}
	if !in.Intercepted() {
		return f.call(ctx, a)
	}
	return in.Intercept(ctx, a, func(ctx context.Context, request any) (any, error) {
		a, ok := request.(*Arguments)
		if !ok || a.signature != f.signature {
			return nil, in.wrongRequest(request)
		}
		return f.call(ctx, a)
	})
}

// newArguments returns arguments to be decoded into.
func (s *signature) newArguments() *Arguments {
	held := reflect.New(s.arguments).Elem()
	a := &Arguments{signature: s}
	a.values = a.few[:0]
	for i := range held.NumField() {
		a.values = append(a.values, held.Field(i))
	}
	return a
}

func (f served) call(ctx context.Context, a *Arguments) (any, error) {
	values := a.values
	if f.takesContext {
		values[0].Set(reflect.ValueOf(ctx))
	} else {
		values = values[1:]
	}
	var results []reflect.Value
	if f.variadic {
		results = f.function.CallSlice(values)
	} else {
		results = f.function.Call(values)
	}
	if f.failing {
		last := len(results) - 1
		if err, _ := reflect.TypeAssert[error](results[last]); err != nil {
			return nil, err
		}
		results = results[:last]
	}
	return &Results{f.signature, results}, nil
}

// carriesValues reports whether a codec can carry arguments and results.
func carriesValues(c Codec) bool {
	n := c.Number()
	return n == MessagePack.Number() || n == JSON.Number() || n >= firstNamedCodec
}

// cannotCarry is the error of a code-first call with another codec.
func cannotCarry(c Codec, method string) error {
	return Errorf(Unimplemented, "codec %s cannot carry the arguments of %s; %s and %s can", c.Name(), method, MessagePack.Name(), JSON.Name())
}

// decodeArguments is Decode for a code-first method.
func (c *ServerCall) decodeArguments(a *Arguments) error {
	if !carriesValues(c.codec) {
		if m, ok := c.stream.TakeFirst(); ok {
			m.Free()
		}
		return c.undecoded(cannotCarry(c.codec, c.handler.Method.Name))
	}
	return c.Decode(a)
}

// uncarried is the error for a message that a codec could not write or read:
// its own, or else one of this code and beginning.
func uncarried(code Code, what string, codec Codec, err error) error {
	if s, ok := statusWithin(err); ok {
		return Status{Code: s.Code, Message: s.Message, cause: s.cause}.Err()
	}
	if what == "request" && errors.Is(err, ErrMessageType) {
		return Errorf(Unimplemented, "codec %s cannot carry the messages of this method: %v", codec.Name(), err)
	}
	return Errorf(codeOfValue(err, code), "the %s is not a valid %s message: %v", what, codec.Name(), err)
}
