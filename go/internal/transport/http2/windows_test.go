package http2

import (
	"maps"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// sender is a peer that keeps to the windows it is given.
type sender struct {
	*peer
	told    int64            // what streams begin with
	conn    int64            // left of the window of the connection
	left    map[uint32]int64 // of those of streams
	pings   []serverPing     // that it has not answered
	unacked int              // SETTINGS
	pinged  int              // PINGs that came
	changed int              // SETTINGS that came
	reset   map[uint32]h2.ErrCode
	deaf    bool // it takes no note of SETTINGS
}

// serverPing is a PING of the server's, and what the windows of streams allowed before the
// WINDOW_UPDATE that it came with.
type serverPing struct {
	word [8]byte
	left map[uint32]int64
}

func connectSender(t *testing.T, config Config) *sender {
	config.KeepaliveInterval = -1
	s := &sender{peer: connect(t, config).greet(), told: initialWindow, conn: initialWindow, left: map[uint32]int64{}, reset: map[uint32]h2.ErrCode{}}
	s.reads()
	return s
}

// reads takes in all that the server says to what it was sent so far.
func (s *sender) reads() {
	s.t.Helper()
	here := [8]byte{'h', 'e', 'r', 'e'}
	before := maps.Clone(s.left)
	s.frames.WritePing(false, here)
	s.until("PING", func(f h2.Frame) bool {
		switch f := f.(type) {
		case *h2.PingFrame:
			if f.IsAck() {
				return f.Data == here
			}
			s.pings = append(s.pings, serverPing{f.Data, before})
			s.pinged++
		case *h2.SettingsFrame:
			if f.IsAck() || s.deaf {
				break
			}
			if v, ok := f.Value(h2.SettingInitialWindowSize); ok {
				for id := range s.left {
					s.left[id] += int64(v) - s.told
				}
				s.told = int64(v)
			}
			s.unacked++
			s.changed++
		case *h2.WindowUpdateFrame:
			before = maps.Clone(s.left)
			if f.StreamID == 0 {
				s.conn += int64(f.Increment)
			} else if _, ok := s.left[f.StreamID]; ok {
				s.left[f.StreamID] += int64(f.Increment)
			}
		case *h2.RSTStreamFrame:
			s.reset[f.StreamID] = f.ErrCode
		case *h2.GoAwayFrame:
			s.t.Fatalf("GOAWAY %v %q", f.ErrCode, f.DebugData())
		}
		return false
	})
}

// answers acknowledges what came, each PING as if it took so long.
func (s *sender) answers(took time.Duration) {
	for ; s.unacked > 0; s.unacked-- {
		s.frames.WriteSettingsAck()
	}
	for _, ping := range s.pings {
		if took > 0 {
			for id := range ping.left { // it is on its way before the PING is there
				s.sends(id, ping.left[id])
			}
		}
		s.server.mu.Lock()
		s.server.path.pingedAt = roles.Clock() - int64(took)
		s.server.mu.Unlock()
		s.frames.WritePing(true, ping.word)
	}
	s.pings = nil
}

func (s *sender) begins(id uint32, path string) {
	s.open(id, false, path)
	s.left[id] = s.told
}

// sends sends of a stream what the windows allow, at most n bytes, and says how much that was.
func (s *sender) sends(id uint32, n int64) (sent int64) {
	for {
		piece := min(s.conn, s.left[id], n-sent, small/8)
		if piece <= 0 {
			return sent
		}
		s.frames.WriteData(id, false, make([]byte, piece))
		s.conn -= piece
		s.left[id] -= piece
		sent += piece
	}
}

const farAway = 5 * time.Second // so that what the test itself takes makes no difference

// learns sends as a peer far away does, for which each round trip is a windowful, until
// done.
func (s *sender) learns(id uint32, done func() bool) {
	s.t.Helper()
	for round := 0; !done(); round++ {
		if round == 300 {
			s.t.Fatalf("after %d round trips: streams begin with %d", round, s.told)
		}
		s.answers(farAway)
		s.sends(id, 1<<40)
		s.reads()
	}
	s.answers(farAway)
	s.reads()
}

const (
	small = 32 << 10
	most  = 1 << 20
)

func TestWindowsOfAFarPeerGrowWithThePath(t *testing.T) {
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.begins(1, "/upload")
	conn := int64(0)
	s.learns(1, func() bool { conn = max(conn, s.conn); return s.told == most && conn > most/2 })
	s.begins(3, "/upload")
	if n := s.sends(3, 1<<40); n < most/2 {
		t.Errorf("a new stream may send %d bytes at once", n)
	}
	if s.left[1] > 2*most || s.told > most || conn > most {
		t.Errorf("windows of %d, %d for new streams, %d for the connection: above the bound %d", s.left[1], s.told, conn, most)
	}
}

func TestWindowsOfANearPeerStayAndThereAreFewPings(t *testing.T) {
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.begins(1, "/upload")
	const bytes = 16 << 20
	for sent := int64(0); sent < bytes; {
		sent += s.sends(1, 4<<10)
		s.reads()
		s.answers(0)
	}
	if s.changed != 1 || s.left[1] > small || s.conn > 2*small {
		t.Errorf("SETTINGS came %d times; windows of %d and %d", s.changed, s.left[1], s.conn)
	}
	if s.pinged == 0 || s.pinged > 12 { // 64 KiB, doubling to 4 MiB
		t.Errorf("%d PINGs for %d bytes", s.pinged, bytes)
	}
}

func TestAckThatLiesEnlargesNoWindow(t *testing.T) {
	for name, lie := range map[string]func(s *sender){
		"none":        func(*sender) {},
		"another one": func(s *sender) { s.frames.WritePing(true, [8]byte{'p', 'a', 't', 'h', 0, 0, 0, 77}) },
		"too late":    func(s *sender) { s.answers(11 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
			s.answers(0)
			s.begins(1, "/upload")
			for range 64 {
				s.sends(1, 1<<40)
				s.reads()
				lie(s)
			}
			if s.changed != 1 || s.left[1] > small || s.conn > 2*small {
				t.Errorf("SETTINGS came %d times; windows of %d and %d", s.changed, s.left[1], s.conn)
			}
			if name != "too late" && s.pinged != 1 {
				t.Errorf("%d PINGs, none of which was answered", s.pinged)
			}
		})
	}
}

// A rate that does not rise shows that windows are large enough, however late ACKs are.
func TestWindowsStayWhereTheyAreNoHelp(t *testing.T) {
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.answers(0)
	s.begins(1, "/upload")
	s.server.mu.Lock()
	s.server.path.rate = 1 // a gigabyte in a second
	s.server.mu.Unlock()
	for range 64 {
		s.answers(farAway)
		s.sends(1, 1<<40)
		s.reads()
	}
	if s.changed != 1 || s.left[1] > small {
		t.Errorf("SETTINGS came %d times; a window of %d", s.changed, s.left[1])
	}
}

func TestStreamsThatStandStillHoldWhatTheyDidHoweverFastThePathIs(t *testing.T) {
	const streams = 1000
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.begins(1, "/upload")
	s.learns(1, func() bool { return s.told == most })
	sent := int64(0)
	for i := range streams {
		id := uint32(2*i + 3)
		s.begins(id, "/wait")
		sent += s.sends(id, 1<<40)
	}
	for more := int64(1); more > 0; {
		for range 2 { // credit for the connection may come behind the ACK
			s.reads()
			s.answers(0)
		}
		s.reads()
		more = 0
		for i := range streams {
			more += s.sends(uint32(2*i+3), 1<<40)
		}
		sent += more
	}
	// What they begin with, and what was learned: lent, told, and under way when it was told otherwise.
	if limit := int64(streams*small + 3*most); sent > limit || sent < streams*small {
		t.Errorf("%d streams were sent %d bytes, at most %d", streams, sent, limit)
	}
	if n := s.sends(1, small); n != small {
		t.Errorf("a stream beside them may send %d bytes", n)
	}
	passed := int64(0)
	for round := 0; passed < 4*most; round++ {
		if round == 1000 {
			t.Fatalf("a stream beside them has sent %d bytes", passed)
		}
		passed += s.sends(1, 1<<40)
		s.reads()
		s.answers(farAway)
	}
	if len(s.reset) > 0 {
		t.Errorf("resets: %v", s.reset)
	}
}

// Each is filled before the next one is opened.
func TestStreamsThatStandStillHaveTheBoundTogether(t *testing.T) {
	const streams = 40
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.begins(1, "/upload")
	s.learns(1, func() bool { return s.told == most })
	sent := int64(0)
	for i := range uint32(streams) {
		s.begins(2*i+3, "/wait")
		for more := int64(1); more > 0; {
			more = s.sends(2*i+3, 1<<40)
			sent += more
			for range 3 { // credit for the connection may come behind the ACK
				s.reads()
				s.answers(0)
			}
		}
	}
	// What they begin with, and what was learned: lent, told, and under way when it was told otherwise.
	if limit := int64(streams*small + 3*most); sent > limit || sent < streams*small {
		t.Errorf("%d streams were sent %d bytes, at most %d", streams, sent, limit)
	}
	if len(s.reset) > 0 {
		t.Errorf("resets: %v", s.reset)
	}
}

func TestAPeerThatIgnoresSmallerWindowsRunsOutOfCredit(t *testing.T) {
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.begins(1, "/upload")
	s.learns(1, func() bool { return s.told == most })
	s.deaf = true
	sent := int64(0)
	for id := uint32(3); id < 40; id += 2 {
		s.begins(id, "/wait")
		for more := int64(1); more > 0; s.reads() {
			more = s.sends(id, 1<<40)
			sent += more
		}
	}
	if sent > 4*most {
		t.Errorf("%d bytes were sent to streams that stand still", sent)
	}
}

func TestWindowsShrinkWhenIdle(t *testing.T) {
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.begins(1, "/upload")
	s.learns(1, func() bool { return s.told == most })
	for _, want := range []int64{most / 4, small} {
		s.server.mu.Lock()
		s.server.path.dataAt -= 2 * idleShrinks
		if want == small {
			s.server.path.dataAt -= 20 * idleShrinks
		}
		s.server.mu.Unlock()
		s.sends(1, 1)
		for s.reads(); s.unacked > 0; s.reads() { // no two SETTINGS at once
			s.pings = nil
			s.answers(0)
		}
		if s.told != want {
			t.Fatalf("streams begin with %d, want %d", s.told, want)
		}
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if p := &s.server.path; p.stream != small || p.conn != 2*small {
		t.Errorf("windows of %d and %d", p.stream, p.conn)
	}
}

// What a peer sent before it knew that windows are smaller is no fault of its; what it sends then is.
func TestSmallerWindowsHoldOnceThePeerKnowsThem(t *testing.T) {
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.begins(1, "/upload")
	s.learns(1, func() bool { return s.told == most })
	for range 4 { // until the window of the connection is whole
		s.sends(1, 1<<40)
		s.reads()
		s.answers(farAway)
	}
	s.begins(3, "/wait")
	s.server.mu.Lock()
	s.server.path.stream = small
	s.server.tellLocked()
	s.server.mu.Unlock()
	if s.sends(3, most/2) != most/2 {
		t.Fatal("the window was no larger before")
	}
	s.reads()
	if code, reset := s.reset[3]; reset {
		t.Fatalf("reset with %v for what was sent before", code)
	}
	s.answers(farAway)
	s.frames.WriteData(3, false, []byte("more"))
	s.untilReset(3, h2.ErrCodeFlowControl)
}

func TestWindowsMakeWayForALargeMessage(t *testing.T) {
	const length = most / 2
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: most})
	s.answers(0)
	s.begins(1, "/message")
	s.frames.WriteData(1, false, []byte{0, 0, length >> 16, length >> 8 & 255, length & 255})
	s.reads()
	if n := s.sends(1, length); n != length {
		t.Errorf("of a message of %d bytes %d may be under way", length, n)
	}
	s.answers(0)
	s.begins(3, "/upload")
	if s.told < length {
		t.Errorf("a new stream begins with %d", s.told)
	}
	s.reads()
}

func TestWindowsKeepToTheShareOfMemory(t *testing.T) {
	s := connectSender(t, Config{Window: small, ConnWindow: 2 * small, MostWindow: 64 << 20, Budget: wire.NewBudget(2 << 20)})
	s.answers(0)
	s.begins(1, "/message")
	s.frames.WriteData(1, false, []byte{0, 2, 0, 0, 0})
	s.reads()
	if s.told > small+2<<20 || s.left[1] > small+4<<20 {
		t.Errorf("windows of %d and %d with 2 MiB of memory", s.told, s.left[1])
	}
}
