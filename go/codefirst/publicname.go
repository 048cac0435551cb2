package codefirst

import (
	"fmt"
	"strings"
)

// publicName is the lowerCamelCase of a member's name, as code-first.md 2.2
// says: words end at underscores and where capitals begin or a run of them
// ends, whatever the casing of acronyms.
func publicName(member string) string {
	var b strings.Builder
	wordBegins := false
	for i := 0; i < len(member); i++ {
		c := member[i]
		if c == '_' {
			wordBegins = true
			continue
		}
		wordBegins = wordBegins || capital(c) && i > 0 && capitalBeginsWord(member, i)
		switch {
		case b.Len() == 0:
			c = toSmall(c)
		case wordBegins:
			c = toCapital(c)
		default:
			c = toSmall(c)
		}
		wordBegins = false
		b.WriteByte(c)
	}
	return b.String()
}

// capitalBeginsWord reports whether the capital at i begins a word: the character before it is no
// capital, or the one behind it is small. i is not the first.
func capitalBeginsWord(s string, i int) bool {
	return !capital(s[i-1]) || i+1 < len(s) && small(s[i+1])
}

func capital(c byte) bool { return 'A' <= c && c <= 'Z' }

// small holds for every character but capitals, digits and underscores.
func small(c byte) bool { return !capital(c) && c != '_' && (c < '0' || c > '9') }

func toSmall(c byte) byte {
	if capital(c) {
		return c + 'a' - 'A'
	}
	return c
}

func toCapital(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// checkPublicName is for the parts of a method's name that a user gives.
func checkPublicName(what, name string) error {
	if name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%s %q: want a name without a slash", what, name)
	}
	return nil
}
