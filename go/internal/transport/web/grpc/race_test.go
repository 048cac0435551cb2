//go:build race

package grpc_test

const underRace = true
