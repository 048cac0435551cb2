//go:build linux && !race

package transport

import (
	"syscall"
	"unsafe"
)

// The sockets do not block, so these calls need not be announced to Go's scheduler. If they were,
// the runtime's sysmon would take the processor away and wake another thread whenever the machine
// stops us here.

//
// recvfrom and sendto are used, since read and write take a longer way in the kernel. That shows
// where each call of a connection needs one.

const canRaw = true

func rawRead(fd uintptr, b []byte) (int, error) { return rawCall(syscall.SYS_RECVFROM, fd, b) }

func rawWrite(fd uintptr, b []byte) (int, error) { return rawCall(syscall.SYS_SENDTO, fd, b) }

func rawWritev(fd uintptr, first []byte, more [][]byte) (int, error) {
	var list [64]syscall.Iovec // of more than that the rest is left, as by a full socket
	n := 0
	add := func(b []byte) {
		if len(b) > 0 && n < len(list) {
			list[n].Base = unsafe.SliceData(b) //nolint:gosec // the slice outlives the call
			list[n].SetLen(len(b))
			n++
		}
	}
	add(first)
	for _, b := range more {
		add(b)
	}
	//nolint:gosec // list outlives the call
	wrote, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&list[0])), uintptr(n))
	if errno != 0 {
		return -1, errno
	}
	return int(wrote), nil
}

// rawReadv reads into first, and what is more into more.
func rawReadv(fd uintptr, first, more []byte) (int, error) {
	list := [2]syscall.Iovec{{Base: unsafe.SliceData(first)}, {Base: unsafe.SliceData(more)}} //nolint:gosec // the slices outlive the call
	list[0].SetLen(len(first))
	list[1].SetLen(len(more))
	//nolint:gosec // list outlives the call
	n, _, errno := syscall.RawSyscall(syscall.SYS_READV, fd, uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}

// rawCall returns a negative count with an error, as package syscall does.
func rawCall(number, fd uintptr, b []byte) (int, error) {
	//nolint:gosec // b outlives the call
	n, _, errno := syscall.RawSyscall6(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
