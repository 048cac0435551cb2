package benchmsg

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/load"
)

// The message's fields are 8 strings, each with a pointer to it, 10 bools, 20
// int32 and an int64: 48 allocations with the message. A handler adds the answer's
// text and number, whose string is a constant.
func TestMessageAllocationsAreThoseOfTheCodecAlone(t *testing.T) {
	for _, codec := range []string{load.CodecFast, load.CodecStock} {
		client, server, err := MessageAllocations(codec)
		if err != nil {
			t.Fatal(err)
		}
		if client != 48 || server != 50 {
			t.Errorf("%s: a client allocates %v times and a server %v", codec, client, server)
		}
	}
	if _, _, err := MessageAllocations("smoke-signals"); err == nil {
		t.Error("the allocations of an unknown codec are known")
	}
}

func TestAllocationsAreToldWithTheCalls(t *testing.T) {
	t.Cleanup(func() { telling = false })
	if err := parse("--allocations"); err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	defer reader.Close()
	if err := TellAllocations(writer, load.CodecFast); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(reader)
	next := func() (told map[string]float64) {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		text, _ := strings.CutPrefix(lines.Text(), "allocations ")
		if err := json.Unmarshal([]byte(text), &told); err != nil {
			t.Fatal(err)
		}
		return told
	}
	first := next()
	kept := make([]*benchv1.BenchmarkMessage, 0, 1000)
	for range cap(kept) {
		kept = append(kept, Answer(new(benchv1.BenchmarkMessage)))
	}
	told := next()
	for told["calls"]-first["calls"] < 1000 || told["allocations"]-first["allocations"] < 3000 {
		told = next()
	}
}

func BenchmarkCodecAlone(b *testing.B) {
	for _, codec := range []string{load.CodecFast, load.CodecStock} {
		encode, decode, err := codecOf(codec)
		if err != nil {
			b.Fatal(err)
		}
		message := New()
		data, err := encode(make([]byte, 0, 2*Size), message)
		if err != nil {
			b.Fatal(err)
		}
		buffer := make([]byte, 0, 2*Size)
		b.Run("encode/"+codec, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = encode(buffer, message)
			}
		})
		b.Run("decode/"+codec, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = decode(new(benchv1.BenchmarkMessage), data)
			}
		})
	}
}
