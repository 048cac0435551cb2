package codefirst

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/trunkcall/trunkcall/go"
)

// Code-first services at the server: functions and methods that are served as they are
// (spec/code-first.md). Their types are read when they are registered; a call looks up no Go name.

// Registrar is what services are registered with: a trunkcall.Server, or a
// trunkcall.Client that serves its servers.
type Registrar interface {
	Register(handlers ...trunkcall.Handler) error
}

// RegisterService serves methods of value under a public name: those of an interface, or those that
// are listed. So methods that are only embedded, such as Lock or Close, are not served:
//
//	type Calculator struct{ sync.Mutex }
//
//	func (*Calculator) Div(ctx context.Context, a, b int) (quotient, remainder int, err error)
//
//	err := codefirst.RegisterService(server, "calc", &Calculator{}, codefirst.Methods("Div")) // serves /calc/div
//
// A method may take a context first, and any number of arguments, and may return any number of
// results and an error last. Its public name is the lowerCamelCase of its own, unless an option
// gives another. spec/code-first.md says which values can be arguments and results, and how they
// map to other languages. The error names the method and parameter that cannot be served.
func RegisterService(with Registrar, name string, value any, options ...ServiceOption) error {
	handlers, err := ServiceHandlers(name, value, options...)
	if err != nil {
		return err
	}
	return with.Register(handlers...)
}

// RegisterFunc serves one function under a public name, "calc/div". It may be
// shaped as the methods for RegisterService are.
func RegisterFunc(with Registrar, name string, function any) error {
	handler, err := FuncHandler(name, function)
	if err != nil {
		return err
	}
	return with.Register(handler)
}

// ServiceOption says which methods of a service are published, and how. At least one of
// Interface, Methods and PublishAs is needed.
type ServiceOption interface{ applyService(o *serviceOptions) }

type serviceOptions struct {
	published  map[string]string // public names by Go's, empty where none is given
	safe       map[string]bool   // by Go's name
	interfaces []reflect.Type
}

type serviceOption func(*serviceOptions)

func (f serviceOption) applyService(o *serviceOptions) { f(o) }

// Interface has the methods served that the interface I has.
func Interface[I any]() ServiceOption {
	return serviceOption(func(o *serviceOptions) { o.interfaces = append(o.interfaces, reflect.TypeFor[I]()) })
}

// Methods has methods served, by the names that Go calls them.
func Methods(names ...string) ServiceOption {
	return serviceOption(func(o *serviceOptions) {
		for _, name := range names {
			o.publish(name, "")
		}
	})
}

// PublishAs has the method that Go calls method served under the name public.
func PublishAs(method, public string) ServiceOption {
	return serviceOption(func(o *serviceOptions) { o.publish(method, public) })
}

// WithoutSideEffects declares that methods change nothing, by the names that Go
// calls them (trunkcall.Handler.NoSideEffects).
func WithoutSideEffects(methods ...string) ServiceOption {
	return serviceOption(func(o *serviceOptions) {
		for _, m := range methods {
			o.safe[m] = true
		}
	})
}

func (o *serviceOptions) publish(method, public string) {
	if public != "" || o.published[method] == "" {
		o.published[method] = public
	}
}

