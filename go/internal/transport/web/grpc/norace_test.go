//go:build !race

package grpc_test

// underRace says that the race detector is at work: memory and time are others then.
const underRace = false
