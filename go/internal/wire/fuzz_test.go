package wire

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

// Fuzz targets of the parsers: nothing panics, and what was read and appended
// again reads the same. FuzzSession stands in fuzz_session_test.go.

func seedVectors(f *testing.F, name string, add func(v *vector, data []byte)) {
	file := loadVectors(f, name)
	for _, v := range slices.Concat(file.readable(), file.Invalid) {
		if data := v.bytes(); len(data) < 100_000 {
			add(&v, data)
		}
	}
}

func FuzzFrame(f *testing.F) {
	seedVectors(f, "frames", func(v *vector, data []byte) { f.Add(data, v.Receiver == "initiator", v.InMessage) })
	local := DefaultSettings()
	f.Fuzz(func(t *testing.T, data []byte, initiator, inMessage bool) {
		if len(data) < HeaderSize {
			return
		}
		h := ParseHeader(data)
		if again := AppendHeader(nil, h); !bytes.Equal(again, data[:HeaderSize]) {
			t.Fatalf("%x is appended as %x", data[:HeaderSize], again)
		}
		body := data[HeaderSize:]
		h.Length = uint32(len(body))
		if err := h.Check(&local, initiator); err != nil {
			if err.Class.EndsCall() {
				t.Fatalf("a header alone ends a call: %v", err)
			}
			return
		}
		switch h.Type {
		case Define:
			name, err := ParseDefine(body)
			if err != nil {
				return
			}
			again, err := ParseDefine(AppendDefine(nil, h.Code, string(name))[HeaderSize:])
			if err != nil || !bytes.Equal(again, name) {
				t.Fatalf("%q reads as %q: %v", name, again, err)
			}
		case GoAway:
			reason, text := ParseGoAway(&h, body)
			again := AppendGoAway(nil, reason, text)
			h := ParseHeader(again)
			reason2, text2 := ParseGoAway(&h, again[HeaderSize:])
			if reason != reason2 || len(text) <= MaxGoAwayText && text != text2 {
				t.Fatalf("%d %q reads as %d %q", reason, text, reason2, text2)
			}
		case Call, Data, Result:
			fuzzBody(t, &h, body, h.Flags&FlagMore != 0 && !inMessage && h.Type != Result, &local)
		}
	})
}

func fuzzBody(t *testing.T, h *Header, body []byte, first bool, local *Settings) {
	b, err := ParseBody(h, body, first, local)
	if err != nil {
		return
	}
	if h.Type == Result && h.Code != 0 {
		return // FuzzStatus
	}
	again := appendBody([]byte{}, h, &b, first)
	if h.Flags&FlagMore != 0 && len(again) < MinPiece {
		return // entries that are not known were dropped
	}
	b2, err := ParseBody(h, again, first, local)
	if err != nil || !reflect.DeepEqual(b, b2) {
		t.Fatalf("%+v reads as %+v: %v", b, b2, err)
	}
}

func FuzzMetadata(f *testing.F) {
	seedVectors(f, "metadata", func(_ *vector, data []byte) { f.Add(data) })
	local := DefaultSettings()
	f.Fuzz(func(t *testing.T, data []byte) {
		block, m, own, rest, err := metadataOf(data, &local)
		if err != nil {
			if err.Class != ErrMetadata && err.Class != ErrMetadataLimit {
				t.Fatal(err)
			}
			return
		}
		if len(block)+len(rest) >= len(data) {
			t.Fatalf("%d bytes are read as %d and %d", len(data), len(block), len(rest))
		}
		if err := CheckMetadata(m, own, &local); err != nil {
			t.Fatalf("what was received cannot be sent: %v", err)
		}
		again := AppendMetadata(nil, m, own)
		if len(again) != blockSize(m, own) {
			t.Fatalf("%d bytes instead of %d", len(again), blockSize(m, own))
		}
		_, m2, own2, _, err := metadataOf(again, &local)
		if err != nil || !reflect.DeepEqual(m, m2) || !reflect.DeepEqual(own, own2) {
			t.Fatalf("%+v %+v reads as %+v %+v: %v", m, own, m2, own2, err)
		}
	})
}

func FuzzStatus(f *testing.F) {
	seedVectors(f, "status", func(_ *vector, data []byte) { f.Add(data, MinPiece) })
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		message, details, err := ParseStatus(data)
		if err != nil {
			if message != MalformedStatus || details != nil {
				t.Fatalf("%q %v", message, details)
			}
			return
		}
		limit = min(max(limit, maxVarint+2), 1<<20)
		again, stripped := AppendStatus(nil, message, details, limit)
		if len(again) > limit {
			t.Fatalf("%d bytes in a room of %d", len(again), limit)
		}
		message2, details2, err := ParseStatus(again)
		if err != nil {
			t.Fatal(err)
		}
		if stripped && (details2 != nil || message[:len(message2)] != message2) {
			t.Fatalf("%q %v is stripped to %q %v", message, details, message2, details2)
		}
		if !stripped && (message != message2 || !reflect.DeepEqual(details, details2)) {
			t.Fatalf("%q %v reads as %q %v", message, details, message2, details2)
		}
	})
}

func FuzzPreface(f *testing.F) {
	seedVectors(f, "preface", func(_ *vector, data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		p, n, err := ParsePreface(data)
		for cut := range min(len(data), 200) {
			if _, m, e := ParsePreface(data[:cut]); e != nil && (err == nil || e.Class != err.Class) || m != 0 && m != n {
				t.Fatalf("cut off after %d bytes: %d %v, whole: %d %v", cut, m, e, n, err)
			}
		}
		if err != nil || n == 0 {
			return
		}
		again := AppendPreface(nil, &p)
		q, m, err := ParsePreface(again)
		if len(p.Settings.Codecs) == 0 {
			p.Settings.Codecs = nil // an empty list is not appended
		}
		if err != nil || m != len(again) || !reflect.DeepEqual(p, q) {
			t.Fatalf("%+v reads as %+v: %v", p, q, err)
		}
	})
}
