package grpcstub

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/encoding"

	"github.com/trunkcall/trunkcall/go"
)

// compressors are those that there are beside identity.
var compressors = []trunkcall.Compression{trunkcall.Gzip, trunkcall.Zstd}

func compressorNamed(name string) trunkcall.Compression {
	for _, one := range compressors {
		if one.Name() == name {
			return one
		}
	}
	return nil
}

var errNoCall = errors.New("failed to fetch the call from the given context")

// SetSendCompressor is grpc.SetSendCompressor for handlers that Trunkcall serves: answers of the
// call are sent with the compressor of that name, "identity" for none. The caller must accept it,
// and the answer must not have begun. The compressors are gzip and zstd; those of
// encoding.RegisterCompressor are not used. Messages that are short, or that do not shrink, are
// sent plain all the same (trunkcall.WithCompression).
//
// The function of package grpc cannot do it: it asks the context for an object of grpc-go's
// own transport, a type that no other package can make.
func SetSendCompressor(ctx context.Context, name string) error {
	call := trunkcall.CallFromContext(ctx)
	if call == nil {
		return errNoCall
	}
	if name == encoding.Identity {
		return call.SetCompression()
	}
	one := compressorNamed(name)
	if one == nil {
		return fmt.Errorf("unable to set send compressor: compressor not registered %q", name)
	}
	if !call.Accepts(one) {
		return fmt.Errorf("unable to set send compressor: client does not support compressor %q", name)
	}
	return call.SetCompression(one)
}

// ClientSupportedCompressors is grpc.ClientSupportedCompressors for handlers that are served by
// Trunkcall: those that SetSendCompressor would take, but for identity.
func ClientSupportedCompressors(ctx context.Context) ([]string, error) {
	call := trunkcall.CallFromContext(ctx)
	if call == nil {
		return nil, errNoCall
	}
	var names []string
	for _, one := range compressors {
		if call.Accepts(one) {
			names = append(names, one.Name())
		}
	}
	return names, nil
}
