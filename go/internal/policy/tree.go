package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a file (policy.md 2).
const (
	MaxFile   = 1 << 20
	maxNested = 16
)

// kind is what a node of a file is (policy.md 2.2).
type kind int

const (
	kindMapping kind = iota
	kindList
	kindText
	kindNumber
	kindTruth
	kindNothing
)

// node is one value of a file. JSON and YAML give the same.
type node struct {
	kind    kind
	line    int
	text    string // of a text; of a number as it stands in the file
	truth   bool
	entries []entry // of a mapping, in order
	list    []*node
}

type entry struct {
	key   string
	value *node // its line is that of the key
}

// Fault is what is wrong with a file (policy.md 5).
type Fault struct {
	Line int    // from 1
	Path string // empty if the file has no tree
	What string
}

func (f Fault) String() string {
	if f.Path == "" {
		return fmt.Sprintf("line %d: %s", f.Line, f.What)
	}
	return fmt.Sprintf("line %d: %s: %s", f.Line, f.Path, f.What)
}

// BadFile is why a file is not taken: at least one fault.
type BadFile struct{ Faults []Fault }

func (r *BadFile) Error() string {
	told := make([]string, len(r.Faults))
	for i, f := range r.Faults {
		told[i] = f.String()
	}
	return strings.Join(told, "\n")
}

// badForm is thrown by the readers of the forms and caught in read.
type badForm struct{ Fault }

func fail(line int, format string, arguments ...any) {
	panic(badForm{Fault{Line: line, What: fmt.Sprintf(format, arguments...)}})
}

// read makes a tree of a file.
func read(data []byte) (root *node, refused *BadFile) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case badForm:
			root, refused = nil, &BadFile{[]Fault{thrown.Fault}}
		default:
			panic(thrown)
		}
	}()
	text := lookOver(data)
	first := strings.TrimLeft(text, " \t\n")
	switch {
	case first == "":
		fail(1, "the file is empty")
	case first[0] == '{':
		return readJSON(text), nil
	case first[0] == '[':
		fail(1, "want a mapping, found a list")
	}
	return readYAML(text), nil
}

// lookOver checks the characters of a file and drops what means nothing.
func lookOver(data []byte) string {
	if len(data) > MaxFile {
		fail(1, "the file has more than %d bytes", MaxFile)
	}
	text := string(data)
	line := 1
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				fail(line, "not UTF-8")
			}
		} else if r == '\n' {
			line++
		}
	}
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	line = 1
	for i := range len(text) {
		switch b := text[i]; {
		case b == '\n':
			line++
		case b < ' ' && b != '\t', b == 0x7F:
			fail(line, "a control character")
		}
	}
	return text
}

// found tells a node in a message.
func (n *node) found() string {
	switch n.kind {
	case kindMapping:
		return "a mapping"
	case kindList:
		return "a list"
	case kindText:
		return quoted(n.text)
	case kindNumber:
		return cut(n.text)
	case kindTruth:
		return fmt.Sprint(n.truth)
	}
	return "nothing"
}

// maxTold is how many characters of what stands in a file are told.
const maxTold = 40

func cut(text string) string {
	count := 0
	for i := range text {
		if count == maxTold {
			return text[:i] + "…"
		}
		count++
	}
	return text
}

func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range cut(text) {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ', r == 0x7F, r == 0xFEFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// below is the path of a key in a mapping (policy.md 5.2).
func below(path, key string) string {
	if !isPlainKey(key) {
		key = quoted(key)
	} else {
		key = cut(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func isPlainKey(key string) bool {
	for i := range len(key) {
		if b := key[i]; !isLetter(b) && b != '_' && (i == 0 || b != '-' && !isDigit(b)) {
			return false
		}
	}
	return key != ""
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// scalar is the node of a word: a truth, nothing, a number; nil if it is neither.
func scalar(word string, line int) *node {
	switch word {
	case "true", "false":
		return &node{kind: kindTruth, truth: word == "true", line: line}
	case "null":
		return &node{kind: kindNothing, line: line}
	}
	if isNumber(word) {
		return &node{kind: kindNumber, text: word, line: line}
	}
	return nil
}

// isNumber reports whether a word is a number of JSON.
func isNumber(word string) bool {
	word = strings.TrimPrefix(word, "-")
	whole := digits(word)
	if whole == 0 || whole > 1 && word[0] == '0' {
		return false
	}
	word = word[whole:]
	if strings.HasPrefix(word, ".") {
		fraction := digits(word[1:])
		if fraction == 0 {
			return false
		}
		word = word[1+fraction:]
	}
	if word != "" && (word[0] == 'e' || word[0] == 'E') {
		word = word[1:]
		if word != "" && (word[0] == '+' || word[0] == '-') {
			word = word[1:]
		}
		return word != "" && digits(word) == len(word)
	}
	return word == ""
}

// digits is how many digits a text begins with.
func digits(text string) int {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return i
		}
	}
	return len(text)
}

// unquote reads a text in quotation marks with the escapes of JSON, from behind its first
// mark, and gives where it ends.
func unquote(text string, at, line int) (read string, end int) {
	var b strings.Builder
	for {
		if at >= len(text) || text[at] == '\n' {
			fail(line, "a text is not closed")
		}
		switch c := text[at]; c {
		case '"':
			return b.String(), at + 1
		case '\\':
			var r rune
			r, at = escaped(text, at+1, line)
			b.WriteRune(r)
		default:
			b.WriteByte(c)
			at++
		}
	}
}

const escapes = `"\/bfnrt`

const escapeMeanings = "\"\\/\b\f\n\r\t"

// escaped reads an escape from behind its backslash.
func escaped(text string, at, line int) (r rune, end int) {
	if at >= len(text) || text[at] == '\n' {
		fail(line, "a text is not closed")
	}
	if i := strings.IndexByte(escapes, text[at]); i >= 0 {
		return rune(escapeMeanings[i]), at + 1
	}
	if text[at] != 'u' {
		fail(line, "an unknown escape")
	}
	r = unit(text, at+1, line)
	at += 5
	switch {
	case 0xDC00 <= r && r < 0xE000:
		fail(line, "half a surrogate pair")
	case 0xD800 <= r && r < 0xDC00:
		if !strings.HasPrefix(text[at:], `\u`) {
			fail(line, "half a surrogate pair")
		}
		low := unit(text, at+2, line)
		if low < 0xDC00 || low >= 0xE000 {
			fail(line, "half a surrogate pair")
		}
		return 0x10000 + (r-0xD800)<<10 + low - 0xDC00, at + 6
	}
	return r, at
}

// unit reads the four digits of an escape.
func unit(text string, at, line int) rune {
	var r rune
	for i := at; i < at+4; i++ {
		digit := -1
		if i < len(text) {
			digit = strings.IndexByte("0123456789abcdef", text[i]|0x20)
		}
		if digit < 0 || text[i] < '0' {
			fail(line, "an unknown escape")
		}
		r = r<<4 | rune(digit)
	}
	return r
}
