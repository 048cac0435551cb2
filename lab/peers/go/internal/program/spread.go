package program

import (
	"fmt"

	"github.com/trunkcall/trunkcall/go/peer/load"
)

// Spread opens the connections one after the other, then deals them out to the
// callers in turn.
func Spread[C any](connections int, dial func() (C, error), caller func(connection C) (load.Call, error)) (load.Factory, error) {
	opened := make([]C, connections)
	for i := range opened {
		connection, err := dial()
		if err != nil {
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		opened[i] = connection
	}
	return func(number int) (load.Call, error) {
		return caller(opened[number%connections])
	}, nil
}
