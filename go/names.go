package trunkcall

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Method is a name that can be called, and its kind. Callers best use NewMethod: for such methods
// connections remember the id of the name. A literal works as well.
type Method struct {
	Name string // canonical: "/package.Service/Method"
	Kind Kind

	known *knownName // the name in the table of names; nil if it was not looked up
}

// NewMethod describes a method by its name, "/package.Service/Method". For the same name and kind
// it returns the same Method, which must not be changed.
func NewMethod(name string, kind Kind) *Method {
	known := lookUp(name)
	if int(kind) < len(known.methods) {
		return &known.methods[kind]
	}
	return &Method{Name: known.wire.Name, Kind: kind, known: known}
}

// wire is the method as sessions know it.
func (m *Method) wire() wire.Method {
	if m.known != nil && m.known.wire.Name == m.Name {
		return m.known.wire
	}
	return lookUp(m.Name).wire
}

// callable tells what is wrong with calling the method for one message, or as a stream.
func (m *Method) callable(stream bool) error {
	switch {
	case m == nil:
		return notSent(Errorf(InvalidArgument, "the method to be called is nil"))
	case stream == (m.Kind == KindUnary || m.Kind == KindOneWay):
		with := "Invoke"
		if !stream {
			with = "NewStream"
		}
		return notSent(Errorf(InvalidArgument, "method %s is %v: call it with %s", m.Name, m.Kind, with))
	}
	return nil
}

// maxNames bounds the table of names, for programs that make names up.
const maxNames = 4096

// knownName is a name with the index by which sessions remember the id that they gave it.
type knownName struct {
	wire    wire.Method
	methods [KindOneWay + 1]Method // by kind
}

func newKnownName(name string, index int) *knownName {
	known := &knownName{wire: wire.Method{Name: name, Index: index}}
	for kind := range known.methods {
		known.methods[kind] = Method{name, Kind(kind), known}
	}
	return known
}

// names has every method name used in this process. Readers take the current map without
// a lock; a new name makes a new map.
var names struct {
	sync.Mutex
	current atomic.Pointer[map[string]*knownName]
}

func lookUp(name string) *knownName {
	name = CanonicalName(name)
	if current := names.current.Load(); current != nil {
		if known := (*current)[name]; known != nil {
			return known
		}
	}
	if nameFault(name) != nil {
		return newKnownName(name, -1) // no call with it begins (checkName)
	}
	names.Lock()
	defer names.Unlock()
	grown := map[string]*knownName{}
	if current := names.current.Load(); current != nil {
		if known := (*current)[name]; known != nil {
			return known
		}
		maps.Copy(grown, *current)
	}
	if len(grown) >= maxNames {
		return newKnownName(name, -1)
	}
	known := newKnownName(name, len(grown))
	grown[name] = known
	names.current.Store(&grown)
	return known
}
