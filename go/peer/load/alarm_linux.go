package load

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Alarm wakes one caller at a given time. It is a kernel timer waited for
// through the runtime's poller: the runtime's own timers are rounded to a
// millisecond while a process has nothing else to do, which is longer than the
// calls that are to be timed.
type Alarm struct {
	fd   int
	file *os.File
}

// NewAlarm makes an alarm, to be closed.
func NewAlarm() (*Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &Alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// Sleep returns when the time has passed. An error only makes it return early,
// and the caller looks at the clock in any case.
func (a *Alarm) Sleep(d time.Duration) {
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(a.fd, 0, &once, nil); err != nil {
		return
	}
	var expirations [8]byte
	_, _ = a.file.Read(expirations[:])
}

// Close gives the alarm up.
func (a *Alarm) Close() {
	_ = a.file.Close()
}
