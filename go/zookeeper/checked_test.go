package zookeeper

import (
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/registry"
)

// numbers are in the protocol's form.
func numbers(all ...uint32) []byte {
	var b []byte
	for _, one := range all {
		b = binary.BigEndian.AppendUint32(b, one)
	}
	return b
}

// answering is an answer without a fault of ZooKeeper's, with what belongs to it.
func answering(number []byte, rest ...uint32) []byte {
	return sized(slices.Concat(number, numbers(0, 1, 0), numbers(rest...)))
}

const all = 0xffffffff // bits: below zero for what reads numbers with signs

// Answers whose lengths and counts are wrong end a watch with a text that says what it was. The process goes on, and takes
// no memory for what they say (spec/registry.md 10.3).
func TestAnswersThatSayTooMuchEndTheConnection(t *testing.T) {
	begun := func(ms uint32, session byte, password uint32) []byte {
		return sized(slices.Concat(numbers(0, ms, 0), []byte{0, 0, 0, session}, numbers(password, 0, 0, 0, 0)))
	}
	const beyond = ": its lengths and counts go beyond its end"
	for _, c := range []struct {
		name string
		what int32 // is answered so
		raw  func(number []byte) []byte
		want string
	}{
		{"a session of no time", askOpen, func([]byte) []byte { return begun(0, 1, 16) }, "a session of 0 ms"},
		{"a session of less", askOpen, func([]byte) []byte { return begun(all, 1, 16) }, "a session of -1 ms"},
		{"a long password", askOpen, func([]byte) []byte { return begun(10_000, 1, 0x7fffffff) }, "the password of a session ends behind the answer"},
		{"a long beginning", askOpen, func([]byte) []byte { return numbers(0x7fffffff) }, "an answer of 2147483647 bytes, want 20 to 240"},
		{"a short beginning", askOpen, func([]byte) []byte { return sized(numbers(0, 1)) }, "an answer of 8 bytes, want 20 to 240"},
		{"an empty answer", askChildren, func([]byte) []byte { return numbers(0) }, "an answer of 0 bytes, want 16 to 16777216"},
		{"a number alone", askChildren, sized, "an answer of 4 bytes, want 16 to 16777216"},
		{"an event alone", askChildren, func([]byte) []byte { return sized(numbers(all)) }, "an answer of 4 bytes, want 16 to 16777216"},
		{"a huge answer", askChildren, func([]byte) []byte { return numbers(all) }, "an answer of 4294967295 bytes, want 16 to 16777216"},
		{"an event cut short", askChildren, func([]byte) []byte { return sized(numbers(all, 0, 0, 0, 4, 3)) }, "an event" + beyond},
		{"an event of a long path", askChildren, func([]byte) []byte { return sized(numbers(all, 0, 0, 0, 4, 3, 9, 0)) }, "an event" + beyond},
		{"no names", askChildren, func(n []byte) []byte { return answering(n) }, "kind 12" + beyond},
		{"many names", askChildren, func(n []byte) []byte { return answering(n, 0x7fffffff, 0) }, "kind 12" + beyond},
		{"less than no names", askChildren, func(n []byte) []byte { return answering(n, all) }, "kind 12" + beyond},
		{"a long name", askChildren, func(n []byte) []byte { return answering(n, 1, 0x7fffffff) }, "kind 12" + beyond},
		{"names without what is known", askChildren, func(n []byte) []byte { return answering(n, 0) }, "kind 12" + beyond},
		{"much data", askData, func(n []byte) []byte { return answering(n, 0x7fffffff, 0) }, "kind 4" + beyond},
		{"another's answer", askChildren, func([]byte) []byte { return answering(numbers(77)) }, "an answer to question 77, which was not asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := play(t)
			p.names = func() (int32, []byte) { return 0, namesBody("a") }
			p.node = func(string) (int32, []byte) { return 0, nodeBody(recordOf(t, "a")) }
			p.raw = func(what int32, number []byte) []byte {
				if what != c.what {
					return nil
				}
				return c.raw(number)
			}
			store, err := New([]string{p.address}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			taken := allocated()
			source, client, over := watching(t, store)
			select {
			case err = <-source.ended:
			case <-time.After(time.Minute):
				t.Error("the watch stalls")
			}
			client.Close()
			<-over
			want := "ZooKeeper at " + p.address + ": "
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%v, want %s…%s", err, want, c.want)
			}
			if taken = allocated() - taken; taken > 64<<20 {
				t.Errorf("%d bytes were taken", taken)
			}
		})
	}
}

// The same for what publishes: of the answers to several operations one ends before it says whether it is the last.
func TestAnAnswerCutShortEndsPublishing(t *testing.T) {
	p := play(t)
	p.node = func(string) (int32, []byte) { return noNode, nil }
	p.raw = func(what int32, number []byte) []byte {
		if what != askMulti {
			return nil
		}
		return answering(number, askCreate)
	}
	store, err := New([]string{p.address}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := registry.Record{Service: "s", ID: "a", Addresses: []string{"10.0.0.1:4000"}}
	err = store.Keep(t.Context(), []registry.Written{{Record: r, Data: recordOf(t, "a")}}, func() { t.Error("it is published") })
	if want := ": an answer to a question of kind 14: its lengths and counts go beyond its end"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want …%s", err, want)
	}
}

// allocated is how many bytes have been taken so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
