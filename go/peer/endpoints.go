package peer

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// fileResolver resolves file:PATH: a file with the address of an endpoint on each line, which
// may be replaced by another at any time.
type fileResolver struct{}

// readAgain is how often the file is looked at.
const readAgain = 5 * time.Millisecond

// Resolve reads the file again and again.
func (fileResolver) Resolve(ctx context.Context, w *trunkcall.Watch) error {
	tick := time.NewTicker(readAgain)
	defer tick.Stop()
	for last := ""; ; {
		content, err := os.ReadFile(w.Target())
		if err != nil {
			return err
		}
		if last != string(content) {
			last = string(content)
			var set []trunkcall.Endpoint
			for _, address := range strings.Fields(last) {
				set = append(set, trunkcall.Endpoint{Addresses: []string{address}})
			}
			_ = w.Set(set) // what is wrong with it is logged
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
