//go:build !linux

package transport

import (
	"net"
	"time"
)

func setUserTimeout(net.Conn, time.Duration) {}
