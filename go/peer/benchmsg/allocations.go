package benchmsg

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"time"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"google.golang.org/protobuf/proto"
)

// telling is whether --allocations was given; served then counts the calls.
var (
	telling bool
	served  atomic.Int64
)

// allocationsFlag registers --allocations, which every server under measurement
// has.
func allocationsFlag(fs *flag.FlagSet) {
	fs.BoolVar(&telling, "allocations", false, "print, ten times a second, how many calls of Say there were and what this process has allocated")
}

// TellAllocations prints the lines that --allocations asks for, of which one is
//
//	allocations {"calls":1000,"allocations":52000,"client_message":44,"server_message":50}
//
// What a client and a server allocate for the messages of a call alone is measured
// first, so that a reader can tell the rest from it.
func TellAllocations(out io.Writer, codec string) error {
	if !telling {
		return nil
	}
	client, server, err := MessageAllocations(codec)
	if err != nil {
		return fmt.Errorf("--allocations: %w", err)
	}
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			// Calls go on while the other figure is asked for, which waits for all of them.
			before := served.Load()
			allocated := load.Allocations()
			calls := (before + served.Load()) / 2
			line, err := json.Marshal(map[string]any{
				"calls": calls, "allocations": allocated, "client_message": client, "server_message": server,
			})
			if err == nil {
				_, err = fmt.Fprintf(out, "allocations %s\n", line)
			}
			if err != nil {
				return
			}
		}
	}()
	return nil
}

// MessageAllocations is how often the messages of one call of Say make each side
// allocate, whatever carries them: encoding into memory that is there already,
// decoding into a message of one's own, the handler's answer.
func MessageAllocations(codec string) (client, server float64, err error) {
	encode, decode, err := codecOf(codec)
	if err != nil {
		return 0, 0, err
	}
	buffer := make([]byte, 0, 2*Size)
	sent := New()
	request, err := encode(buffer, sent)
	if err != nil {
		return 0, 0, err
	}
	request = slices.Clone(request)
	received := func(data []byte) *benchv1.BenchmarkMessage {
		message := new(benchv1.BenchmarkMessage)
		if err := decode(message, data); err != nil {
			panic(fmt.Sprintf("the benchmark message cannot be decoded: %v", err))
		}
		return message
	}
	response, err := encode(buffer, answer(received(request), AnswerNumber))
	if err != nil {
		return 0, 0, err
	}
	response = slices.Clone(response)
	client = allocations(func() {
		_, _ = encode(buffer, sent)
		received(response)
	})
	server = allocations(func() { _, _ = encode(buffer, answer(received(request), AnswerNumber)) })
	return client, server, nil
}

// codecOf is how a codec appends a message to a buffer with room for it, and how
// it decodes one.
func codecOf(name string) (
	encode func([]byte, *benchv1.BenchmarkMessage) ([]byte, error), decode func(*benchv1.BenchmarkMessage, []byte) error, err error,
) {
	switch name {
	case load.CodecFast:
		return func(buffer []byte, message *benchv1.BenchmarkMessage) ([]byte, error) {
			size := len(buffer) + message.SizeVT()
			_, err := message.MarshalToSizedBufferVT(buffer[:size])
			return buffer[:size], err
		}, (*benchv1.BenchmarkMessage).UnmarshalVT, nil
	case load.CodecStock:
		return func(buffer []byte, message *benchv1.BenchmarkMessage) ([]byte, error) {
			return proto.MarshalOptions{}.MarshalAppend(buffer, message)
		}, func(message *benchv1.BenchmarkMessage, data []byte) error { return proto.Unmarshal(data, message) }, nil
	default:
		return nil, nil, fmt.Errorf("what the codec %s allocates is not known", name)
	}
}

// allocations is how often do allocates: of many times, so that what others do
// meanwhile is lost in rounding.
func allocations(do func()) float64 {
	const times = 10_000
	do() // what is made once
	before := load.Allocations()
	for range times {
		do()
	}
	return math.Round(float64(load.Allocations()-before) / times)
}
