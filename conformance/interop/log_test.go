package interop

import "fmt"

// fatalError is a fatal line of grpc-go's log, by which its cases fail.
type fatalError string

func (e fatalError) Error() string { return string(e) }

// asError is what was recovered from, if that was a fatal line; anything else panics on.
func asError(recovered any) error {
	switch value := recovered.(type) {
	case nil:
		return nil
	case fatalError:
		return value
	default:
		panic(value)
	}
}

// fatalPanics is grpc-go's log: it says nothing, and a fatal line panics, where grpc-go would
// end the process.
type fatalPanics struct{}

func (fatalPanics) Info(...any)             {}
func (fatalPanics) Infoln(...any)           {}
func (fatalPanics) Infof(string, ...any)    {}
func (fatalPanics) Warning(...any)          {}
func (fatalPanics) Warningln(...any)        {}
func (fatalPanics) Warningf(string, ...any) {}
func (fatalPanics) Error(...any)            {}
func (fatalPanics) Errorln(...any)          {}
func (fatalPanics) Errorf(string, ...any)   {}
func (fatalPanics) V(int) bool              { return false }

func (fatalPanics) Fatal(args ...any)   { panic(fatalError(fmt.Sprint(args...))) }
func (fatalPanics) Fatalln(args ...any) { panic(fatalError(fmt.Sprintln(args...))) }
func (fatalPanics) Fatalf(format string, args ...any) {
	panic(fatalError(fmt.Sprintf(format, args...)))
}
