package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/peer/load"
)

const benchSynopsis = "--target ADDR --method M [FLAG…]"

func (p program) parseBench(args []string) (*load.Options, *workload, error) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	options := load.Flags(fs)
	others, err := p.parse(fs, benchSynopsis, args)
	switch {
	case err != nil:
		return nil, nil, err
	case len(others) > 0:
		return nil, nil, usagef("there is nothing to do with %q", others[0])
	}
	if err := options.Check("size", "codec", "tls-ca", "connection-per-call"); err != nil {
		return nil, nil, usageError{err}
	}
	if err := checkCodec(options.Codec); err != nil {
		return nil, nil, err
	}
	short, _ := load.BenchMethod(options.Method)
	work := &workload{method: short, size: options.Size, stock: options.Codec == load.CodecStock}
	switch {
	case short != "Say" && short != "Echo" && short != "EchoStream":
		return nil, nil, usagef("--method %s is not there yet, Say, Echo and EchoStream are", options.Method)
	case short == "EchoStream" && options.ConnectionPerCall:
		return nil, nil, usagef("--connection-per-call does not go with EchoStream, whose calls share a stream")
	}
	return options, work, nil
}

// bench puts load on a server and prints what it measured.
func (p program) bench(args []string) error {
	options, work, err := p.parseBench(args)
	if err != nil {
		return err
	}
	config, err := clientTLS(options.TLSCA, identity{})
	if err != nil {
		return err
	}
	clientOptions := []trunkcall.ClientOption{trunkcall.WithConnections(options.Connections)}
	if config != nil {
		clientOptions = append(clientOptions, trunkcall.WithTLS(config))
	}
	if work.stock {
		clientOptions = append(clientOptions, trunkcall.WithCodec(trunkcall.ProtobufStock))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if options.ConnectionPerCall {
		clientOptions = append(clientOptions, trunkcall.WithConnections(1))
		return p.measure(options, func(int) (load.Call, error) {
			return connectionPerCall(ctx, work, options.Target, clientOptions), nil
		})
	}
	client, err := trunkcall.Dial(ctx, options.Target, clientOptions...)
	if err != nil {
		return err
	}
	defer client.Close()
	defer cancel() // first: it ends streams that are still open
	return p.measure(options, func(int) (load.Call, error) { return work.newCall(ctx, client) })
}

func (p program) measure(options *load.Options, factory load.Factory) error {
	result, err := load.Run(options.Config(), factory)
	if err != nil {
		return err
	}
	if err := result.Print(p.stdout); err != nil {
		return err
	}
	switch {
	case result.Calls == 0:
		return errors.New("no call was made")
	case result.Errors == result.Calls:
		return fmt.Errorf("no call succeeded, the first failed with: %w", result.FirstError)
	case result.Errors > 0:
		fmt.Fprintf(p.stderr, "peer-go bench: %d of %d calls failed, the first with: %s\n",
			result.Errors, result.Calls, oneLine(result.FirstError.Error()))
	}
	return nil
}

func connectionPerCall(
	ctx context.Context, work *workload, target string, options []trunkcall.ClientOption,
) load.Call {
	return func() error {
		client, err := trunkcall.Dial(ctx, target, options...)
		if err != nil {
			return err
		}
		defer client.Close()
		call, err := work.newCall(ctx, client)
		if err != nil {
			return err
		}
		return call()
	}
}
