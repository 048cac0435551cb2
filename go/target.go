package trunkcall

import (
	"sync"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/wire"
)

// target is a method as clients use it: with the index by which sessions
// remember the id that they gave its name.
type target struct {
	Method
	wire wire.Method
}

func newTarget(name string, kind Kind) *target {
	name = CanonicalName(name)
	return &target{Method{name, kind}, internName(name)}
}

// maxNames bounds the table of names, for programs that make names up.
const maxNames = 1 << 16

// names maps every method name used in this process to its index. Readers take
// the current map without a lock; a new name makes a new map.
var names struct {
	sync.Mutex
	current atomic.Pointer[map[string]wire.Method]
}

func internName(name string) wire.Method {
	if current := names.current.Load(); current != nil {
		if m, ok := (*current)[name]; ok {
			return m
		}
	}
	names.Lock()
	defer names.Unlock()
	grown := map[string]wire.Method{}
	if current := names.current.Load(); current != nil {
		if m, ok := (*current)[name]; ok {
			return m
		}
		if len(*current) >= maxNames {
			return wire.Method{Name: name, Index: -1}
		}
		for k, v := range *current {
			grown[k] = v
		}
	}
	m := wire.Method{Name: name, Index: len(grown)}
	grown[name] = m
	names.current.Store(&grown)
	return m
}
