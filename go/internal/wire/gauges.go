package wire

// ID is what names the call on the wire, from Session.Open or the end of
// Events.Accept on.
func (st *Stream) ID() StreamID { return st.id }

// Windows are what the two directions of a stream have left, in bytes.
type Windows struct {
	Send    int64 // what the peer lets this side send
	Receive int64 // what this side lets the peer send
	Owed    int64 // credit that is owed and was not granted yet
	Kept    int64 // Receive and Owed together, once all was consumed
}

// Windows tells how much of its windows an open stream has left.
func (s *Session) Windows(st *Stream) Windows {
	w := Windows{Send: st.sendWindow, Receive: st.recvWindow, Kept: int64(s.options.Local.Window)}
	if st.flow != nil {
		w.Owed = int64(st.flow.owed)
	}
	return w
}

// Pool tells the same of the connection's pools. Kept less Receive and Owed lies in messages that
// were not consumed.
func (s *Session) Pool() Windows {
	return Windows{Send: s.poolRoom, Receive: s.pool.left, Owed: s.pool.owed, Kept: s.pool.kept}
}

// RoundTrip is the shortest round trip, in nanoseconds, that the pool has measured lately; 0: none.
func (s *Session) RoundTrip() int64 { return s.pool.shortest }

// WithheldCredit is the part of the open streams' windows that the peer may not use now: messages
// were not consumed, or their credit was not granted yet.
func (s *Session) WithheldCredit() int64 {
	withheld := int64(0)
	for i := range s.served {
		if st := s.served[i].stream; st != nil && !st.has(streamRemoteEnd) {
			withheld += s.withheld(st)
		}
	}
	for i := range s.calls {
		if st := s.calls[i].stream; st != nil && st != abandoned {
			withheld += s.withheld(st)
		}
	}
	return withheld
}

func (s *Session) withheld(st *Stream) int64 {
	if st.flow == nil {
		return 0
	}
	return max(int64(s.options.Local.Window)-st.recvWindow, 0)
}

// HeldBytes is what messages count that are in progress or not consumed yet
// (section 9.6).
func (s *Session) HeldBytes() uint64 { return s.promised + s.held }
