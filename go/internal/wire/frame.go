package wire

import (
	"encoding/binary"
	"fmt"
)

// HeaderSize is the length of every frame header in bytes.
const HeaderSize = 16

// Type says what a frame is (section 3.2).
type Type uint8

// The frame types of version 1. Types from 0x80 up are skipped when unknown.
const (
	Define Type = 1 + iota
	Call
	Data
	Result
	Credit
	Cancel
	Ping
	GoAway
)

const firstSkippable Type = 0x80

var typeNames = [...]string{"0", "DEFINE", "CALL", "DATA", "RESULT", "CREDIT", "CANCEL", "PING", "GOAWAY"}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %#02x", uint8(t))
}

// Flags are the bits 16 to 23 of the third header word; each is defined for
// some types only (section 3.3).
type Flags uint8

// The flags.
const (
	FlagEnd      Flags = 0x01 // CALL, DATA: the caller sends no more messages
	FlagMsg      Flags = 0x02 // CALL, DATA, RESULT: the payload is a message or a piece of one
	FlagMore     Flags = 0x04 // CALL, DATA: the message goes on in the next frame of the stream
	FlagMeta     Flags = 0x08 // CALL, DATA, RESULT: the body begins with a metadata block
	FlagOneWay   Flags = 0x10 // CALL: the answer says accepted, not done
	FlagPool     Flags = 0x10 // DATA: charged to the pool, not to the window of its stream
	FlagRefused  Flags = 0x10 // RESULT: the call was never started
	FlagCut      Flags = 0x20 // RESULT: the session ended a started call
	FlagStripped Flags = 0x40 // RESULT: details were dropped or the message shortened to fit
	FlagAck      Flags = 0x01 // PING, GOAWAY
)

// allowedFlags is indexed by type.
var allowedFlags = [...]Flags{
	Call:   FlagEnd | FlagMsg | FlagMore | FlagMeta | FlagOneWay,
	Data:   FlagEnd | FlagMsg | FlagMore | FlagMeta | FlagPool,
	Result: FlagMsg | FlagMeta | FlagRefused | FlagCut | FlagStripped,
	Ping:   FlagAck,
	GoAway: FlagAck,
}

// StreamID names a stream: slot in the low 20 bits, generation in the next
// 11, and the top bit set for calls that the accepting side opened.
type StreamID uint32

const (
	slotBits      = 20
	maxSlot       = 1<<slotBits - 1
	maxGeneration = 1<<11 - 1
	initiatorBit  = 1 << 31
)

// MakeStreamID joins the three fields.
func MakeStreamID(slot uint32, generation uint16, byAcceptor bool) StreamID {
	id := StreamID(slot&maxSlot) | StreamID(generation&maxGeneration)<<slotBits
	if byAcceptor {
		id |= initiatorBit
	}
	return id
}

// Slot is the index of the stream in its caller's table; 0 is the connection.
func (id StreamID) Slot() uint32 { return uint32(id) & maxSlot }

// Generation counts the uses of the slot, 1 to 2047 and round again.
func (id StreamID) Generation() uint16 { return uint16(id>>slotBits) & maxGeneration }

// ByAcceptor reports whether the side that accepted the connection opened the
// call.
func (id StreamID) ByAcceptor() bool { return id&initiatorBit != 0 }

// Header is a frame header.
type Header struct {
	Length      uint32 // of the body, 24 bits
	Type        Type
	Stream      StreamID
	Code        uint16 // method id in CALL and DEFINE, status in RESULT
	Flags       Flags
	Codec       uint8  // 4 bits
	Compression uint8  // 4 bits
	Word        uint32 // CALL: microseconds left; RESULT: server time or retry-after; CREDIT: bytes; CANCEL, GOAWAY: reason; PING: opaque
}

// ParseHeader reads the header at the start of b, which holds at least
// HeaderSize bytes. It judges nothing; see Check.
func ParseHeader(b []byte) Header {
	_ = b[HeaderSize-1]
	w0 := binary.LittleEndian.Uint32(b)
	w2 := binary.LittleEndian.Uint32(b[8:])
	return Header{
		Length:      w0 & 0xffffff,
		Type:        Type(w0 >> 24),
		Stream:      StreamID(binary.LittleEndian.Uint32(b[4:])),
		Code:        uint16(w2),
		Flags:       Flags(w2 >> 16),
		Codec:       uint8(w2>>24) & 0xf,
		Compression: uint8(w2 >> 28),
		Word:        binary.LittleEndian.Uint32(b[12:]),
	}
}

// AppendHeader appends h.
func AppendHeader(dst []byte, h Header) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, h.Length&0xffffff|uint32(h.Type)<<24)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Stream))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.Code)|uint32(h.Flags)<<16|
		uint32(h.Codec&0xf)<<24|uint32(h.Compression&0xf)<<28)
	return binary.LittleEndian.AppendUint32(dst, h.Word)
}

