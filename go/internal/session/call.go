package main

import (
	"hash/crc32"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// message is a message as the ledger has it.
type message struct {
	Size        int    `json:"size"`
	Sum         uint32 `json:"sum"`
	Compression uint8  `json:"compression"`
}

func noted(payload []byte, compression uint8) message {
	return message{len(payload), crc32.ChecksumIEEE(payload), compression}
}

// arrival is a message that the user has not consumed.
type arrival struct {
	message
	cost   wire.Cost
	credit bool // Consumed is to be told
}

type outgoing struct {
	payload     []byte
	compression uint8
	end         bool
}

// ending is how a call ended, as either side has it.
type ending struct {
	Status   wire.Code `json:"status"`
	Delivery string    `json:"delivery"`
	Retry    uint32    `json:"retry"`
	Text     string    `json:"text"`
	Details  []string  `json:"details"`
	Trailers string    `json:"trailers"`
	Stripped bool      `json:"stripped"`
}

// call is a call at either of its ends.
type call struct {
	wire.Stream `json:"-"`
	record

	first    *arrival // callee: the one request of a method that takes one
	told     []string // callee: what happens before the handler starts
	inbox    []arrival
	answers  int
	deadline int64 // caller: in the session's time, 0: none

	queue   []outgoing
	waits   bool // a message is with the session
	result  *wire.Ending
	arrived int64
}

// record is what the ledger tells of a call.
type record struct {
	Word     wire.StreamID `json:"id"`
	Own      bool          `json:"own"`
	Method   string        `json:"method"`
	Kind     string        `json:"kind"`
	Codec    string        `json:"codec"`
	OneWay   bool          `json:"oneway"`
	Metadata string        `json:"metadata"`
	Early    string        `json:"early"`
	Sent     []message     `json:"sent"`
	Got      []message     `json:"got"`
	Ended    bool          `json:"ended"` // requests: END was sent, or has arrived
	Started  bool          `json:"started"`
	Returned bool          `json:"returned"`
	Stopped  bool          `json:"stopped"`
	Ends     int           `json:"ends"`
	Ending   *ending       `json:"ending"` // at the caller how it ended, at the callee what the handler said
	Alive    bool          `json:"open"`
	Windows  *windows      `json:"windows"`
	Waits    bool          `json:"waits"` // has something to send
	Unread   int           `json:"unread"`
}

func (c *call) takesOne() bool { return takesOne(c.Kind) || c.OneWay }

func takesOne(kind string) bool {
	return kind == "unary" || kind == "server_streaming" || kind == "oneway"
}

func answersOne(kind string) bool { return kind == "unary" || kind == "client_streaming" }

// Ledger is what a side has seen of a session.
type Ledger struct {
	Failed  string              `json:"failed"` // class of the connection error
	Text    string              `json:"text"`
	Away    []string            `json:"away"`
	Calls   []*record           `json:"calls"`
	Events  map[string][]string `json:"events"` // by call, of a reader
	Script  []string            `json:"script"`
	Own     int                 `json:"own"`
	Served  int                 `json:"served"`
	Running int                 `json:"running"`
	Held    uint64              `json:"held"`
	Pool    windows             `json:"pool"`
	Unsent  int                 `json:"unsent"`
	Drained bool                `json:"drained"`
}

// windows are wire.Windows as the ledger has them.
type windows struct {
	Send    int64 `json:"send"`
	Receive int64 `json:"receive"`
	Owed    int64 `json:"owed"`
	Kept    int64 `json:"kept"`
}

func (s *side) ledger() *Ledger {
	l := &Ledger{
		Failed: s.failed, Text: s.text, Away: s.away, Calls: []*record{}, Events: s.events, Script: s.script, Own: s.session.OpenCalls(),
		Served: s.session.OpenServed(), Running: s.running, Held: s.session.HeldBytes(), Pool: windows(s.session.Pool()), Unsent: s.session.Unsent(),
		Drained: s.session.Drained(),
	}
	for _, c := range s.calls {
		c.Alive = c.Stream.Open()
		c.Windows = nil
		if c.Alive {
			w := windows(s.session.Windows(&c.Stream))
			c.Windows = &w
		}
		c.Waits = c.waits || len(c.queue) > 0
		c.Unread = len(c.inbox)
		l.Calls = append(l.Calls, &c.record)
	}
	return l
}