// ServiceHandlers returns the handlers of what RegisterService would serve, for
// Register, to be changed before (trunkcall.Handler.Inline).
func ServiceHandlers(name string, value any, options ...ServiceOption) ([]trunkcall.Handler, error) {
	if err := checkPublicName("service", name); err != nil {
		return nil, err
	}
	o := serviceOptions{published: map[string]string{}, safe: map[string]bool{}}
	for _, option := range options {
		option.applyService(&o)
	}
	v := reflect.ValueOf(value)
	if !v.IsValid() {
		return nil, fmt.Errorf("service %s: there is no value", name)
	}
	if err := o.check(v.Type()); err != nil {
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	var handlers []trunkcall.Handler
	served := map[string]string{}
	for _, method := range slices.Sorted(maps.Keys(o.published)) {
		public := o.published[method]
		if public == "" {
			public = publicName(method)
		}
		if other := served[public]; other != "" {
			return nil, fmt.Errorf("service %s: the methods %s and %s are both %s in public", name, other, method, public)
		}
		served[public] = method
		if err := checkPublicName("method", public); err != nil {
			return nil, err
		}
		h, err := functionHandler("/"+name+"/"+public, v.MethodByName(method))
		if err != nil {
			return nil, err
		}
		h.NoSideEffects = o.safe[method]
		handlers = append(handlers, h)
	}
	return handlers, nil
}

// check adds the methods of the interfaces, and tells of what the value's type has not.
func (o *serviceOptions) check(t reflect.Type) error {
	for _, i := range o.interfaces {
		if i.Kind() != reflect.Interface {
			return fmt.Errorf("%v is no interface", i)
		}
		for n := range i.NumMethod() {
			o.publish(i.Method(n).Name, "")
		}
		if !t.Implements(i) {
			return fmt.Errorf("%v does not implement %v; it has %s", t, i, methodsOf(t))
		}
	}
	if len(o.published) == 0 {
		return fmt.Errorf("none of the methods of %v is to be served: name them by Methods, or an interface by Interface; it has %s", t, methodsOf(t))
	}
	for _, method := range slices.Sorted(maps.Keys(o.published)) {
		if _, ok := t.MethodByName(method); !ok {
			return fmt.Errorf("an option names the method %s, which %v has not; it has %s", method, t, methodsOf(t))
		}
	}
	for method := range o.safe {
		if _, ok := o.published[method]; !ok {
			return fmt.Errorf("WithoutSideEffects names the method %s, which is not to be served", method)
		}
	}
	return nil
}

// methodsOf lists the exported methods of a type.
func methodsOf(t reflect.Type) string {
	names := make([]string, t.NumMethod())
	for i := range names {
		names[i] = t.Method(i).Name
	}
	if len(names) == 0 {
		return "no exported ones"
	}
	return strings.Join(names, ", ")
}

// FuncHandler returns the handler of what RegisterFunc would serve.
func FuncHandler(name string, function any) (trunkcall.Handler, error) {
	f := reflect.ValueOf(function)
	if f.Kind() != reflect.Func || f.IsNil() {
		return trunkcall.Handler{}, fmt.Errorf("%s: %T is no function to serve", name, function)
	}
	name = trunkcall.CanonicalName(name)
	if err := trunkcall.CheckMethodName(name); err != nil {
		return trunkcall.Handler{}, err
	}
	return functionHandler(name, f)
}

// served is a function that is served.
type served struct {
	*signature
	function reflect.Value
}

func functionHandler(name string, function reflect.Value) (trunkcall.Handler, error) {
	s, err := signatureOf(name, function.Type())
	if err != nil {
		return trunkcall.Handler{}, err
	}
	f := served{s, function}
	return trunkcall.Handler{
		Method: trunkcall.Method{Name: name, Kind: trunkcall.KindUnary}, Unary: f.serve, Carries: carriesValues,
	}, nil
}

// serve is a Handler.Unary.
func (f served) serve(ctx context.Context, in *trunkcall.ServerCall) (any, error) {
	a := f.newArguments()
	a.strict = in.StrictJSON()
	if err := in.Decode(a); err != nil {
		return nil, err
	}
	if !in.Intercepted() {
		return f.call(ctx, a)
	}
	return in.Intercept(ctx, a, func(ctx context.Context, request any) (any, error) {
		a, ok := request.(*Arguments)
		if !ok || a.signature != f.signature {
			return nil, trunkcall.Errorf(trunkcall.Internal, "an interceptor replaced the arguments of %s by others", f.name)
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
func carriesValues(c trunkcall.Codec) bool {
	n := c.Number()
	return n == MessagePack.Number() || n == JSON.Number() || n >= firstNamedCodec
}

// firstNamedCodec is the least number of a user's own codec (protocol.md 3.8).
const firstNamedCodec = 8

// cannotCarry is the error of a code-first call with another codec.
func cannotCarry(c trunkcall.Codec, method string) error {
	return trunkcall.Errorf(trunkcall.Unimplemented, "codec %s cannot carry the arguments of %s; %s and %s can", c.Name(), method, MessagePack.Name(), JSON.Name())
}
