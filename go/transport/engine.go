package transport

// What the engines of other protocols on the same port share with this one
// (transport/http2).

// CanRaw reports whether RawRead and RawWrite work on this system.
const CanRaw = canRaw

// Clock is the time that connections reckon with: nanoseconds on a monotonic
// scale. TimeOf turns it into a time of day.
func Clock() int64 { return clock() }

// RawRead makes one attempt to read from the descriptor of a socket, inside
// syscall.RawConn.Read: it never waits.
func RawRead(fd uintptr, b []byte) (int, error) { return rawRead(fd, b) }

// RawWrite makes one attempt to write, inside syscall.RawConn.Write: it never
// waits.
func RawWrite(fd uintptr, b []byte) (int, error) { return rawWrite(fd, b) }

// Quick reports whether handlers of this method have been quick on average. A
// nil Pace is not.
func (p *Pace) Quick() bool { return p.quick() }

// Note takes into account that a handler took so many nanoseconds.
func (p *Pace) Note(took int64) { p.note(took) }
