package main

import (
	"testing"

	"github.com/trunkcall/trunkcall/lab/peers/go/internal/smoke"
)

func TestAnswers(t *testing.T) { smoke.Test(t, peer) }
