package peer

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"google.golang.org/protobuf/proto"
)

// callOptions are the arguments of call.
type callOptions struct {
	target   string
	timeout  time.Duration
	metadata metadataFlag
	trust    string
	identity identity
	options  []trunkcall.ClientOption // that --codec and --compression ask for

	method    *method
	requests  []proto.Message
	codeFirst *codeFirstCall // instead of both
}

// callHelp lists the methods, which are those that serve answers.
func callHelp() help {
	notes := &strings.Builder{}
	fmt.Fprintln(notes, "METHOD is one of")
	for _, h := range nativeHandlers() {
		kind := ""
		if h.Method.Kind != trunkcall.KindUnary {
			kind = " (" + h.Method.Kind.String() + ")"
		}
		fmt.Fprintf(notes, "  %s%s\n", strings.TrimPrefix(h.Method.Name, "/"), kind)
	}
	if handlers, err := codeFirstHandlers(); err == nil {
		for _, h := range handlers {
			fmt.Fprintf(notes, "  %s (code-first)\n", strings.TrimPrefix(h.Method.Name, "/"))
		}
	}
	fmt.Fprint(notes, "or any other code-first method. JSON is the request; for client-streaming and bidi-streaming\n"+
		"methods an array of requests, for code-first methods an array of arguments.\n"+
		"\nA failure is one line of JSON on stderr, with exit status 1; a command line that is wrong is\n"+
		"told in words, with exit status 2.\n")
	return help{
		synopsis: "--target ADDR METHOD JSON [--timeout D] [--metadata K=V]… [--codec C] [--tls-ca F [--tls-cert F --tls-key F]]",
		notes:    notes.String(),
	}
}

func (p program) parseCall(args []string) (*callOptions, error) {
	o := &callOptions{}
	fs := flag.NewFlagSet("call", flag.ContinueOnError)
	fs.StringVar(&o.target, "target", "", "`address` of the server: HOST:PORT, unix:PATH, ws://HOST:PORT/PATH or wss://…")
	load.DurationVar(fs, &o.timeout, "timeout", 0, "`time` for connecting and the call together, such as 250ms; none unless given")
	fs.Var(&o.metadata, "metadata", "`key=value` to send with the call, any number of times; the value of a key that ends in -bin is base64")
	fs.StringVar(&o.trust, "tls-ca", "", "connect with TLS and trust the certificates in this `file`")
	o.identity.flags(fs)
	found := registryFlag{}
	found.flags(fs, "in which a target registry:SERVICE is found")
	names := clientCodecNames()
	names = slices.DeleteFunc(names, func(name string) bool { // which have no Protobuf messages
		return name == codecRaw || name == codefirst.MessagePack.Name()
	})
	codec := fs.String("codec", "", "`name` of the codec: "+choice(names)+"; of a code-first call msgpack or json; the first of them unless given")
	compression := fs.String("compression", "", "`name` of the compression of requests: "+choice(compressionNames())+"; none unless given")
	others, err := p.parse(fs, callHelp(), args)
	if err != nil {
		return nil, err
	}
	given := false
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "timeout" })
	switch {
	case o.target == "":
		return nil, usagef("--target is needed")
	case given && o.timeout <= 0:
		return nil, usagef("--timeout must be above 0")
	case len(others) < 2:
		return nil, usagef("METHOD and JSON are needed")
	case len(others) > 2:
		return nil, usagef("there is nothing to do with %q after METHOD and JSON", others[2])
	}
	if !found.finds(o.target) {
		if err := checkTarget(o.target); err != nil {
			return nil, err
		}
	}
	finding, err := found.client()
	if err != nil {
		return nil, err
	}
	defer func() {
		if o != nil {
			o.options = append(o.options, finding...)
		}
	}()
	if isCodeFirst(others[0], others[1]) {
		o.codeFirst, err = parseCodeFirst(others[0], others[1], cmp.Or(*codec, codeFirstCodecs[0].Name()))
		if err == nil {
			o.options, err = compressingClient(*compression)
		}
		return o, err
	}
	if *codec != "" && !slices.Contains(names, *codec) {
		return nil, usagef("--codec %s: want %s", *codec, choice(names))
	}
	if o.options, err = clientOptions(cmp.Or(*codec, load.CodecFast), *compression); err != nil {
		return nil, err
	}
	if o.method, err = findMethod(others[0]); err != nil {
		return nil, err
	}
	o.requests, err = o.method.parseRequests(others[1])
	return o, err
}

// metadataFlag gathers the --metadata flags.
type metadataFlag trunkcall.Metadata

func (m *metadataFlag) String() string { return "" }

func (m *metadataFlag) Set(pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return errors.New("want KEY=VALUE")
	}
	if strings.HasSuffix(strings.ToLower(key), "-bin") {
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
		if err != nil {
			return fmt.Errorf("the value of a key that ends in -bin is base64: %w", err)
		}
		value = string(raw)
	}
	(*trunkcall.Metadata)(m).Add(key, value)
	return nil
}

// call makes one call. Its outcome is all that it prints: answers on stdout, a
// failure on stderr.
func (p program) call(args []string) error {
	o, err := p.parseCall(args)
	if failed := trunkcall.StatusError(nil); errors.As(err, &failed) {
		return p.fail(failed.Status())
	} else if err != nil {
		return err
	}
	config, err := clientTLS(o.trust, o.identity)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	options := o.options
	if config != nil {
		options = append(options, trunkcall.WithTLS(config))
	}
	client, err := trunkcall.Dial(ctx, o.target, options...)
	if err != nil {
		return p.fail(trunkcall.StatusOf(err))
	}
	defer client.Close()
	ctx = trunkcall.WithMetadata(ctx, trunkcall.Metadata(o.metadata))
	if o.codeFirst != nil {
		err = o.codeFirst.invoke(ctx, client, p.printLine)
	} else {
		err = o.method.invoke(ctx, client, o.requests, p.printAnswer)
	}
	if errors.As(err, new(outputError)) {
		return err
	} else if err != nil {
		return p.fail(trunkcall.StatusOf(err))
	}
	return nil
}

// outputError is an answer that could not be printed.
type outputError struct{ error }

func (p program) printAnswer(answer proto.Message) error {
	line, err := toJSON(answer)
	if err != nil {
		return outputError{err}
	}
	return p.printLine(line)
}

func (p program) printLine(line json.RawMessage) error {
	if _, err := fmt.Fprintf(p.stdout, "%s\n", line); err != nil {
		return outputError{err}
	}
	return nil
}

// failure is how a failed call is printed.
type failure struct {
	Code     string            `json:"code"`
	Message  string            `json:"message"`
	Details  []json.RawMessage `json:"details"`
	Delivery string            `json:"delivery"`
}

// fail prints a failure as the one line of stderr.
func (p program) fail(status trunkcall.Status) error {
	f := failure{
		Code: status.Code.String(), Message: oneLine(status.Message),
		Details: []json.RawMessage{}, Delivery: status.Delivery.String(),
	}
	for _, detail := range status.Details {
		f.Details = append(f.Details, detailJSON(detail))
	}
	encoder := json.NewEncoder(p.stderr)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		return err
	}
	return errReported
}
