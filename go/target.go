package trunkcall

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// target is a method as clients use it: with the index by which sessions
// remember the id that they gave its name.
type target struct {
	Method
	wire  wire.Method
	makes bool // every call of it makes the message that its response is decoded into
}

func newTarget(name string, kind Kind) *target {
	t := unaryTarget(name)
	if kind == KindUnary {
		return t
	}
	return &target{Method: Method{t.Name, kind}, wire: t.wire}
}

// maxNames bounds the table of names, for programs that make names up.
const maxNames = 4096

// names maps every method name used in this process to its target as a unary
// method. Readers take the current map without a lock; a new name makes a new
// map.
var names struct {
	sync.Mutex
	current atomic.Pointer[map[string]*target]
}

func unaryTarget(name string) *target {
	name = CanonicalName(name)
	if current := names.current.Load(); current != nil {
		if t := (*current)[name]; t != nil {
			return t
		}
	}
	if nameFault(name) != nil {
		return &target{Method: Method{name, KindUnary}, wire: wire.Method{Name: name, Index: -1}} // no call with it begins (checkName)
	}
	names.Lock()
	defer names.Unlock()
	grown := map[string]*target{}
	if current := names.current.Load(); current != nil {
		if t := (*current)[name]; t != nil {
			return t
		}
		maps.Copy(grown, *current)
	}
	t := &target{Method: Method{name, KindUnary}, wire: wire.Method{Name: name, Index: len(grown)}}
	if len(grown) >= maxNames {
		t.wire.Index = -1
		return t
	}
	grown[name] = t
	names.current.Store(&grown)
	return t
}
