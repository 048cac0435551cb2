//go:build unix && (!linux || race)

package transport

import "syscall"

// With the race detector these also tell it that what was written before a call
// happened before what follows its answer.

const canRaw = true

func rawRead(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

func rawReadv(fd uintptr, first, more []byte) (int, error) {
	n, err := rawRead(fd, first)
	if err != nil || n < len(first) {
		return n, err
	}
	if extra, err := rawRead(fd, more); err == nil {
		n += extra // an error or the end of the stream is found again
	}
	return n, nil
}

func rawWrite(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }

func rawWritev(fd uintptr, first []byte, more [][]byte) (int, error) {
	sum, err := rawWrite(fd, first)
	if err != nil || sum < len(first) {
		return sum, err
	}
	for _, b := range more {
		n, err := rawWrite(fd, b)
		if err != nil {
			break // what was written counts, the rest is tried again
		}
		if sum += n; n < len(b) {
			break
		}
	}
	return sum, nil
}
