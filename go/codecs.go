package trunkcall

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// builtinCodecs are accepted without being asked for. One that the user gives
// takes the place of the one with its number.
var builtinCodecs = []Codec{
	Protobuf,
	Raw,
	ProtoJSON,
	messagePack{},
}

// What codec numbers mean (spec/protocol.md, section 3.8).
const (
	firstReservedCodec = 5
	// firstNamedCodec is the least number of a user's own codec: both sides give it
	// the same name.
	firstNamedCodec = 8
	codecNumbers    = 16
	maxCodecName    = 255 // bytes
)

// codecTable is what one side encodes and decodes, by number.
type codecTable [codecNumbers]Codec

// newCodecTable joins the built-in codecs with those that the user gave. Of two
// with one number and name, the later counts.
func newCodecTable(given []Codec) (t codecTable, err error) {
	for _, c := range builtinCodecs {
		t[c.Number()] = c
	}
	var taken codecTable
	for _, c := range given {
		if err := checkCodec(c); err != nil {
			return t, err
		}
		n := c.Number()
		if other := taken[n]; other != nil && other.Name() != c.Name() {
			return t, fmt.Errorf("trunkcall: the codecs %q and %q both have number %d", other.Name(), c.Name(), n)
		}
		taken[n], t[n] = c, c
	}
	return t, nil
}

// checkCodec tells what is wrong with a codec in itself.
func checkCodec(c Codec) error {
	if c == nil {
		return fmt.Errorf("trunkcall: a codec is nil")
	}
	switch n, name := c.Number(), c.Name(); {
	case n >= codecNumbers:
		return fmt.Errorf("trunkcall: the codec %q has number %d: want %d to %d for one's own", name, n, firstNamedCodec, codecNumbers-1)
	case n >= firstReservedCodec && n < firstNamedCodec:
		return fmt.Errorf("trunkcall: the codec %q has number %d, which is reserved: want %d to %d for one's own", name, n, firstNamedCodec, codecNumbers-1)
	case n >= firstNamedCodec && (name == "" || len(name) > maxCodecName || !utf8.ValidString(name)):
		return fmt.Errorf("trunkcall: the codec with number %d has the name %q: want 1 to %d bytes of text", n, name, maxCodecName)
	}
	return nil
}

// names is what the settings say of one's own codecs.
func (t *codecTable) names() map[uint8]string {
	var names map[uint8]string
	for n, c := range t[firstNamedCodec:] {
		if c != nil {
			if names == nil {
				names = map[uint8]string{}
			}
			names[uint8(firstNamedCodec+n)] = c.Name()
		}
	}
	return names
}

// String lists the codecs for people: "0 (raw), 1 (protobuf)".
func (t *codecTable) String() string {
	var all []string
	for n, c := range t {
		if c != nil {
			all = append(all, fmt.Sprintf("%d (%s)", n, c.Name()))
		}
	}
	return strings.Join(all, ", ")
}

// of returns the codec of a call that a peer opens, nil with a refusal that
// names those known.
func (t *codecTable) of(in *wire.Incoming) (Codec, *wire.Refusal) {
	codec := t[in.Codec&(codecNumbers-1)]
	if codec == nil {
		return nil, &wire.Refusal{Code: Unimplemented, Message: fmt.Sprintf("codec %d is not known here, only %v", in.Codec, t)}
	}
	return codec, nil
}

// named returns the codec of a call that came over HTTP, by its number, or by
// its name if it has none there; nil with a refusal that names those known.
func (t *codecTable) named(number uint8, name string) (Codec, *wire.Refusal) {
	if int(number) < len(t) {
		if codec := t[number]; codec != nil {
			return codec, nil
		}
	}
	for _, codec := range t {
		if codec != nil && codec.Name() == name {
			return codec, nil
		}
	}
	return nil, &wire.Refusal{Code: Unimplemented, Codec: true, Message: fmt.Sprintf("codec %q is not known here, only %v", name, t)}
}

// codecOf returns the codec of one call, or why it cannot be used.
func (c *common) codecOf(o *callOptions) (Codec, error) {
	if o.codec == nil && o.choose == nil && !o.send.said {
		return c.codec, nil
	}
	return c.chosen(o)
}

func (c *common) chosen(o *callOptions) (Codec, error) {
	if err := o.send.check(); err != nil {
		return nil, notSent(Errorf(InvalidArgument, "%v", err))
	}
	codec := o.codec
	switch {
	case codec == nil && o.choose == nil:
		return c.codec, nil
	case codec == nil:
		codec = o.choose(c.codec)
	}
	if err := checkCodec(codec); err != nil {
		return nil, notSent(Errorf(InvalidArgument, "%v", err))
	}
	n := codec.Number()
	if known := c.codecs[n]; n >= firstNamedCodec && (known == nil || known.Name() != codec.Name()) {
		return nil, notSent(Errorf(Unimplemented,
			"the codec %d (%s) was not announced to the server, only %v: give it to WithCodecs", n, codec.Name(), &c.codecs))
	}
	return codec, nil
}

// unknownToPeer is the failure of a call in one's own codec on a connection
// whose peer has said that it lacks it, else nil. Of a peer that has said nothing
// yet nobody can know; it answers for itself.
func (c *common) unknownToPeer(conn *Connection, number uint8) error {
	if !conn.conn.Greeted() {
		return nil
	}
	name := c.codecs[number].Name()
	theirs := conn.conn.PeerLimits().Codecs
	if theirs[number] == name {
		return nil
	}
	listed := "no codec of its own"
	if len(theirs) > 0 {
		var all []string
		for _, n := range slices.Sorted(maps.Keys(theirs)) {
			all = append(all, fmt.Sprintf("%d (%s)", n, theirs[n]))
		}
		listed = "only " + strings.Join(all, ", ")
	}
	return notSent(Errorf(Unimplemented, "the peer does not know the codec %d (%s), it lists %s", number, name, listed))
}
