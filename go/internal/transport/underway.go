package transport

import "time"

// UnderWay is a message on its way, in either direction, and the time that it may take (protocol.md
// 9.6): a fixed part, and more with each byte that has passed. So a message that stands still, or
// passes byte by byte, is ended, and a long one is not.
type UnderWay struct {
	began  int64 // as Clock has it; 0: nothing is under way
	passed int64 // bytes
}

// Begin says that a message is under way from now on.
func (u *UnderWay) Begin(now int64) { *u = UnderWay{began: now} }

// Began reports whether one is.
func (u *UnderWay) Began() bool { return u.began != 0 }

// Pass says that n bytes of it have passed.
func (u *UnderWay) Pass(n int) { u.passed += int64(n) }

// Wait gives it, if one is under way, the time in which it could not pass.
func (u *UnderWay) Wait(nanoseconds int64) {
	if u.began != 0 {
		u.began += nanoseconds
	}
}

// End says that it has passed.
func (u *UnderWay) End() { *u = UnderWay{} }

// By is when it must have passed, 0 if none is under way.
func (u *UnderWay) By(atFirst time.Duration) int64 {
	if u.began == 0 {
		return 0
	}
	return u.began + int64(atFirst) + u.passed>>16*int64(time.Second)
}

// LateText says why a message that took longer was given up.
func LateText(atFirst time.Duration) string {
	return "a message was under way for longer than " + atFirst.String() + " and 1s for each 64 KiB that has passed"
}
