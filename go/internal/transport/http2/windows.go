package http2

import (
	"encoding/binary"
	"slices"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Windows that learn the path, as the pool of native connections does (protocol.md
// 9.8, decision 0034). Those of streams begin with Config.Window, that of the connection
// with Config.ConnWindow. A PING that goes out with a WINDOW_UPDATE measures what comes
// until its ACK; if that was two thirds of a window, at a higher rate than when one last
// grew, the window was too small for the path.
//
// What was learned goes to streams in two ways, each of which is bounded by mostLocked for all
// streams together. SETTINGS say with how much they begin (beginWithLocked), the less the more
// there are at once, and the more of it lies unread in others (partLocked). Streams whose handlers
// consume what arrives are lent the rest (lendLocked).

const (
	// leastMeasured is what must have come since the last PING before another measures the
	// path. Each that leads to no growth doubles it, up to mostMeasured.
	leastMeasured = 64 << 10
	mostMeasured  = 4 << 20
	// measuresWithin is how late an ACK may be to measure anything.
	measuresWithin = 10e9
	// idleShrinks is how long no DATA comes before what was learned is halved.
	idleShrinks = 60e9
)

// path is what a connection has learned of the way to its peer.
type path struct {
	stream int64 // the window of streams whose handlers take what comes
	conn   int64 // the window of the connection: what the peer has left of it, and what is owed
	lent   int64 // by how much the windows of open streams exceed told together
	dataAt int64 // when DATA came last, later by the minutes that windows were halved for

	told    int64 // what streams begin with, as the last SETTINGS said
	unacked int   // SETTINGS of ours that the peer has not acknowledged
	slack   int64 // by how much the last of those lowers told: so much may come in excess
	streams int   // the most at once since there was credit for the connection
	before  int   // the most at once in the time before that
	full    int   // streams in which something is beyond

	since    int64   // bytes of DATA since the last PING
	every    int64   // how many there must be before the next
	round    uint32  // how many PINGs there were
	pinged   bool    // the last was not answered yet
	pingedAt int64   // when it was sent
	filled   int64   // the most since then that came of a stream, if it was two thirds of its window
	rate     float64 // bytes in a nanosecond when a window last grew; 0: none has
}

// arrivedOverPathLocked takes note of DATA, for whatever stream.
func (c *Conn) arrivedOverPathLocked(length int64) {
	p := &c.path
	least, leastConn := int64(c.config.Window), int64(c.config.ConnWindow)
	for ; c.lastRead-p.dataAt >= idleShrinks && (p.stream > least || p.conn > leastConn); p.dataAt += idleShrinks {
		p.stream, p.conn = max(p.stream/2, least), max(p.conn/2, leastConn)
		p.rate, p.every = 0, leastMeasured // the path may have changed
		c.tellLocked()
	}
	p.dataAt = c.lastRead
	p.since += length
}

// measureLocked sends a PING behind credit, which costs no write of its own, if it is
// worth it.
func (c *Conn) measureLocked() {
	p := &c.path
	most := c.mostLocked()
	if p.pinged || p.since < p.every || p.stream >= most && p.conn >= most {
		return
	}
	p.round++
	p.pinged, p.pingedAt, p.since, p.filled = true, roles.Clock(), 0, 0
	_ = c.framer.WritePing(false, p.word())
}

// word is what the PING of the round carries.
func (p *path) word() (word [8]byte) {
	copy(word[:], "path")
	binary.BigEndian.PutUint32(word[4:], p.round)
	return word
}

// sampleLocked counts what comes of a stream between a PING and its ACK.
func (c *Conn) sampleLocked(b *inbound, length int64) {
	p := &c.path
	if b.round != p.round {
		b.round, b.sampled = p.round, 0
	}
	if b.sampled += length; 3*b.sampled >= 2*b.kept {
		p.filled = max(p.filled, b.sampled)
	}
}

// measuredLocked takes the ACK of a PING, and reports whether it was one that measures.
func (c *Conn) measuredLocked(word [8]byte) bool {
	p := &c.path
	if !p.pinged || word != p.word() {
		return false
	}
	p.pinged = false
	took := c.lastRead - p.pingedAt
	rate := float64(p.since) / float64(max(took, 1))
	if took > measuresWithin || rate < 1.1*p.rate || c.share.Exceeded() || !c.enlargeLocked(2*p.filled, 3*p.since >= 2*p.conn) {
		p.every = min(2*p.every, mostMeasured)
		return true
	}
	p.rate, p.every = rate, leastMeasured
	c.tellLocked()
	c.returnConnCreditLocked()
	return true
}

// enlargeLocked makes the windows of streams, and that of the connection, at least so large;
// crowded says that twice what came fits the latter better. It reports whether one of them has
// grown.
func (c *Conn) enlargeLocked(stream int64, crowded bool) (grown bool) {
	p := &c.path
	most := c.mostLocked()
	conn := stream
	if crowded {
		conn = max(conn, 2*p.since)
	}
	if stream = min(stream, most); stream > p.stream {
		p.stream, grown = stream, true
	}
	if conn = min(conn, most); conn > p.conn {
		c.recvOwed += max(conn-c.recvWindow-c.recvOwed, 0)
		p.conn, grown = conn, true
	}
	return grown
}

// mostLocked is what windows may grow to. It is also what all streams together may have beyond
// their first windows, by SETTINGS and by lending each.
func (c *Conn) mostLocked() int64 { return min(int64(c.config.MostWindow), c.share.Part()) }

// makeWayLocked enlarges the windows for a message that begins, since its length is known. Less
// than a quarter is owed and unsent.
func (c *Conn) makeWayLocked(s *Stream, length int64) {
	b := &s.body
	if length = length + length/2; length <= b.kept || c.share.Exceeded() {
		return
	}
	c.enlargeLocked(length, false)
	c.tellLocked()
	c.lendLocked(b, min(length, c.path.stream))
	c.returnConnCreditLocked()
}

// lendLocked enlarges the window of a stream to the given size, as far as the bound for all streams
// allows. Each is lent at most half of what is left.
func (c *Conn) lendLocked(b *inbound, window int64) {
	left := c.mostLocked() - c.path.lent
	if more := min(window-b.kept, left/2); more > 0 {
		b.kept += more
		b.owed += more
		c.path.lent += more
	}
}

// fitLocked makes the window of a stream as large as the path needs; its handler has consumed what
// came. If the window is to be smaller, credit that is owed is withheld.
func (c *Conn) fitLocked(b *inbound) {
	window := c.path.stream
	if c.share.Exceeded() {
		c.tellLocked()
		window = c.path.told
	}
	if window >= b.kept {
		c.lendLocked(b, window)
		return
	}
	less := min(b.kept-window, b.owed)
	b.kept -= less
	b.owed -= less
	c.path.lent -= less
}

// settleLentLocked ends the accounting of a window that the peer cannot use any more.
func (c *Conn) settleLentLocked(b *inbound) {
	c.path.lent -= b.kept - c.path.told
	b.kept = c.path.told
}

// tellLocked sends SETTINGS with the window that streams begin with: what was learned, or a part of
// it if there are many streams. It does so if that is a quarter more than the peer was told, or half
// of what that was more than at first.
func (c *Conn) tellLocked() {
	p := &c.path
	if p.unacked > 0 {
		return
	}
	least, more := int64(c.config.Window), int64(0)
	if !c.share.Exceeded() {
		more = max(min(c.partLocked(), p.stream-least), 0)
	}
	window := least + more
	if 4*window >= 5*p.told || window < p.told && 2*more <= p.told-least {
		c.beginWithLocked(window)
	}
}

// partLocked is what each stream may begin with beyond the least, so that all together keep to the
// bound: what lies unread cannot be taken back, however little is told now. So streams that have
// more than their part leave the less for others.
func (c *Conn) partLocked() int64 {
	p := &c.path
	left, others := c.mostLocked(), int64(max(p.streams, p.before, 1))
	if p.full > 0 {
		beyond := make([]int64, 0, p.full)
		for _, s := range c.streams {
			if s.body.beyond > 0 {
				beyond = append(beyond, s.body.beyond)
			}
		}
		slices.Sort(beyond)
		for _, most := range slices.Backward(beyond) {
			if others == 1 || most <= left/others {
				break
			}
			left = max(left-most, 0)
			others--
		}
	}
	return left / others
}

// countLocked notes what lies unread in a stream of what it was told that it might send.
func (c *Conn) countLocked(b *inbound) {
	c.uncountLocked(b)
	if b.beyond = c.path.told - b.window - b.owed - int64(c.config.Window); b.beyond > 0 {
		c.path.full++
	}
}

func (c *Conn) uncountLocked(b *inbound) {
	if b.beyond > 0 {
		c.path.full--
	}
	b.beyond = 0
}

// beginWithLocked changes the window that streams begin with, and with it that of all that
// there are (RFC 9113 6.9.2).
func (c *Conn) beginWithLocked(window int64) {
	p := &c.path
	change := window - p.told
	p.told, p.slack = window, max(-change, 0)
	p.unacked++
	_ = c.framer.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: uint32(window)})
	for _, s := range c.streams {
		s.body.kept += change
		s.body.window += change
		c.returnCreditLocked(s)
	}
	for i := range c.late {
		c.late[i].window += change
	}
}

