//go:build !unix

package transport

import "syscall"

// Elsewhere sockets are read and written as package net does it, by goroutines
// that wait.
const canRaw = false

func rawRead(uintptr, []byte) (int, error) { return -1, syscall.EINVAL }

func rawReadv(uintptr, []byte, []byte) (int, error) { return -1, syscall.EINVAL }

func rawWrite(uintptr, []byte) (int, error) { return -1, syscall.EINVAL }

func rawWritev(uintptr, []byte, [][]byte) (int, error) { return -1, syscall.EINVAL }
