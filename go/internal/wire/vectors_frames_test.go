package wire

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"
	"unicode/utf8"
)

// readFrame takes one frame apart by the functions that judge no state. n is 0
// while b is a proper prefix of one.
func readFrame(t testing.TB, v *vector, b []byte) (meaning map[string]any, n int, err *Error) {
	local := v.local()
	if len(b) < HeaderSize {
		return nil, 0, nil
	}
	h := ParseHeader(b)
	if err := h.Check(&local, v.Receiver == "initiator"); err != nil {
		return nil, 0, err
	}
	n = HeaderSize + int(h.Length)
	if len(b) < n {
		return nil, 0, nil
	}
	body := b[HeaderSize:n]
	if h.Type >= firstSkippable {
		return plain(t, map[string]any{"type": "UNKNOWN", "number": h.Type, "length": h.Length}), n, nil
	}
	out := headerMeaning(&h)
	switch h.Type {
	case Define:
		name, err := ParseDefine(body)
		if err != nil {
			return nil, 0, err
		}
		putName(out, name)
	case Call, Data, Result:
		if err := putBody(t, v, &h, body, &local, out); err != nil {
			return nil, 0, err
		}
	case GoAway:
		if h.Flags&FlagAck == 0 {
			_, out["text"] = ParseGoAway(&h, body)
			break
		}
		fallthrough
	default:
		if len(body) > 0 {
			out["ignored"] = hex.EncodeToString(body)
		}
	}
	return plain(t, out), n, nil
}

func putBody(t testing.TB, v *vector, h *Header, body []byte, local *Settings, out map[string]any) *Error {
	first := h.Flags&FlagMore != 0 && !v.InMessage && h.Type != Result
	b, err := ParseBody(h, body, first, local)
	if err != nil {
		return err
	}
	if h.Flags&FlagMeta != 0 {
		block, _, _ := parseBytes(body)
		out["metadata"] = metadataMeaning(t, b.Metadata, b.Own, block)
	}
	if b.Name != nil {
		putName(out, b.Name)
	}
	if first {
		out["total"] = b.Total
	}
	out["payload"] = hex.EncodeToString(b.Payload)
	if h.Flags&FlagMsg != 0 {
		out["cost"] = len(b.Payload) + frameCost
		if h.Type == Data && h.Flags&FlagPool != 0 {
			out["cost"] = len(body) + frameCost
		}
	}
	if h.Type == Result && h.Code != 0 {
		message, details, err := ParseStatus(b.Payload)
		if err != nil {
			return err
		}
		out["status_payload"] = statusMeaning(t, message, details)
	}
	return nil
}

func putName(out map[string]any, name []byte) {
	if utf8.Valid(name) {
		out["name"] = string(name)
	} else {
		out["name_hex"] = hex.EncodeToString(name)
	}
}

func headerMeaning(h *Header) map[string]any {
	initiator := 0
	if h.Stream.ByAcceptor() {
		initiator = 1
	}
	out := map[string]any{
		"type": h.Type.String(), "length": h.Length, "slot": h.Stream.Slot(), "generation": h.Stream.Generation(),
		"initiator": initiator, "flags": flagNames(h), "codec": h.Codec, "compression": h.Compression, "w3": h.Word,
	}
	switch h.Type {
	case Call, Define:
		out["method"] = h.Code
	case Result:
		out["status"] = h.Code
	}
	return out
}

func flagNames(h *Header) []string {
	names := []string{"END", "MSG", "MORE", "META", "ONEWAY", "CUT", "STRIPPED", ""}
	switch h.Type {
	case Result:
		names[4] = "REFUSED"
	case Data:
		names[4] = "POOL"
	case Ping, GoAway:
		names[0] = "ACK"
	}
	out := []string{}
	for bit, name := range names {
		if h.Flags&(1<<bit) != 0 {
			out = append(out, name)
		}
	}
	return out
}

func TestFrameVectors(t *testing.T) {
	f := loadVectors(t, "frames")
	for _, v := range f.readable() {
		t.Run(v.ID, func(t *testing.T) {
			data := v.bytes()
			for _, cut := range cuts(len(data)) {
				if _, n, err := readFrame(t, &v, data[:cut]); n != 0 || err != nil {
					t.Fatalf("cut off after %d bytes: %d, %v", cut, n, err)
				}
			}
			for _, tail := range [][]byte{nil, {1, 0xff}} {
				got, n, err := readFrame(t, &v, slices.Concat(data, tail))
				if err != nil || n != len(data) {
					t.Fatalf("took %d of %d bytes: %v", n, len(data), err)
				}
				compare(t, got, v.meaning())
			}
		})
	}
	for _, v := range f.Invalid {
		t.Run(v.ID, func(t *testing.T) {
			data := v.bytes()
			_, _, err := readFrame(t, &v, data)
			if v.needsSession() {
				if err != nil {
					t.Fatalf("%v without a session", err)
				}
				return // see TestFrameVectorsInSession
			}
			if err == nil || err.Class != v.Error || err.Class.EndsCall() != (v.Ends == "call") {
				t.Fatalf("%v, want %s", err, v.Error)
			}
			if _, _, err := readFrame(t, &v, data[:min(HeaderSize, len(data))]); (err != nil) != (v.Stage == "header") && len(data) > HeaderSize {
				t.Fatalf("the header alone gives %v, but the stage is %s", err, v.Stage)
			}
		})
	}
}

// needsSession reports whether the fault can be found only by one who knows
// the stream: the sums of pieces, window, sizes and codecs.
func (v *vector) needsSession() bool {
	if v.Stage == "session" {
		return true
	}
	return slices.Contains([]string{
		"piece-sum-over-total", "piece-last-too-long", "piece-last-missing-bytes", "piece-codec-changes",
		"piece-compression-changes", "piece-end-in-message", "piece-result-in-message", "piece-result-message-in-message",
	}, v.ID)
}

func TestFrameRoundTrip(t *testing.T) {
	for _, v := range loadVectors(t, "frames").Valid {
		data, local := v.bytes(), v.local()
		h, body := ParseHeader(data), data[HeaderSize:]
		var again []byte
		switch h.Type {
		case Define:
			name, _ := ParseDefine(body)
			again = AppendDefine(nil, h.Code, string(name))
		case GoAway:
			if h.Flags&FlagAck != 0 {
				again = AppendHeader(nil, h)
				break
			}
			reason, text := ParseGoAway(&h, body)
			again = AppendGoAway(nil, reason, text)
		default:
			first := h.Flags&FlagMore != 0 && !v.InMessage && h.Type != Result
			b, err := ParseBody(&h, body, first, &local)
			if h.Type != Call && h.Type != Data && h.Type != Result {
				b, err = Body{}, nil
			}
			if err != nil {
				t.Fatal(v.ID, err)
			}
			again = appendBody(AppendHeader(nil, h), &h, &b, first)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%s: appended %.200x, want %.200x", v.ID, again, data)
		}
	}
}

func appendBody(dst []byte, h *Header, b *Body, first bool) []byte {
	if h.Flags&FlagMeta != 0 {
		dst = AppendMetadata(dst, b.Metadata, b.Own)
	}
	if b.Name != nil {
		dst = append(AppendVarint(dst, uint32(len(b.Name))), b.Name...)
	}
	if first {
		dst = AppendVarint(dst, b.Total)
	}
	if h.Type == Result && h.Code != 0 {
		message, details, _ := ParseStatus(b.Payload)
		dst, _ = AppendStatus(dst, message, details, MinPiece)
		return dst
	}
	return append(dst, b.Payload...)
}
