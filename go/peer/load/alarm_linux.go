package load

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes one caller at a given time. It is a kernel timer waited for
// through the runtime's poller: the runtime's own timers are rounded to a
// millisecond while a process has nothing else to do, which is longer than the
// calls that are to be timed.
type alarm struct {
	fd   int
	file *os.File
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// sleep returns when the time has passed. An error only makes it return early,
// and the caller looks at the clock in any case.
func (a *alarm) sleep(d time.Duration) {
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(a.fd, 0, &once, nil); err != nil {
		return
	}
	var expirations [8]byte
	_, _ = a.file.Read(expirations[:])
}

func (a *alarm) close() {
	_ = a.file.Close()
}
