package policy

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"testing"
	"unicode/utf8"
)

// seeds are the files of the vectors.
func seeds(f *testing.F) {
	f.Helper()
	data, err := os.ReadFile("../../../spec/vectors/policy/files.json")
	if err != nil {
		f.Fatal(err)
	}
	var files struct{ Good, Bad []struct{ Text, Hex string } }
	if err := json.Unmarshal(data, &files); err != nil {
		f.Fatal(err)
	}
	for _, c := range append(files.Good, files.Bad...) {
		data, err := hex.DecodeString(c.Hex)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(data, c.Text...))
	}
}

// plainKey is the last key of a path: a fault stands in its line, which has it as it is unless it has escapes.
var plainKey = regexp.MustCompile(`(?:^|\.)([A-Za-z_][A-Za-z0-9_-]*)$`)

// FuzzParse reads any bytes: a file, or faults that say where.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err == nil {
			checkHolds(t, file)
			return
		}
		var bad *BadFile
		if !errors.As(err, &bad) || file != nil || len(bad.Faults) == 0 || len(bad.Faults) > maxFaults {
			t.Fatalf("%v and %v", file, err)
		}
		for _, fault := range bad.Faults {
			if fault.Line < 1 || fault.Line > 1+bytes.Count(data, []byte("\n")) {
				t.Errorf("there is no such line: %v", fault)
			} else if key := plainKey.FindStringSubmatch(fault.Path); key != nil && fault.What != "is missing" {
				line := bytes.Split(data, []byte("\n"))[fault.Line-1]
				if !bytes.Contains(line, []byte(key[1])) && !bytes.Contains(line, []byte(`\`)) {
					t.Errorf("%q is not what is at fault: %v", line, fault)
				}
			}
			// A path has as many keys as mappings may be deep, each told in at most 40 characters.
			if told := fault.String(); !utf8.ValidString(told) || len(told) > 6000 {
				t.Errorf("%d bytes: %.200q", len(told), told)
			}
		}
	})
}

// checkHolds looks at what holds in every scope: nothing that is at fault.
func checkHolds(t *testing.T, file *File) {
	t.Helper()
	names := [][2]string{{"any.Service", "Method"}}
	for _, s := range file.services {
		names = append(names, [2]string{s.name, "any Method"})
		for _, m := range s.methods {
			names = append(names, [2]string{s.name, m.name})
		}
	}
	for _, name := range names {
		p := file.For(name[0], name[1])
		if p.Timeout < 0 || p.Timeout > longest {
			t.Errorf("%v: the timeout is %v", name, p.Timeout)
		}
		if r := p.Retries; r != nil && (r.Backoff <= 0 || r.Backoff > r.MaxBackoff || r.Attempts < 1 || r.Codes == 0 || p.Hedging != nil) {
			t.Errorf("%v: %+v", name, *r)
		}
		if h := p.Hedging; h != nil && (!p.Idempotent || h.Delay <= 0 || h.Attempts < 2) {
			t.Errorf("%v: %+v", name, *h)
		}
		if r := p.Rate.Rules; r != nil && (r.PerSecond < 1 || r.Burst < 1 || p.Rate.Scope == "") {
			t.Errorf("%v: %+v", name, *r)
		}
	}
}
