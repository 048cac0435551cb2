//go:build !race

package trunkcall_test

const underRace = false
