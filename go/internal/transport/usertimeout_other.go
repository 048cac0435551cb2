//go:build !linux

package transport

import (
	"net"
	"time"
)

// GiveUpAfter does nothing: only Linux can be told.
func GiveUpAfter(net.Conn, time.Duration, time.Duration) {}
