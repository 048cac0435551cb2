package trunkcall_test

import (
	"context"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// renamed is Protobuf by another name and number.
type renamed struct {
	trunkcall.Codec
	number uint8
	name   string
}

func (c renamed) Number() uint8 { return c.number }
func (c renamed) Name() string  { return c.name }

func named(number uint8, name string) trunkcall.Codec {
	return renamed{trunkcall.Protobuf, number, name}
}

func TestAUsersOwnCodecIsKnownByItsNumberAndName(t *testing.T) {
	own := trunkcall.WithCodec(named(9, "acme"))
	_, target := serve(t, serverOptions{own}, standard()...)
	mustEcho(t, dial(t, target, own), "x")
	c := dial(t, target, trunkcall.WithCodecs(named(9, "acme")))
	if _, err := echo.Call(soon(t), c, text("x"), trunkcall.CallCodec(named(9, "acme"))); err != nil {
		t.Error("for one call:", err)
	}
	_, err := echo.Call(soon(t), dial(t, target, trunkcall.WithCodec(named(12, "acme"))), text("x"))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent).Message, "12 (acme)", "only 9 (acme)")
}

func TestACodecThatTheServerDoesNotListIsNotSent(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithCodecs(named(9, "acme"))}, standard()...)
	c := dial(t, target, trunkcall.WithCodec(named(9, "other")))
	_, err := echo.Call(soon(t), c, text("x"))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent).Message, "other", "acme")
	_, err = chat.Open(soon(t), c)
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent).Message, "other", "acme")
}

func TestACodecThatTheServerWasNotToldOfIsNotSent(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithCodecs(named(9, "acme"))}, standard()...)
	_, err := echo.Call(soon(t), dial(t, target), text("x"), trunkcall.CallCodec(named(9, "acme")))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent).Message, "acme", "WithCodecs")
}

func TestACodecNamedByThePeerAloneIsRefused(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithCodecs(named(9, "acme"))}, standard()...)
	p := rawframe.Dial(t, target)
	p.Greet(func(preface *wire.Preface) { preface.Settings.Codecs = map[uint8]string{9: "other", 10: "acme"} })
	for generation, codec := range []uint8{9, 10} {
		h := rawframe.CallHeader(1, uint16(generation+1), 1, wire.FlagMsg|wire.FlagEnd)
		h.Codec = codec
		p.Send(rawframe.Define(uint16(generation+1), "/test.Service/Echo"), rawframe.Bytes(h))
		f, code, message := p.AwaitResult(h.Stream)
		if code != trunkcall.Unimplemented || f.Flags&wire.FlagRefused == 0 {
			t.Errorf("%v, flags %#x", code, f.Flags)
		}
		wantsText(t, message, map[uint8]string{9: "other", 10: "acme"}[codec], "1 (protobuf)", "9 (acme)")
	}
}

func TestCodecsThatCannotBeAreTold(t *testing.T) {
	for _, wrong := range []struct {
		name   string
		codecs []trunkcall.Codec
		says   []string
	}{
		{"two of one number", []trunkcall.Codec{named(9, "acme"), named(9, "other")}, []string{"acme", "other", "9"}},
		{"reserved number", []trunkcall.Codec{named(6, "acme")}, []string{"acme", "6", "reserved"}},
		{"number too large", []trunkcall.Codec{named(16, "acme")}, []string{"acme", "16"}},
		{"no name", []trunkcall.Codec{named(8, "")}, []string{"8"}},
		{"name too long", []trunkcall.Codec{named(8, strings.Repeat("n", 256))}, []string{"255"}},
		{"name that is no text", []trunkcall.Codec{named(8, "\xff")}, []string{"xff"}},
		{"nil", []trunkcall.Codec{nil}, []string{"nil"}},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			faulty(t, "mem:none", trunkcall.WithCodecs(wrong.codecs...), wrong.says...)
		})
	}
	faulty(t, "mem:none", trunkcall.WithCodec(nil), "codec", "nil")
	_, c := join(t)
	_, err := echo.Call(soon(t), c, text("x"), trunkcall.CallCodec(named(16, "acme")))
	wantsText(t, wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent).Message, "acme", "16")
}

