//go:build !linux || race

package transport

import "syscall"

// With the race detector these also tell it that what was written before a call
// happened before what follows its answer.

func rawRead(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

func rawWrite(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }
