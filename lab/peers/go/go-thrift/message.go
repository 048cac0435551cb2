package main

import (
	"reflect"
	"strings"

	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/lab/peers/go/go-thrift/benchthrift"
)

// newMessage fills Thrift's message with what the Protobuf message holds. The
// fields have the same names; where one is a pointer, so is the other, except for
// the required fields.
func newMessage() *benchthrift.BenchmarkMessage {
	message := &benchthrift.BenchmarkMessage{}
	from := reflect.ValueOf(benchmsg.New()).Elem()
	to := reflect.ValueOf(message).Elem()
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		if !strings.HasPrefix(name, "Field") || to.Field(i).Kind() == reflect.Slice {
			continue
		}
		value := from.FieldByName(name)
		if to.Field(i).Kind() != reflect.Pointer {
			value = value.Elem()
		}
		to.Field(i).Set(value)
	}
	return message
}
