package policy

import "strings"

// yamlReader reads a file in the part of YAML that policy.md 2.5 tells. It stands at a line with
// something in it, or behind the last.
type yamlReader struct {
	lines  []string
	next   int // of the lines, the one that it stands at
	indent int
	text   string // of that line, without its indentation
	over   bool   // it stands at "...", or behind the last line
	nested int
}

func readYAML(text string) *node {
	r := &yamlReader{lines: strings.Split(text, "\n"), next: -1}
	r.advance()
	if r.isMarker("---") {
		r.advance()
	}
	root := &node{kind: kindMapping}
	if !r.over {
		root = r.block(r.indent, false)
		if !r.over {
			fail(r.line(), "wrong indentation")
		}
	}
	root.line = 1
	if r.next == len(r.lines) {
		fail(len(r.lines), `the file ends without "..." and may be half written`)
	}
	for r.next++; r.next < len(r.lines); r.next++ {
		if rest := strings.TrimLeft(r.lines[r.next], " \t"); rest != "" && rest[0] != '#' {
			fail(r.line(), `something behind "..."`)
		}
	}
	return root
}

func (r *yamlReader) line() int { return r.next + 1 }

// advance goes to the next line with something in it.
func (r *yamlReader) advance() {
	for r.next++; r.next < len(r.lines); r.next++ {
		text := r.lines[r.next]
		rest := strings.TrimLeft(text, " \t")
		if rest == "" || rest[0] == '#' {
			continue
		}
		r.indent = len(text) - len(rest)
		if strings.Contains(text[:r.indent], "\t") {
			fail(r.line(), "a tab in the indentation")
		}
		r.text = rest
		r.over = r.isMarker("...")
		return
	}
	r.over = true
}

// isMarker reports whether the line is that marker and nothing else.
func (r *yamlReader) isMarker(marker string) bool {
	return r.next < len(r.lines) && r.indent == 0 && strings.HasPrefix(r.text, marker) && r.ends(len(marker))
}

// ends reports whether the line has nothing more than a comment from there on.
func (r *yamlReader) ends(at int) bool {
	rest := strings.TrimLeft(r.text[at:], " \t")
	return rest == "" || rest[0] == '#' && len(rest) < len(r.text)-at
}

// skip passes over blanks.
func (r *yamlReader) skip(at int) int {
	for at < len(r.text) && isBlank(r.text[at]) {
		at++
	}
	return at
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// isElement reports whether the line is of a list.
func (r *yamlReader) isElement() bool { return begins(r.text, '-') }

// begins reports whether a text is this character, or begins with it and a blank.
func begins(text string, c byte) bool {
	return text != "" && text[0] == c && (len(text) == 1 || isBlank(text[1]))
}

func (r *yamlReader) enter() {
	if r.nested++; r.nested > maxNested {
		fail(r.line(), "nested more than %d deep", maxNested)
	}
}

// block reads a mapping or list whose lines are indented so. A flat list is indented as the mapping
// that it stands in.
func (r *yamlReader) block(indent int, flat bool) *node {
	r.enter()
	defer func() { r.nested-- }()
	if r.isElement() {
		return r.listBlock(indent, flat)
	}
	return r.mappingBlock(indent)
}

func (r *yamlReader) listBlock(indent int, flat bool) *node {
	n := &node{kind: kindList, line: r.line()}
	for !r.over && r.indent >= indent {
		switch {
		case r.indent > indent:
			fail(r.line(), "wrong indentation")
		case !r.isElement() && flat:
			return n
		case !r.isElement():
			fail(r.line(), "a list and a mapping in one place")
		}
		if r.ends(1) {
			n.list = append(n.list, &node{kind: kindNothing, line: r.line()})
		} else {
			at := r.skip(1)
			if r.text[at] == '[' {
				fail(r.line(), "lists in lists are not read here")
			}
			n.list = append(n.list, r.inline(at))
		}
		r.advance()
	}
	return n
}

func (r *yamlReader) mappingBlock(indent int) *node {
	n := &node{kind: kindMapping, line: r.line()}
	keys := map[string]bool{}
	for !r.over && r.indent >= indent {
		switch {
		case r.indent > indent:
			fail(r.line(), "wrong indentation")
		case r.isElement():
			fail(r.line(), "a list and a mapping in one place")
		}
		line := r.line()
		key, at := r.key()
		if keys[key] {
			fail(line, "the key %s comes twice", quoted(key))
		}
		keys[key] = true
		value := &node{kind: kindNothing}
		if !r.ends(at) {
			value = r.inline(r.skip(at))
			r.advance()
		} else {
			r.advance()
			if !r.over && (r.indent > indent || r.indent == indent && r.isElement()) {
				value = r.block(r.indent, r.indent == indent)
			}
		}
		value.line = line
		n.entries = append(n.entries, entry{key, value})
	}
	return n
}

// key reads the key of a line, and gives where its value begins.
func (r *yamlReader) key() (key string, end int) {
	switch c := r.text[0]; {
	case c == '"':
		key, end = unquote(r.text, 1, r.line())
		end = r.skip(end)
	case c == '\'':
		key, end = r.apostrophes(1)
		end = r.skip(end)
	case c == '[':
		fail(r.line(), "lists as keys are not read here")
	default:
		r.allowed(r.text)
		end = r.colon(r.text)
		if end < 0 {
			fail(r.line(), `want "key: value"`)
		}
		key = strings.TrimRight(r.text[:end], " \t")
	}
	if end >= len(r.text) || r.text[end] != ':' || end+1 < len(r.text) && !isBlank(r.text[end+1]) {
		fail(r.line(), `want "key: value"`)
	}
	return key, end + 1
}

// colon is where a plain text has a colon before a blank or at its end; -1 if it has none before a comment.
func (r *yamlReader) colon(text string) int {
	for i := range len(text) {
		switch {
		case text[i] == ':' && (i+1 == len(text) || isBlank(text[i+1])):
			return i
		case text[i] == '#' && i > 0 && isBlank(text[i-1]):
			return -1
		}
	}
	return -1
}

// allowed fails where no plain text may begin so.
func (r *yamlReader) allowed(text string) {
	notRead := ""
	switch text[0] {
	case '&':
		notRead = "anchors"
	case '*':
		notRead = "aliases"
	case '!':
		notRead = "tags"
	case '|', '>':
		notRead = "blocks of text"
	case '{':
		notRead = "mappings in braces"
	}
	if notRead != "" {
		fail(r.line(), "%s are not read here", notRead)
	}
	if strings.IndexByte(",]}%@`#", text[0]) >= 0 || begins(text, '-') || begins(text, '?') || begins(text, ':') {
		fail(r.line(), "want a value, found %s", quoted(text[:1]))
	}
}

// inline reads a value that stands behind its key, or in a list, to the end of the line.
func (r *yamlReader) inline(at int) *node {
	var n *node
	line := r.line()
	switch c := r.text[at]; {
	case c == '"':
		n = &node{kind: kindText, line: line}
		n.text, at = unquote(r.text, at+1, line)
	case c == '\'':
		n = &node{kind: kindText, line: line}
		n.text, at = r.apostrophes(at + 1)
	case c == '[':
		n, at = r.brackets(at + 1)
	case c == '{' && strings.HasPrefix(r.text[r.skip(at+1):], "}"):
		r.enter()
		r.nested--
		n, at = &node{kind: kindMapping, line: line}, r.skip(at+1)+1
	default:
		return r.plain(r.untilComment(r.text[at:]))
	}
	if !r.ends(at) {
		fail(line, "something behind a value")
	}
	return n
}

// untilComment is the part of a text before a comment and the blanks before that.
func (r *yamlReader) untilComment(text string) string {
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && isBlank(text[i-1]) {
			text = text[:i]
		}
	}
	return strings.TrimRight(text, " \t")
}

