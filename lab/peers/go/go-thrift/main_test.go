package main

import (
	"reflect"
	"testing"

	"github.com/trunkcall/trunkcall/lab/peers/go/internal/smoke"
)

func TestAnswers(t *testing.T) { smoke.Test(t, peer) }

func TestEveryFieldButTheListIsSet(t *testing.T) {
	message := reflect.ValueOf(newMessage()).Elem()
	if message.NumField() != 40 {
		t.Errorf("%d fields, want 40", message.NumField())
	}
	for i := range message.NumField() {
		if field := message.Field(i); field.IsZero() != (field.Kind() == reflect.Slice) {
			t.Errorf("%s is %v", message.Type().Field(i).Name, field)
		}
	}
}
