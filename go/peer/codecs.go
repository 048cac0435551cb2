package peer

import (
	"strings"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/peer/load"
)

// What --codec names in bench and call, the default first.
var clientCodecs = []struct {
	name  string
	codec trunkcall.Codec
}{
	{load.CodecFast, trunkcall.Protobuf},
	{load.CodecStock, trunkcall.ProtobufStock},
	{codefirst.JSON.Name(), codefirst.JSON},
	{codefirst.MessagePack.Name(), codefirst.MessagePack},
	{codecRaw, trunkcall.Raw},
}

// codecRaw names the codec of messages that are bytes.
const codecRaw = "raw"

func clientCodecNames() (names []string) {
	for _, c := range clientCodecs {
		names = append(names, c.name)
	}
	return names
}

// findCodec returns the codec that a flag names.
func findCodec(name string) (trunkcall.Codec, error) {
	for _, c := range clientCodecs {
		if c.name == name {
			return c.codec, nil
		}
	}
	return nil, usagef("--codec %s: want %s", name, choice(clientCodecNames()))
}

// What --compression names.
var compressions = []trunkcall.Compression{trunkcall.Gzip, trunkcall.Zstd}

func compressionNames() (names []string) {
	for _, c := range compressions {
		names = append(names, c.Name())
	}
	return names
}

// clientOptions is what --codec and --compression ask of a client.
func clientOptions(codec, compression string) ([]trunkcall.ClientOption, error) {
	found, err := findCodec(codec)
	if err != nil {
		return nil, err
	}
	compressing, err := compressingClient(compression)
	return append(compressing, trunkcall.WithCodec(found), trunkcall.WithResolver("file", fileResolver{})), err
}

// compressingClient is what --compression asks of a client.
func compressingClient(name string) (options []trunkcall.ClientOption, err error) {
	compressing, err := withCompression(name)
	for _, option := range compressing {
		options = append(options, option)
	}
	return options, err
}

// withCompression is the option that a flag asks for; none if it is empty.
func withCompression(name string) ([]trunkcall.Option, error) {
	if name == "" {
		return nil, nil
	}
	for _, c := range compressions {
		if c.Name() == name {
			return []trunkcall.Option{trunkcall.WithCompression(c)}, nil
		}
	}
	return nil, usagef("--compression %s: want %s", name, strings.Join(compressionNames(), " or "))
}
