package wire

// ID is what names the call on the wire, from Session.Open or the end of
// Events.Accept on.
func (st *Stream) ID() StreamID { return st.id }

// Windows are what the two directions of a stream have left, in bytes.
type Windows struct {
	Send    int64 // what the peer lets this side send
	Receive int64 // what this side lets the peer send
	Owed    int64 // credit that is owed and was not granted yet
	Kept    int64 // what Receive and Owed make once all was consumed
}

// Windows tells how much of its windows an open stream has left.
func (s *Session) Windows(st *Stream) Windows {
	w := Windows{Send: st.sendWindow, Receive: st.recvWindow, Kept: int64(s.options.Local.Window)}
	if st.flow != nil {
		w.Owed = int64(st.flow.owed)
		w.Kept += int64(st.flow.grown)
	}
	return w
}

// HeldBytes is what messages count that are in progress or not consumed yet
// (section 9.6).
func (s *Session) HeldBytes() uint64 { return s.promised + s.held }
