//go:build !linux

package transport

import "errors"

// Elsewhere each connection has a goroutine that waits for it.
const canPoll = false

type poller struct{}

func poll(*Conn, int) *polled { return nil }

func park(*Parked) bool { return false }

func (p *poller) remove(int) {}

func copyDescriptor(int) (int, error) { return -1, errors.ErrUnsupported }

func closeDescriptor(int) {}
