package trunkcall_test

import (
	"context"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// marked is a call that an observer of a test knows again.
type marked struct{}

// A caller alone on a connection reads it itself. While its observer is being told, others have their answers.
func TestAnObserverThatBlocksHoldsUpItsOwnCallOnly(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	entered, release := make(chan struct{}), make(chan struct{})
	c := dial(t, target, trunkcall.WithAttemptObserver(trunkcall.AttemptObserver{Began: func(a *trunkcall.Attempt) {
		if a.Context.Value(marked{}) != nil {
			entered <- struct{}{}
			<-release
		}
	}}))
	for range 20 {
		for range 50 { // until callers read for themselves
			mustEcho(t, c, "one after the other")
		}
		ended := make(chan error, 1)
		go func() {
			_, err := echo.Call(context.WithValue(soon(t), marked{}, true), c, text("x"))
			ended <- err
		}()
		receive(t, entered, "observer")
		ctx, cancel := within(20 * time.Second)
		_, err := echo.Call(ctx, c, text("beside"))
		cancel()
		release <- struct{}{}
		if err != nil {
			t.Fatal(err)
		}
		if err := receive(t, ended, "answer"); err != nil {
			t.Fatal(err)
		}
	}
}

// What an observer calls through the client is answered.
func TestAnObserverMayCall(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	var c *trunkcall.Client
	failed := make(chan error, 100)
	c = newClient(t, target, trunkcall.WithAttemptObserver(trunkcall.AttemptObserver{Began: func(a *trunkcall.Attempt) {
		if a.Context.Value(marked{}) != nil {
			ctx, cancel := within(20 * time.Second)
			defer cancel()
			_, err := echo.Call(ctx, c, text("meanwhile"))
			failed <- err
		}
	}}))
	t.Cleanup(c.Close)
	for range 20 {
		for range 50 {
			mustEcho(t, c, "one after the other")
		}
		if _, err := echo.Call(context.WithValue(soon(t), marked{}, true), c, text("x")); err != nil {
			t.Fatal(err)
		}
		if err := receive(t, failed, "call of the observer"); err != nil {
			t.Fatal(err)
		}
	}
}
