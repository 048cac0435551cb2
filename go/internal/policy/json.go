package policy

import "strings"

// jsonReader reads a file in JSON (policy.md 2.4).
type jsonReader struct {
	text   string
	at     int
	line   int
	nested int
}

func readJSON(text string) *node {
	r := &jsonReader{text: text, line: 1}
	root := r.value()
	root.line = 1
	if r.peek() != 0 {
		fail(r.line, "want the end, found %s", r.found())
	}
	return root
}

// peek passes over blanks and gives what follows; 0 at the end, since the file has no such character.
func (r *jsonReader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case '\n':
			r.line++
		case ' ', '\t':
		default:
			return c
		}
	}
	return 0
}

// found tells the character that follows.
func (r *jsonReader) found() string {
	for _, c := range r.text[r.at:] {
		return quoted(string(c))
	}
	return "the end"
}

func (r *jsonReader) value() *node {
	switch r.peek() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		n := &node{kind: kindText, line: r.line}
		n.text, r.at = unquote(r.text, r.at+1, r.line)
		return n
	}
	end := r.at
	for end < len(r.text) && (isLetter(r.text[end]) || isDigit(r.text[end]) || strings.IndexByte("+-.", r.text[end]) >= 0) {
		end++
	}
	word := r.text[r.at:end]
	if word == "" {
		fail(r.line, "want a value, found %s", r.found())
	}
	n := scalar(word, r.line)
	if n == nil {
		fail(r.line, "want a value, found %s", quoted(word))
	}
	r.at = end
	return n
}

func (r *jsonReader) enter() {
	if r.nested++; r.nested > maxNested {
		fail(r.line, "nested more than %d deep", maxNested)
	}
	r.at++
}

func (r *jsonReader) object() *node {
	n := &node{kind: kindMapping, line: r.line}
	r.enter()
	keys := map[string]bool{}
	if r.peek() != '}' {
		for {
			if r.peek() != '"' {
				fail(r.line, "want a key, found %s", r.found())
			}
			line := r.line
			var key string
			key, r.at = unquote(r.text, r.at+1, line)
			if keys[key] {
				fail(line, "the key %s comes twice", quoted(key))
			}
			keys[key] = true
			if r.peek() != ':' {
				fail(r.line, `want ":", found %s`, r.found())
			}
			r.at++
			value := r.value()
			value.line = line
			n.entries = append(n.entries, entry{key, value})
			if !r.more('}') {
				break
			}
		}
	}
	r.at++
	r.nested--
	return n
}

func (r *jsonReader) array() *node {
	n := &node{kind: kindList, line: r.line}
	r.enter()
	if r.peek() != ']' {
		for {
			n.list = append(n.list, r.value())
			if !r.more(']') {
				break
			}
		}
	}
	r.at++
	r.nested--
	return n
}

// more reports whether an element follows, or the end does.
func (r *jsonReader) more(end byte) bool {
	switch r.peek() {
	case ',':
		r.at++
		return true
	case end:
		return false
	}
	fail(r.line, `want "," or "%c", found %s`, end, r.found())
	return false
}