// Check judges a received header on its own, in the order of section 3.9:
// the first rule broken is the one reported. local is what the receiver
// accepts; fromAcceptor says that the side that accepted the connection sent
// the frame. What depends on the state of the session is judged there.
func (h *Header) Check(local *Settings, fromAcceptor bool) *Error {
	unknown := h.Type == 0 || h.Type > GoAway
	switch {
	case unknown && h.Type < firstSkippable:
		return violation(ErrType, "undefined frame type %#02x", uint8(h.Type))
	case h.Length > local.FrameBody:
		return violation(ErrLength, "%v body of %d bytes exceeds max_frame_body %d", h.Type, h.Length, local.FrameBody)
	case unknown:
		return nil
	}
	allowed := Flags(0)
	if int(h.Type) < len(allowedFlags) {
		allowed = allowedFlags[h.Type]
	}
	if extra := h.Flags &^ allowed; extra != 0 {
		return violation(ErrFlags, "undefined flag %#02x on %v", uint8(extra), h.Type)
	}
	switch h.Type {
	case Call, Data, Result:
		return h.checkStreamFrame(fromAcceptor)
	case Credit, Cancel:
		return h.checkControl(fromAcceptor)
	default:
		return h.checkConnectionFrame(local)
	}
}

func (h *Header) checkStreamFrame(fromAcceptor bool) *Error {
	if err := h.checkCombination(); err != nil {
		return err
	}
	if h.Type == Data && h.Code != 0 {
		return violation(ErrReserved, "DATA carries a method or status")
	}
	if h.Flags&FlagMsg == 0 {
		if h.Compression != 0 {
			return violation(ErrReserved, "%v names a compression without a message", h.Type)
		}
		if h.Codec != 0 && h.Type != Call {
			return violation(ErrReserved, "%v names a codec without a message", h.Type)
		}
	}
	if h.Type == Data && h.Word != 0 {
		return violation(ErrReserved, "the last word of DATA is not zero")
	}
	if err := h.checkStreamID(); err != nil {
		return err
	}
	if h.Type == Result && h.Code > uint16(maxCode) {
		return violation(ErrValue, "undefined status %d", h.Code)
	}
	fromCaller := h.Stream.ByAcceptor() == fromAcceptor
	switch {
	case h.Type == Call && !fromCaller,
		h.Type == Data && h.Flags&FlagEnd != 0 && !fromCaller,
		h.Type == Data && h.Flags&FlagMeta != 0 && fromCaller,
		h.Type == Result && fromCaller:
		return violation(ErrDirection, "%v from the wrong side", h.Type)
	}
	return nil
}

func (h *Header) checkCombination() *Error {
	f := h.Flags
	if h.Type == Result {
		switch {
		case f&FlagMsg != 0 && (h.Code != 0 || f&(FlagRefused|FlagCut) != 0):
			return violation(ErrFlags, "RESULT carries a message although the call failed")
		case f&(FlagRefused|FlagCut) == FlagRefused|FlagCut:
			return violation(ErrFlags, "RESULT is both refused and cut")
		case f&(FlagRefused|FlagCut) != 0 && h.Code == 0:
			return violation(ErrFlags, "RESULT is OK and yet refused or cut")
		}
		return nil
	}
	switch {
	case f&FlagMore != 0 && f&FlagMsg == 0:
		return violation(ErrFlags, "%v has MORE without MSG", h.Type)
	case f&FlagMore != 0 && f&FlagEnd != 0:
		return violation(ErrFlags, "%v has both MORE and END", h.Type)
	case h.Type == Data && f&(FlagEnd|FlagMeta) == FlagEnd|FlagMeta:
		return violation(ErrFlags, "DATA has both END, which is the caller's, and META, which is the callee's")
	case h.Type == Data && f&FlagPool != 0 && f&FlagMsg == 0:
		return violation(ErrFlags, "DATA has POOL without MSG")
	case h.Type == Call && f&FlagOneWay != 0 && (f&FlagMsg == 0 || f&(FlagEnd|FlagMore) == 0):
		return violation(ErrFlags, "a one-way CALL lacks its single message")
	}
	return nil
}

func (h *Header) checkControl(fromAcceptor bool) *Error {
	if h.Code != 0 || h.Codec != 0 || h.Compression != 0 {
		return violation(ErrReserved, "the third word of %v is not zero", h.Type)
	}
	if h.Type == Cancel || h.Stream != 0 { // CREDIT that names no stream is of the pool
		if err := h.checkStreamID(); err != nil {
			return err
		}
	}
	if h.Type == Credit {
		if h.Word == 0 || h.Word > MaxWindow {
			return violation(ErrValue, "CREDIT of %d bytes", h.Word)
		}
		return nil
	}
	if h.Stream.ByAcceptor() != fromAcceptor {
		return violation(ErrDirection, "CANCEL from the wrong side")
	}
	return nil
}

func (h *Header) checkConnectionFrame(local *Settings) *Error {
	if h.Stream != 0 {
		return violation(ErrReserved, "%v names a stream", h.Type)
	}
	if h.Codec != 0 || h.Compression != 0 || h.Code != 0 && h.Type != Define {
		return violation(ErrReserved, "the third word of %v is not zero", h.Type)
	}
	if h.Type != Define {
		return nil
	}
	if h.Word != 0 {
		return violation(ErrReserved, "the last word of DEFINE is not zero")
	}
	if h.Code == 0 || uint32(h.Code) > local.Methods {
		return violation(ErrMethod, "DEFINE of id %d; max_methods is %d", h.Code, local.Methods)
	}
	return nil
}

func (h *Header) checkStreamID() *Error {
	if h.Stream.Slot() == 0 || h.Stream.Generation() == 0 {
		return violation(ErrStreamID, "%v for slot %d, generation %d", h.Type, h.Stream.Slot(), h.Stream.Generation())
	}
	return nil
}
