package codefirst

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// wide is a type of which an empty map is a long record.
type wide struct {
	A       string
	B       []string
	C       map[string]string
	D       []byte
	E, F, G inner
}

type inner struct {
	A, B int64
	C    map[string]int64
	D    *wide // which has it as a field itself
}

// array is one whose missing field lies in it.
type array struct {
	A [100]int64
	B bool
}

// empties are so many empty maps, in both codecs.
func empties(count int) map[trunkcall.Codec][]byte {
	packed := binary.BigEndian.AppendUint32([]byte{0xdd}, uint32(count))
	packed = append(packed, bytes.Repeat([]byte{0x80}, count)...)
	text := "[" + strings.TrimSuffix(strings.Repeat("{},", count), ",") + "]"
	return map[trunkcall.Codec][]byte{MessagePack: packed, JSON: []byte(text)}
}

func TestRecordsThatAreMuchLongerThanTheirBytesAreBounded(t *testing.T) {
	for codec, data := range empties(1_000) {
		var few []wide
		if err := codec.Decode(data, &few); err != nil || len(few) != 1_000 {
			t.Errorf("%s: %d records, %v", codec.Name(), len(few), err)
		}
	}
	for codec, data := range empties(100_000) {
		var some []inner
		for name, into := range map[string]any{
			"in a list": new([]wide), "behind pointers": new([]*wide), "with an array": new([]array),
		} {
			err := codec.Decode(data, into)
			if !errors.Is(err, trunkcall.ErrLimit) || !strings.Contains(err.Error(), "64 bytes for each byte of the message") {
				t.Errorf("%s, %s: %v", codec.Name(), name, err)
			}
		}
		err := codec.Decode(data, &some) // 112 bytes for one byte, or for three
		if refused := codec == MessagePack; errors.Is(err, trunkcall.ErrLimit) != refused || (err == nil) == refused {
			t.Errorf("%s: %v", codec.Name(), err)
		}
	}
}

func TestValuesOfAMapAreCounted(t *testing.T) {
	data := binary.BigEndian.AppendUint32([]byte{0xdf}, 60_000)
	for i := range 60_000 {
		data = append(binary.BigEndian.AppendUint16(append(data, 0xcd), uint16(i)), 0x80)
	}
	if err := MessagePack.Decode(data, new(map[uint16]wide)); !errors.Is(err, trunkcall.ErrLimit) {
		t.Error(err)
	}
}

func TestRecordsThatAreWrittenAreNotTooMuch(t *testing.T) {
	for _, codec := range []trunkcall.Codec{MessagePack, JSON} {
		full := wide{B: []string{}, C: map[string]string{}, D: []byte{}}
		for _, in := range []*inner{&full.E, &full.F, &full.G} {
			in.C = map[string]int64{}
		}
		given := make([]wide, 20_000)
		for i := range given {
			given[i] = full
		}
		data, err := codec.Append(nil, given)
		if err != nil {
			t.Fatal(err)
		}
		var got []wide
		if err := codec.Decode(data, &got); err != nil || len(got) != len(given) {
			t.Errorf("%s: %d records, %v", codec.Name(), len(got), err)
		}
	}
}

func TestAFieldThatComesTwiceIsThereOnce(t *testing.T) {
	one := []byte{0x84, 0xa1, 'b', 0x90, 0xa1, 'b', 0x90, 0xa1, 'c', 0x80, 0xa1, 'c', 0x80}
	var r packReader
	r.in, r.room = one, 1<<20
	var v wide
	if err := readMessage(&r, &v); err != nil {
		t.Fatal(err)
	}
	if used := 1<<20 - int64(r.room); used != 496-listSize-mapSize {
		t.Errorf("it needs %d bytes", used)
	}
}

func TestMoreFieldsThanAWordHas(t *testing.T) {
	var came fieldSet
	for _, i := range []int{0, 63, 64, 127, 128, 300} {
		if came.has(i) {
			t.Errorf("%d is there before it came", i)
		}
		came.add(i)
	}
	for i := range 400 {
		want := i == 0 || i == 63 || i == 64 || i == 127 || i == 128 || i == 300
		if came.has(i) != want {
			t.Errorf("%d: %v", i, !want)
		}
	}
}
