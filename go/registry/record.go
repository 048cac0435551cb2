package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trunkcall/trunkcall/go"
)

// Bounds of a record (spec/registry.md 2.1).
const (
	maxRecord     = 16_384
	maxDepth      = 32
	maxAddresses  = 16
	maxAddress    = 255
	maxAttributes = 64
	maxKey        = 128
	maxValue      = 1024
	maxServerName = 253
	maxService    = 200
	maxID         = 128
	maxText       = 128
	maxWeight     = 1_000_000
)

const versionAttribute = "version" // of an endpoint

// Record is what a registry holds of one instance of a server for one service (spec/registry.md 2). Sizes are in
// bytes of UTF-8, and no text has control characters.
type Record struct {
	// Service is the name under which instances are found: at most 200 letters and digits of ASCII, ".", "_" and "-",
	// beginning with a letter, a digit or "_".
	Service string
	// ID is which instance this is: such a name, of at most 128.
	ID string
	// Addresses lead to the instance: 1 to 16, as of a trunkcall.Endpoint.
	Addresses []string
	// ServerName is the name that its certificate must show, by default the host of the dialled address.
	ServerName string
	// Weight is its part of the calls relative to others, 0 to 1,000,000; 0 says the same as 1.
	Weight int
	// Zone is where it runs, Version is of the program that serves: at most 128 bytes each.
	Zone, Version string
	// Attributes are for users' balancers and dialers: at most 64 of 1,024 bytes, with names of 1 to 128.
	Attributes map[string]string
}

// Key is where the record stands in a registry: Service and ID.
func (r *Record) Key() string { return r.Service + "/" + r.ID }

// Endpoint is what a client makes of the record. Version is the attribute "version", unless there is one.
func (r *Record) Endpoint() trunkcall.Endpoint {
	attributes := r.Attributes
	if _, ok := attributes[versionAttribute]; !ok && r.Version != "" {
		attributes = maps.Clone(attributes)
		if attributes == nil {
			attributes = map[string]string{}
		}
		attributes[versionAttribute] = r.Version
	}
	return trunkcall.Endpoint{
		ID: r.ID, Addresses: r.Addresses, ServerName: r.ServerName, Weight: r.Weight, Zone: r.Zone,
		Attributes: attributes,
	}
}

// equal reports whether two records say the same.
func (r *Record) equal(o *Record) bool {
	return r.Service == o.Service && r.ID == o.ID && slices.Equal(r.Addresses, o.Addresses) &&
		r.ServerName == o.ServerName && r.Weight == o.Weight && r.Zone == o.Zone && r.Version == o.Version &&
		maps.Equal(r.Attributes, o.Attributes)
}

// Faults of members, in the words of spec/registry.md 2.5.
var (
	errAddresses  = errors.New("addresses: want 1 to 16 addresses of at most 255 bytes")
	errAttributes = errors.New("attributes: want at most 64 texts of at most 1024 bytes with names of 1 to 128 bytes, without control characters")
	errID         = errors.New(`id: want a name of 1 to 128 letters, digits, ".", "_" or "-"`)
	errServerName = errors.New("server_name: want a text of at most 253 bytes without control characters")
	errService    = errors.New(`service: want a name of 1 to 200 letters, digits, ".", "_" or "-"`)
	errVersion    = errors.New("version: want a text of at most 128 bytes without control characters")
	errWeight     = errors.New("weight: want a whole number from 1 to 1000000")
	errZone       = errors.New("zone: want a text of at most 128 bytes without control characters")
)

func errSize(n int) error { return fmt.Errorf("record of %d bytes, at most %d", n, maxRecord) }

// check says what is wrong with a record, nil if nothing is, in the order of spec/registry.md 2.1.
func (r *Record) check() error {
	if err := checkAddresses(r.Addresses); err != nil {
		return err
	}
	if len(r.Attributes) > maxAttributes {
		return errAttributes
	}
	for name, text := range r.Attributes {
		if name == "" || !isText(name, maxKey) || !isText(text, maxValue) {
			return errAttributes
		}
	}
	switch {
	case !isName(r.ID, maxID):
		return errID
	case !isText(r.ServerName, maxServerName):
		return errServerName
	case !isName(r.Service, maxService):
		return errService
	case !isText(r.Version, maxText):
		return errVersion
	case r.Weight < 0 || r.Weight > maxWeight:
		return errWeight
	case !isText(r.Zone, maxText):
		return errZone
	}
	return nil
}

func checkAddresses(addresses []string) error {
	if len(addresses) == 0 || len(addresses) > maxAddresses {
		return errAddresses
	}
	for _, address := range addresses {
		if address == "" || !isText(address, maxAddress) {
			return errAddresses
		}
	}
	for i, address := range addresses {
		if err := trunkcall.CheckAddress(address); err != nil {
			return fmt.Errorf("addresses[%d]: want an address, not \"%s\": %w", i, address, err)
		}
	}
	return nil
}

// isName is spec/registry.md 2.2.
func isName(text string, most int) bool {
	if text == "" || len(text) > most {
		return false
	}
	for i := range len(text) {
		if !inName(text[i]) || i == 0 && (text[i] == '.' || text[i] == '-') {
			return false
		}
	}
	return true
}

func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// isText reports whether a text has at most so many bytes, and no control character.
func isText(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) && strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c == 0x7F }) < 0
}

// Bytes is the record as it is written, the same in every language and registry (spec/registry.md 2.4). The error says
// what is wrong with it.
func (r *Record) Bytes() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	b := appendTexts([]byte(`{"addresses":`), r.Addresses)
	if len(r.Attributes) > 0 {
		b = append(b, `,"attributes":`...)
		before := byte('{')
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			b = append(appendText(append(b, before), name), ':')
			b = appendText(b, r.Attributes[name])
			before = ','
		}
		b = append(b, '}')
	}
	b = appendMember(b, "id", r.ID)
	b = appendMember(b, "server_name", r.ServerName)
	b = appendMember(b, "service", r.Service)
	b = appendMember(b, "version", r.Version)
	if r.Weight > 1 {
		b = strconv.AppendInt(append(b, `,"weight":`...), int64(r.Weight), 10)
	}
	b = append(appendMember(b, "zone", r.Zone), '}')
	if len(b) > maxRecord {
		return nil, errSize(len(b))
	}
	return b, nil
}

func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	b = append(append(b, `,"`...), name...)
	return appendText(append(b, `":`...), text)
}

func appendTexts(b []byte, texts []string) []byte {
	before := byte('[')
	for _, text := range texts {
		b = appendText(append(b, before), text)
		before = ','
	}
	return append(b, ']')
}

func appendText(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return append(b, '"')
}