func (r *yamlReader) plain(text string) *node {
	r.allowed(text)
	if r.colon(text) >= 0 {
		fail(r.line(), `a ":" in a plain text wants quotation marks`)
	}
	if text == "~" {
		text = "null"
	}
	if n := scalar(text, r.line()); n != nil {
		return n
	}
	return &node{kind: kindText, text: text, line: r.line()}
}

// apostrophes reads a text from behind its first apostrophe.
func (r *yamlReader) apostrophes(at int) (read string, end int) {
	var b strings.Builder
	for ; at < len(r.text); at++ {
		if r.text[at] == '\'' {
			if at++; at >= len(r.text) || r.text[at] != '\'' {
				return b.String(), at
			}
		}
		b.WriteByte(r.text[at])
	}
	fail(r.line(), "a text is not closed")
	return "", 0
}

// brackets reads a list from behind its bracket.
func (r *yamlReader) brackets(at int) (n *node, end int) {
	r.enter()
	r.nested--
	n = &node{kind: kindList, line: r.line()}
	for {
		at = r.within(at)
		if r.text[at] == ']' && n.list == nil {
			return n, at + 1
		}
		var element *node
		element, at = r.element(at)
		n.list = append(n.list, element)
		at = r.within(at)
		switch r.text[at] {
		case ',':
			at++
		case ']':
			return n, at + 1
		default:
			fail(r.line(), "something behind a value")
		}
	}
}

// within passes over blanks in brackets, which do not end in this line if nothing follows.
func (r *yamlReader) within(at int) int {
	if r.ends(at) {
		fail(r.line(), "a list is not closed")
	}
	return r.skip(at)
}

// element reads an element of a list in brackets.
func (r *yamlReader) element(at int) (n *node, end int) {
	switch r.text[at] {
	case '"':
		n = &node{kind: kindText, line: r.line()}
		n.text, end = unquote(r.text, at+1, r.line())
		return n, end
	case '\'':
		n = &node{kind: kindText, line: r.line()}
		n.text, end = r.apostrophes(at + 1)
		return n, end
	case '[':
		fail(r.line(), "lists in lists are not read here")
	}
	r.allowed(r.text[at:])
	text := r.text[at:]
	if i := strings.IndexAny(text, ",[]{}"); i >= 0 {
		text = text[:i]
	}
	text = r.untilComment(text)
	return r.plain(text), at + len(text)
}