// toldLocked takes the peer's acknowledgement of SETTINGS, and reports whether there was
// something to acknowledge.
func (c *Conn) toldLocked() bool {
	p := &c.path
	if p.unacked == 0 {
		return false
	}
	p.unacked--
	p.slack = 0
	c.tellLocked()
	c.returnConnCreditLocked()
	return true
}

// oversteppedLocked reports whether a frame exceeded a window that has so much left.
func (c *Conn) oversteppedLocked(length, left int64) bool {
	return length > 0 && left < -c.path.slack
}

// returnConnCreditLocked returns credit for the connection once it is a quarter of the window. None
// is returned before the peer has acknowledged SETTINGS that lower the windows of streams.
func (c *Conn) returnConnCreditLocked() {
	p := &c.path
	if above := c.recvWindow + c.recvOwed - p.conn; above > 0 {
		c.recvOwed -= min(above, c.recvOwed)
	}
	if 4*c.recvOwed < p.conn || p.slack > 0 {
		return
	}
	_ = c.framer.WriteWindowUpdate(0, uint32(c.recvOwed))
	c.recvWindow += c.recvOwed
	c.recvOwed = 0
	p.before, p.streams = p.streams, len(c.streams)
	c.tellLocked()
	c.measureLocked()
}

// returnCreditLocked tells the peer what it may send more on a stream, once it is a
// quarter.
func (c *Conn) returnCreditLocked(s *Stream) {
	b := &s.body
	if s.gone {
		return
	}
	c.countLocked(b)
	if s.ended || 4*b.owed < b.kept {
		return
	}
	if c.fitLocked(b); b.owed == 0 {
		return
	}
	_ = c.framer.WriteWindowUpdate(s.id, uint32(b.owed))
	b.window += b.owed
	b.owed = 0
	c.measureLocked()
	if b.starved != 0 && b.window >= c.leastWindow() {
		b.underWay.Wait(roles.Clock() - b.starved)
		b.starved = 0
		c.armLocked(b.underWay.By(c.config.Stall))
	}
}
