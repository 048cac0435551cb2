package transport

import (
	"errors"
	"io"
	"syscall"
)

// tryRead makes one attempt to read, into first if there is such a thing, and then
// into b. It returns 0 and no error when there is nothing to read yet, and io.EOF
// at the end.
func tryRead(fd uintptr, first, b []byte) (n int, err error) {
	for {
		if len(first) > 0 {
			n, err = rawReadv(fd, first, b)
		} else {
			n, err = rawRead(fd, b)
		}
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case errors.Is(err, syscall.EAGAIN):
			return 0, nil
		case !errors.Is(err, syscall.EINTR):
			return 0, err
		}
	}
}

// tryWrite makes one attempt to write first, and then what more there is. It
// returns 0 and no error when the socket takes nothing.
func tryWrite(fd uintptr, first []byte, more [][]byte) (n int, err error) {
	for {
		if len(more) == 0 {
			n, err = rawWrite(fd, first)
		} else {
			n, err = rawWritev(fd, first, more)
		}
		switch {
		case n > 0:
			return n, nil
		case err == nil || errors.Is(err, syscall.EAGAIN):
			return 0, nil
		case !errors.Is(err, syscall.EINTR):
			return 0, err
		}
	}
}
