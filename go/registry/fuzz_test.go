package registry

import (
	"testing"
)

// What is read is written the same way again, and read as the same; what is refused is refused alike.
func FuzzParse(f *testing.F) {
	v := read(f)
	for _, c := range v.Records {
		f.Add([]byte(c.Input))
	}
	for _, c := range v.BadRecords {
		f.Add([]byte(c.Input))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		once, err := r.Bytes()
		if err != nil {
			// What was read from escapes may be longer written out, not the other way round.
			t.Fatalf("%q cannot be written: %v", data, err)
		}
		again, err := Parse(once)
		if err != nil || !again.equal(&r) {
			t.Fatalf("%q was written as %q, which is %+v, %v", data, once, again, err)
		}
		if twice, err := again.Bytes(); err != nil || string(twice) != string(once) {
			t.Fatalf("%q is written as %q, then as %q, %v", data, once, twice, err)
		}
	})
}

func FuzzOpen(f *testing.F) {
	v := read(f)
	for _, c := range v.Registries {
		f.Add(c.Name)
	}
	for _, c := range v.BadRegistries {
		f.Add(c.Name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, err := Open(name)
		if (s == nil) == (err == nil) {
			t.Fatal(s, err)
		}
		if s, ok := s.(interface{ Close() }); ok {
			s.Close()
		}
	})
}
