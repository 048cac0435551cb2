package trunkcall

// Raw is the codec of messages that are bytes already (codec 0,
// spec/protocol.md 3.8). A message is sent as a []byte or *[]byte and received
// into a *[]byte, so that Unary[[]byte, []byte] describes a method of it.
//
// Nobody keeps what is sent: the bytes belong to the sender again when Call or
// Send has returned, or, for a response, as soon as the handler's goroutine has
// encoded it. What is received belongs to the receiver: Decode copies it into
// the slice's own memory if it has room there, else into new memory.
var Raw Codec = raw{}

type raw struct{}

func (raw) Name() string  { return "raw" }
func (raw) Number() uint8 { return 0 }

func (c raw) Append(dst []byte, message any) ([]byte, error) {
	switch m := message.(type) {
	case []byte:
		return append(dst, m...), nil
	case *[]byte:
		if m != nil {
			return append(dst, *m...), nil
		}
	}
	return appendSelf(c, dst, message, "a []byte or a *[]byte that is not nil")
}

func (c raw) Decode(data []byte, message any) error {
	m, ok := message.(*[]byte)
	if !ok || m == nil {
		return decodeSelf(c, data, message, "a *[]byte that is not nil")
	}
	*m = append((*m)[:0], data...)
	return nil
}
