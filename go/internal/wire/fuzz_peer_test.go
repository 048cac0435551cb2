package wire

// The peer of FuzzSession: frames that are right as far as the session's state
// tells, so that scripts live long, and wild ones.

// received is the stream that a frame of the peer is to be on: one that it
// called, or one that it is to answer.
func (w *world) receiver() *Stream {
	b := w.next()
	list := make([]*Stream, 0, 16)
	for i := range w.s.served {
		if st := w.s.served[i].stream; st != nil && !st.has(streamRemoteEnd) {
			list = append(list, st)
		}
	}
	for i := range w.s.calls {
		if st := w.s.calls[i].stream; st != nil && st != abandoned && !st.has(streamOneWay) {
			list = append(list, st)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[int(b)%len(list)]
}

func (w *world) peerCall() []byte {
	b := w.next()
	slot := uint32(b&7) + 1
	generation := uint16(1)
	if int(slot) <= len(w.s.served) {
		entry := &w.s.served[slot-1]
		if entry.stream != nil || entry.freeAt > w.s.moved {
			return nil
		}
		generation = entry.last%maxGeneration + 1
	}
	h := Header{Type: Call, Stream: MakeStreamID(slot, generation, !w.s.options.Acceptor), Codec: b >> 3 & 1}
	if b&64 != 0 {
		h.Word = uint32(w.next())<<20 + 1
	}
	var body []byte
	kind := w.next()
	if kind&64 != 0 {
		h.Flags |= FlagMeta
		body = AppendMetadata(body, Metadata{{"k", "v"}}, &Own{Attempt: 1})
		body = body[:len(body)-int(kind>>7)] // perhaps cut short
	}
	if h.Code = uint16(len(w.s.bindings)); h.Code > 0 && b&32 != 0 {
		h.Code--
	} else {
		h.Code = 0
	}
	if h.Code == 0 {
		body = append(body, 2, '/', 'n')
	}
	switch kind & 7 {
	case 0:
	case 1:
		h.Flags |= FlagEnd
	case 2, 3:
		h.Flags |= FlagMsg | FlagMore
		body = AppendVarint(body, MinPiece+uint32(w.next())<<11)
		body = append(body, filler(MinPiece-len(body))...)
		if kind&8 != 0 {
			h.Flags |= FlagOneWay
		}
	case 4, 5:
		h.Flags |= FlagMsg
		body = append(body, filler(min(w.size(), MinPiece-len(body)))...)
	default:
		h.Flags |= FlagMsg | FlagEnd
		body = append(body, filler(min(w.size(), MinPiece-len(body)))...)
		if kind&8 != 0 {
			h.Flags |= FlagOneWay
		}
	}
	return framed(h, body)
}

func (w *world) peerData() []byte {
	st := w.receiver()
	if st == nil {
		return nil
	}
	b := w.next()
	h := Header{Type: Data, Stream: st.id}
	room := int(min(st.recvWindow-frameCost, MinPiece))
	pool := Flags(0)
	if b&128 != 0 && w.s.pool.left > frameCost {
		room, pool = int(min(w.s.pool.left-frameCost, MinPiece)), FlagPool
	}
	toCallee := !st.has(streamCaller)
	var body []byte
	if !toCallee && !st.has(streamAnswered) && b&64 != 0 {
		h.Flags |= FlagMeta
		body = AppendMetadata(body, Metadata{{"k", "v"}}, nil)
		room -= len(body)
	}
	if st.assembling() {
		left := int(st.flow.total - st.flow.got)
		h.Flags |= FlagMsg | pool
		h.Codec, h.Compression = st.flow.codec, st.flow.packed
		switch {
		case len(body)+room < MinPiece && left > room:
			return nil
		case left > room || left == room && b&1 != 0:
			h.Flags |= FlagMore
			return framed(h, body, filler(MinPiece-len(body)))
		}
		if toCallee && (b&2 != 0 || st.has(streamOneWay)) {
			h.Flags |= FlagEnd
		}
		return framed(h, body, filler(left))
	}
	if b&3 > 0 && room >= 0 {
		h.Flags |= FlagMsg | pool
		h.Codec = st.codec
	}
	switch {
	case h.Flags&FlagMsg == 0:
		if toCallee && b&12 == 0 {
			h.Flags |= FlagEnd
		}
		return framed(h, body)
	case b&4 != 0 && len(body)+room == MinPiece:
		h.Flags |= FlagMore
		body = AppendVarint(body, MinPiece+uint32(w.next())<<11)
		return framed(h, body, filler(MinPiece-len(body)))
	}
	if toCallee && b&8 != 0 {
		h.Flags |= FlagEnd
	}
	return framed(h, body, filler(min(w.size(), room)))
}

func (w *world) peerResult() []byte {
	b := w.next()
	slot := int(w.next())%8 + 1
	if slot > len(w.s.calls) || w.s.calls[slot-1].stream == nil {
		return nil
	}
	entry := &w.s.calls[slot-1]
	st := entry.stream
	h := Header{Type: Result, Stream: MakeStreamID(uint32(slot), entry.last, w.s.options.Acceptor), Word: uint32(b)}
	var body []byte
	if b&4 != 0 {
		h.Flags |= FlagMeta
		body = AppendMetadata(body, Metadata{{"k", "v"}}, nil)
	}
	room := int(min(st.recvWindow-frameCost, int64(MinPiece-len(body))))
	switch {
	case b&3 == 0 || st.assembling():
		h.Code, h.Flags = 5, h.Flags|FlagCut
	case b&3 == 1 && !st.has(streamAnswered):
		h.Code, h.Flags = 14, h.Flags|FlagRefused
	case b&3 == 2 && room >= 0 && !st.has(streamOneWay):
		h.Flags |= FlagMsg
		h.Codec = st.codec
		body = append(body, filler(min(w.size(), room))...)
	}
	if h.Code != 0 {
		body, _ = AppendStatus(body, "message", nil, 100)
		body = body[:len(body)-int(b>>7)] // perhaps malformed
	}
	return framed(h, body)
}

func (w *world) peerControl() []byte {
	b := w.next()
	var st *Stream
	if b&64 != 0 {
		st = w.pick(w.own)
	} else {
		st = w.pick(w.served)
	}
	switch b & 7 {
	case 0:
		if len(w.s.bindings) < 20 {
			return AppendDefine(nil, uint16(max(len(w.s.bindings), 1)), "/"+string(rune(b)))
		}
	case 1:
		h := Header{Type: Ping, Word: uint32(b), Flags: Flags(b >> 3 & 1)}
		if b&16 != 0 {
			h.Word = w.s.pool.word // of the last PING
		}
		return framed(h)
	case 2:
		if w.next() < 8 {
			return framed(Header{Type: GoAway, Flags: Flags(b >> 3 & 1)})
		}
	case 3: // also for calls that are over
		if st != nil && !st.has(streamCaller) {
			return framed(Header{Type: Cancel, Stream: st.id, Word: uint32(b >> 3)})
		}
	case 4: // as above
		if st != nil && !st.Open() && st.has(streamCaller) {
			return framed(Header{Type: Data, Stream: st.id, Flags: FlagMsg | Flags(b)&FlagPool}, filler(10))
		}
	case 5:
		if w.s.poolRoom < 1<<24 {
			return framed(Header{Type: Credit, Word: uint32(w.next())<<10 + 1})
		}
	default:
		if st != nil && st.sendWindow < 1<<24 {
			return framed(Header{Type: Credit, Stream: st.id, Word: uint32(w.next())<<10 + 1})
		}
	}
	return nil
}

// wild makes a frame that may be wrong.
func (w *world) wild(kind Type) []byte {
	b := w.next()
	h := Header{Type: kind, Flags: Flags(w.next()), Codec: b >> 2 & 1, Compression: b >> 3 & 1 & (b >> 4)}
	slot := uint32(b&3) + 1
	byPeer := b&32 != 0 || kind == Call || kind == Cancel
	if kind == Result {
		byPeer = false
	}
	h.Stream = MakeStreamID(slot, w.peerGen[slot], w.s.options.Acceptor != byPeer)
	if !byPeer {
		if st := w.pick(w.own); st != nil {
			h.Stream = st.id
		}
	}
	var body []byte
	switch kind {
	case Define:
		h.Stream, h.Flags, h.Codec, h.Compression, h.Code = 0, 0, 0, 0, uint16(b>>5)+1
		return framed(h, []byte{2, '/', b})
	case Call:
		if b&64 == 0 {
			w.peerGen[slot] = w.peerGen[slot]%maxGeneration + 1
			h.Stream = MakeStreamID(slot, w.peerGen[slot], w.s.options.Acceptor != byPeer)
		}
		h.Flags &= allowedFlags[Call]
		h.Word = uint32(w.next()) << 18
	case Data:
		h.Flags &= allowedFlags[Data]
	case Result:
		h.Flags &= allowedFlags[Result]
		if h.Code = uint16(b >> 6); h.Flags&FlagMsg != 0 {
			h.Code = 0
		}
	case Credit:
		h.Flags, h.Codec, h.Compression, h.Word = 0, 0, 0, uint32(w.next())<<10+1
	case Cancel:
		h.Flags, h.Codec, h.Compression, h.Word = 0, 0, 0, uint32(b>>6)
	case Ping, GoAway:
		h.Stream, h.Flags, h.Codec, h.Compression = 0, h.Flags&1, 0, 0
		return framed(h)
	}
	if h.Flags&FlagMsg == 0 {
		h.Compression = 0
		if h.Flags &^= FlagMore; kind != Call {
			h.Codec = 0
		}
		if kind == Data {
			h.Flags &^= FlagPool
		}
	}
	if kind == Credit || kind == Cancel {
		return framed(h)
	}
	if h.Flags&FlagMeta != 0 {
		body = AppendMetadata(body, Metadata{{"k", "v"}}, nil)
	}
	if kind == Call {
		body = append(body, 2, '/', 'n')
	}
	if h.Flags&FlagMore != 0 {
		if b&128 != 0 {
			body = AppendVarint(body, 100_000+uint32(b)<<9)
		}
		h.Flags &^= FlagEnd
		body = append(body, filler(MinPiece-len(body))...)
	} else if h.Flags&FlagMsg != 0 {
		body = append(body, filler(w.size())...)
	}
	return framed(h, body[:min(len(body), DefaultFrameBody)])
}