func TestRawMessagesAreBytes(t *testing.T) {
	bytesEcho := trunkcall.Unary[[]byte, []byte]("/test.Service/Bytes")
	_, target := serve(t, nil, append(standard(), bytesEcho.Handler(func(_ context.Context, in *[]byte) (*[]byte, error) {
		return in, nil
	}))...)
	c := dial(t, target, trunkcall.WithCodec(trunkcall.Raw))
	for _, want := range []string{"", "as they are", strings.Repeat("long ", 50_000)} {
		in := []byte(want)
		out, err := bytesEcho.Call(soon(t), c, &in)
		if err != nil || string(*out) != want {
			t.Fatalf("%d bytes: %v", len(want), err)
		}
		var again []byte
		if err := c.Invoke(soon(t), unary("/test.Service/Bytes"), in, &again); err != nil || string(again) != want {
			t.Fatalf("%d bytes by name: %v", len(want), err)
		}
	}
	for _, message := range []any{text("x"), "x", (*[]byte)(nil), nil} {
		err := c.Invoke(soon(t), unary("/test.Service/Bytes"), message, &[]byte{})
		wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent).Message, "[]byte")
	}
	err := c.Invoke(soon(t), unary("/test.Service/Bytes"), []byte("x"), new(string))
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "*[]byte", "*string")
}

func TestRawBytesBelongToWhoReceivedThem(t *testing.T) {
	data := []byte("first")
	kept := make([]byte, 0, 16)
	if err := trunkcall.Raw.Decode(data, &kept); err != nil {
		t.Fatal(err)
	}
	copy(data, "other")
	if string(kept) != "first" || cap(kept) != 16 {
		t.Errorf("%q, cap %d", kept, cap(kept))
	}
}

// What a codec cannot carry is not offered in it (status.md 1): neither side is broken.
func TestACodecThatIsNotForTheMessagesOfAMethodIsUnimplemented(t *testing.T) {
	type form struct{ Name string }
	forms := trunkcall.Unary[form, form]("/test.Service/Form")
	_, c := join(t, forms.Handler(func(_ context.Context, in *form) (*form, error) { return in, nil }))
	err := c.Invoke(soon(t), unary("/test.Service/Echo"), "text", new(any), trunkcall.CallCodec(codefirst.MessagePack))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.Refused).Message, "msgpack cannot carry the messages of this method")
	err = c.Invoke(soon(t), unary("/test.Service/Form"), text("x"), text(""))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.Refused).Message, "protobuf cannot carry the messages of this method")
	_, err = forms.Call(soon(t), c, &form{"x"})
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent).Message, "protobuf cannot carry the messages of this method", "form")
	_, err = forms.Call(soon(t), c, &form{"x"}, trunkcall.CallCodec(codefirst.JSON))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.Refused).Message, "json cannot carry the messages of this method")
	_, target := serve(t, serverOptions{trunkcall.WithCodecs(codefirst.JSON)}, forms.Handler(func(_ context.Context, in *form) (*form, error) { return in, nil }))
	if out, err := forms.Call(soon(t), dial(t, target), &form{"x"}, trunkcall.CallCodec(codefirst.JSON)); err != nil || out.Name != "x" {
		t.Errorf("%v, %v", out, err)
	}
}

// ofSize is a message as vtprotobuf generates them.
type ofSize int

func (m ofSize) SizeVT() int { return int(m) }

func (m ofSize) MarshalToSizedBufferVT([]byte) (int, error) { return int(m), nil }

func TestMemoryForALargeMessageIsLittleLargerThanIt(t *testing.T) {
	for _, size := range []int{1 << 20, 16 << 20} {
		if b, err := trunkcall.Protobuf.Append(nil, ofSize(size)); err != nil || cap(b) > size+64<<10 {
			t.Errorf("%d bytes for a message of %d: %v", cap(b), size, err)
		}
	}
}
