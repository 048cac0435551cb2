package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxFaults is how many faults of a file are told.
const maxFaults = 20

// reader makes rules of a tree (policy.md 5.4). It gathers faults.
type reader struct {
	faults []Fault
	count  int
}

func (r *reader) fault(line int, path, format string, arguments ...any) {
	if r.count++; len(r.faults) < maxFaults {
		r.faults = append(r.faults, Fault{line, path, fmt.Sprintf(format, arguments...)})
	}
}

func (r *reader) wants(what string, n *node, path string) {
	r.fault(n.line, path, "want %s, found %s", what, n.found())
}

// field is one that a mapping may have.
type field struct {
	name     string
	required bool
	read     func(n *node, path string)
}

// mapping reads the fields of a mapping, then, if none has a fault, checks them together.
func (r *reader) mapping(n *node, path string, fields []field, checks ...check) {
	if n.kind != kindMapping {
		r.wants("a mapping", n, path)
		return
	}
	before := r.count
	for _, e := range n.entries {
		at := below(path, e.key)
		if i := slices.IndexFunc(fields, func(f field) bool { return f.name == e.key }); i >= 0 {
			fields[i].read(e.value, at)
		} else {
			r.fault(e.value.line, at, "unknown field")
		}
	}
	for _, f := range fields {
		if f.required && !n.has(f.name) {
			r.fault(n.line, below(path, f.name), "is missing")
		}
	}
	if r.count > before {
		return
	}
	for _, c := range checks {
		if c.wrong() {
			r.fault(n.line, path, "%s", c.told)
		}
	}
}

// check is one of fields together: told if it is wrong.
type check struct {
	told  string
	wrong func() bool
}

func (n *node) has(key string) bool {
	return slices.ContainsFunc(n.entries, func(e entry) bool { return e.key == key })
}

func (r *reader) whole(to *int64, least, most int64) func(*node, string) {
	return func(n *node, path string) {
		number, ok := n.whole()
		if !ok || number < least || number > most {
			r.wants(fmt.Sprintf("a whole number from %d to %d", least, most), n, path)
			return
		}
		*to = number
	}
}

// whole is the number of a node, if it is a whole one of at most 18 digits.
func (n *node) whole() (int64, bool) {
	if n.kind != kindNumber || len(strings.TrimPrefix(n.text, "-")) > 18 {
		return 0, false
	}
	number, err := strconv.ParseInt(n.text, 10, 64)
	return number, err == nil
}

func (r *reader) truth(to **bool) func(*node, string) {
	return func(n *node, path string) {
		if n.kind != kindTruth {
			r.wants("true or false", n, path)
			return
		}
		*to = &n.truth
	}
}

// duration reads one between two that are written as in a file.
func (r *reader) duration(to *time.Duration, least, most string) func(*node, string) {
	return func(n *node, path string) {
		if n.kind == kindText {
			lowest, _ := parseDuration(least)
			highest, _ := parseDuration(most)
			if d, ok := parseDuration(n.text); ok && lowest <= d && d <= highest {
				*to = d
				return
			}
		}
		r.wants("a duration from "+least+" to "+most, n, path)
	}
}

var units = map[string]int64{
	"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9,
}

// parseDuration reads a duration of at most 24 h (policy.md 2.7).
func parseDuration(text string) (time.Duration, bool) {
	whole := digits(text)
	number, rest := strings.TrimLeft(text[:whole], "0"), text[whole:]
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		end := 1 + digits(rest[1:])
		fraction, rest = rest[1:end], rest[end:]
		if fraction == "" || len(fraction) > 3 {
			return 0, false
		}
	}
	unit, known := units[rest]
	if whole == 0 || !known || len(number) > 15 {
		return 0, false
	}
	count, _ := strconv.ParseInt("0"+number, 10, 64)
	if count > int64(longest)/unit {
		return 0, false
	}
	// Both are in thousandths of the unit, so that they stay whole.
	thousandths, _ := strconv.ParseInt((fraction + "000")[:3], 10, 64)
	if thousandths*unit%1000 != 0 {
		return 0, false
	}
	return time.Duration(count*unit + thousandths*unit/1000), true
}

// word reads one of several words.
func (r *reader) word(words []string, take func(i int)) func(*node, string) {
	return func(n *node, path string) {
		i := slices.Index(words, n.text)
		if n.kind != kindText || i < 0 {
			last := len(words) - 1
			r.wants(strings.Join(words[:last], ", ")+" or "+words[last], n, path)
			return
		}
		take(i)
	}
}

// code reads a code other than OK and CANCELLED.
func (r *reader) code(to *Code) func(*node, string) {
	return func(n *node, path string) {
		i := slices.Index(codeNames[:], n.text)
		if n.kind != kindText || i <= int(Cancelled) {
			r.wants("a code other than OK and CANCELLED", n, path)
			return
		}
		*to = Code(i)
	}
}

func (r *reader) codes(to *Codes) func(*node, string) {
	return func(n *node, path string) {
		if n.kind != kindList {
			r.wants("a list of codes", n, path)
			return
		}
		if len(n.list) == 0 {
			r.fault(n.line, path, "want at least one code")
			return
		}
		var found Codes
		for i, element := range n.list {
			at, code := fmt.Sprintf("%s[%d]", path, i), OK
			r.code(&code)(element, at)
			if code != OK && found.Has(code) {
				r.fault(element.line, at, "%s comes twice", code)
			}
			if code != OK {
				found |= codesOf(code)
			}
		}
		*to = found
	}
}

// saidBy reads a group of a scope, or none.
func saidBy[G any](r *reader, to **Said[G], read func(n *node, path string) *G) func(*node, string) {
	return func(n *node, path string) {
		switch {
		case n.kind == kindText && n.text == "none":
			*to = &Said[G]{}
		case n.kind != kindMapping:
			r.wants("a mapping or none", n, path)
		default:
			*to = &Said[G]{read(n, path)}
		}
	}
}

// isName reports whether a text may name a service or a method.
func isName(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7F || text[i] == '/' {
			return false
		}
	}
	return text != "" && len(text) <= 255
}

// isWord reports whether a text has 1 to so many small letters, digits, and other characters.
func isWord(text string, most int, others string) bool {
	for i := range len(text) {
		if b := text[i]; (b < 'a' || b > 'z') && !isDigit(b) && strings.IndexByte(others, b) < 0 {
			return false
		}
	}
	return text != "" && len(text) <= most
}
