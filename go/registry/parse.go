package registry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrNotJSON is found (errors.Is) in what Parse returns for bytes that are no JSON object.
var ErrNotJSON = errors.New("not a JSON object")

// Parse reads a record. The error says what is wrong with it, in the words of spec/registry.md 2.5. What it does not
// know it ignores.
func Parse(data []byte) (Record, error) {
	if len(data) > maxRecord {
		return Record{}, errSize(len(data))
	}
	r, fault, err := parse(data)
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	// Of a member that could not be taken over the place is empty, or, of those that may be, fault has it.
	if err := r.check(); err != nil && !before(fault, err) {
		return Record{}, err
	}
	if fault != nil {
		return Record{}, fault
	}
	return r, nil
}

// parseAt reads the record that stands under a key.
func parseAt(service, id string, data []byte) (Record, error) {
	r, err := Parse(data)
	switch {
	case err != nil:
	case r.Service != service:
		err = fmt.Errorf("service: want %s, as its key says", service)
	case r.ID != id:
		err = fmt.Errorf("id: want %s, as its key says", id)
	}
	return r, err
}

// order is that in which faults are told; one of a single address comes first.
var order = []error{errAddresses, errAttributes, errID, errServerName, errService, errVersion, errWeight, errZone}

// before reports whether fault, if there is one, is told rather than another.
func before(fault, other error) bool {
	return fault != nil && slices.Index(order, fault) < slices.Index(order, other)
}

// reader takes a record from JSON.
type reader struct {
	*jsontext.Decoder
	record Record
	fault  error // the first member, in the order of the table, that could not be taken over
}

// parse returns the members that could be taken over, the first fault of the others, and what is wrong with the JSON.
func parse(data []byte) (Record, error, error) {
	r := reader{Decoder: jsontext.NewDecoder(bytes.NewReader(data))}
	if err := r.object(); err != nil {
		return Record{}, nil, err
	}
	switch _, err := r.ReadToken(); {
	case err == nil:
		return Record{}, nil, errors.New("something stands behind it")
	case !errors.Is(err, io.EOF):
		return Record{}, nil, err
	}
	return r.record, r.fault, nil
}

func (r *reader) object() error {
	start, err := r.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("nothing is there")
	case err != nil:
		return err
	case start.Kind() != '{':
		return fmt.Errorf("%s begins it", start.Kind())
	}
	for r.PeekKind() != '}' {
		name, err := r.ReadToken()
		if err != nil {
			return err
		}
		if err := r.member(name.String()); err != nil {
			return err
		}
	}
	_, err = r.ReadToken()
	return err
}

// member takes over a member. The error is one of the JSON.
func (r *reader) member(name string) error {
	switch name {
	case "addresses":
		return r.addresses()
	case "attributes":
		return r.attributes()
	case "id":
		return r.text(&r.record.ID, errID)
	case "server_name":
		return r.text(&r.record.ServerName, errServerName)
	case "service":
		return r.text(&r.record.Service, errService)
	case "version":
		return r.text(&r.record.Version, errVersion)
	case "weight":
		return r.weight()
	case "zone":
		return r.text(&r.record.Zone, errZone)
	}
	return r.skip()
}

func (r *reader) refuse(fault error) {
	if r.fault == nil || before(fault, r.fault) {
		r.fault = fault
	}
}

// skip reads a value of any kind.
func (r *reader) skip() error {
	depth := r.StackDepth()
	for {
		if _, err := r.ReadToken(); err != nil {
			return err
		}
		switch now := r.StackDepth(); {
		case now > maxDepth:
			return fmt.Errorf("more than %d levels", maxDepth)
		case now == depth:
			return nil
		}
	}
}

func (r *reader) text(to *string, fault error) error {
	if r.PeekKind() != '"' {
		r.refuse(fault)
		return r.skip()
	}
	token, err := r.ReadToken()
	if err == nil {
		*to = token.String()
	}
	return err
}

func (r *reader) weight() error {
	if r.PeekKind() != '0' {
		r.refuse(errWeight)
		return r.skip()
	}
	token, err := r.ReadToken()
	if err != nil {
		return err
	}
	n, fault := strconv.ParseUint(token.String(), 10, 32)
	if fault != nil || n == 0 || n > maxWeight {
		r.refuse(errWeight)
	} else if n > 1 {
		r.record.Weight = int(n)
	}
	return nil
}

func (r *reader) addresses() error {
	if r.PeekKind() != '[' {
		r.refuse(errAddresses)
		return r.skip()
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	for r.PeekKind() != ']' {
		var address string
		if err := r.text(&address, errAddresses); err != nil {
			return err
		}
		r.record.Addresses = append(r.record.Addresses, address)
	}
	_, err := r.ReadToken()
	return err
}

func (r *reader) attributes() error {
	if r.PeekKind() != '{' {
		r.refuse(errAttributes)
		return r.skip()
	}
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	for r.PeekKind() != '}' {
		name, err := r.ReadToken()
		if err != nil {
			return err
		}
		key, value := name.String(), ""
		if err := r.text(&value, errAttributes); err != nil {
			return err
		}
		if r.record.Attributes == nil {
			r.record.Attributes = map[string]string{}
		}
		r.record.Attributes[key] = value
	}
	_, err := r.ReadToken()
	return err
}
