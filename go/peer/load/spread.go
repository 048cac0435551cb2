package load

import "fmt"

// Spread opens the clients that the flags ask for, one after the other, and deals
// them out to the callers in turn. dial makes a client of so many connections;
// caller prepares a caller, whose next names the client of each call: with
// --rotate the one after that of the call before, else always the same.
//
// Where a client has one connection by its nature, dial is given 1 and the
// connections of one client are as many clients: say so with single.
func Spread[C any](o *Options, single bool, dial func(connections int) (C, error), caller func(next func() C) (Call, error)) (Factory, error) {
	count, each := o.Clients, 1
	switch {
	case count > 0:
	case single:
		count = o.Connections
	default:
		count, each = 1, o.Connections
	}
	clients := make([]C, count)
	for i := range clients {
		var err error
		if clients[i], err = dial(each); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
	}
	return func(number int) (Call, error) {
		at := number % count
		if !o.Rotate {
			client := clients[at]
			return caller(func() C { return client })
		}
		return caller(func() C {
			client := clients[at]
			if at++; at == count {
				at = 0
			}
			return client
		})
	}, nil
}
