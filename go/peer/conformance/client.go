package conformance

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// limit bounds a case in which something hangs, and what it asks beside its calls.
const limit = 30 * time.Second

// Client carries out cases, a line each.
type Client struct {
	// TLS makes the configuration for a port with TLS from the files that a case
	// names; those of the client itself may be "".
	TLS func(ca, cert, key string) (*tls.Config, error)

	lines   *bufio.Reader
	results *json.Encoder
	kept    map[string]*trunkcall.Client
}

// Run reads cases to the end of input and prints their results. It returns an
// error if a line is none, or a result cannot be printed.
func (c *Client) Run(input io.Reader, output io.Writer) error {
	c.lines, c.results = bufio.NewReader(input), json.NewEncoder(output)
	c.results.SetEscapeHTML(false)
	c.kept = map[string]*trunkcall.Client{}
	defer func() {
		for _, client := range c.kept {
			client.Close()
		}
	}()
	for {
		line, err := c.lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var one caseLine
		if err := json.Unmarshal(line, &one); err != nil {
			return fmt.Errorf("the line is no case: %w", err)
		}
		told := resultLine{Name: one.Name}
		if told.Outcomes, err = c.carryOut(&one); err != nil {
			told.Outcomes, told.Error = nil, err.Error()
		}
		if err := c.results.Encode(told); err != nil {
			return err
		}
	}
}

func (c *Client) carryOut(one *caseLine) ([]outcomeLine, error) {
	client, err := c.client(one)
	if err != nil {
		return nil, err
	}
	if one.OwnConnection {
		defer client.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	running := &carrying{ctx: ctx, client: client, do: func(what string) error { return c.askFor(one.Name, what) }}
	return running.carryOut(one.Calls)
}

// askFor has the runner do something, and waits until that is done.
func (c *Client) askFor(name, what string) error {
	if err := c.results.Encode(resultLine{Name: name, Do: what}); err != nil {
		return err
	}
	_, err := c.lines.ReadBytes('\n')
	return err
}

// client is one of the case's own, or the one for all cases that want the same.
func (c *Client) client(one *caseLine) (*trunkcall.Client, error) {
	key, err := json.Marshal([]any{one.Target, one.TLS, one.Client})
	if err != nil {
		return nil, err
	}
	if kept := c.kept[string(key)]; kept != nil && !one.OwnConnection {
		return kept, nil
	}
	options, err := c.options(one)
	if err != nil {
		return nil, err
	}
	client, err := trunkcall.NewClient(one.Target, append(options, trunkcall.WithBalancer(trunkcall.First()))...)
	if err != nil {
		return nil, err
	}
	if one.Client.Serves {
		if err := client.Register(new(Service).Handlers()...); err != nil {
			return nil, err
		}
	}
	if !one.OwnConnection {
		c.kept[string(key)] = client
	}
	return client, nil
}

func (c *Client) options(one *caseLine) (options []trunkcall.ClientOption, err error) {
	codec := trunkcall.Protobuf
	if one.Client.Codec == trunkcall.ProtoJSON.Name() {
		codec = trunkcall.ProtoJSON
	} else if one.Client.Codec != "" {
		return nil, fmt.Errorf("codec %s: %w", one.Client.Codec, errNoCodec)
	}
	options = append(options, trunkcall.WithCodec(unchanging{codec}))
	for _, compression := range []trunkcall.Compression{trunkcall.Gzip, trunkcall.Zstd} {
		if compression.Name() == one.Client.Compression {
			options = append(options, trunkcall.WithCompression(compression))
		}
	}
	if one.Client.MaxMessage > 0 {
		options = append(options, trunkcall.WithLimits(trunkcall.Limits{MessageBytes: one.Client.MaxMessage}))
	}
	if one.TLS != nil {
		config, err := c.TLS(one.TLS.CA, one.TLS.Cert, one.TLS.Key)
		if err != nil {
			return nil, err
		}
		options = append(options, trunkcall.WithTLS(config))
	}
	return options, nil
}

// unchanging is a codec that lets messages pass that are asIs.
type unchanging struct{ trunkcall.Codec }

func (c unchanging) Append(dst []byte, message any) ([]byte, error) {
	if raw, ok := message.(asIs); ok {
		return append(dst, raw...), nil
	}
	return c.Codec.Append(dst, message)
}
