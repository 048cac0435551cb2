package main

import (
	"encoding/json"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Config is how a session and its user are made.
type Config struct {
	Seed      uint64 `json:"seed"`
	Initiator bool   `json:"initiator"`

	Window          uint32           `json:"window"`
	FrameBody       uint32           `json:"max_frame_body"`
	Message         uint32           `json:"max_message"`
	Calls           uint32           `json:"max_calls"`
	MetadataBytes   uint32           `json:"max_metadata_bytes"`
	MetadataEntries uint32           `json:"max_metadata_entries"`
	Methods         uint32           `json:"max_methods"`
	MinPing         uint32           `json:"min_ping_interval"`
	Codecs          map[uint8]string `json:"codecs"`
	Compressions    []uint8          `json:"compressions"`

	Pool            uint32 `json:"pool"`             // granted at first
	MaxPool         uint32 `json:"max_pool"`         // it grows to
	Keepalive       int64  `json:"keepalive"`        // ms, 0: none
	KeepaliveAnswer int64  `json:"keepalive_answer"` // ms
	Running         int    `json:"running"`          // handlers at once

	Served  map[string]string `json:"served"`  // method name -> kind, of both sides
	Weights []Weight          `json:"weights"` // how often the user does what
	Heavy   bool              `json:"heavy"`   // many long messages
	Rounds  []int             `json:"rounds"`  // in which the user acts; null: in all
	Reader  *Reader           `json:"reader"`  // a user who only reads, in place of one who acts at random
}

// Weight is how often an action is chosen among all.
type Weight struct {
	Action string `json:"action"`
	Weight int    `json:"weight"`
}

// Reader is a user whose handlers never answer.
type Reader struct {
	Consumes bool      `json:"consumes"` // every message at once; else none ever
	Opens    []Opening `json:"opens"`    // as soon as it can
}

// Opening is a call that a Reader opens.
type Opening struct {
	Method   string `json:"method"`
	Kind     string `json:"kind"`
	Size     int    `json:"size"`     // of the request
	Deadline int64  `json:"deadline"` // µs from now, 0: none
	Inline   bool   `json:"inline"`
}

func newSide(body []byte) (*side, error) {
	s := &side{methods: map[string]int{}, away: []string{}, events: map[string][]string{}, script: []string{}}
	if err := json.Unmarshal(body, &s.Config); err != nil {
		return nil, err
	}
	if s.Rounds != nil {
		s.active = map[int]bool{}
		for _, round := range s.Rounds {
			s.active[round] = true
		}
	}
	s.session = wire.NewSession(s, s.options(), 0)
	return s, nil
}

func (c *Config) options() wire.Options {
	settings := wire.Settings{
		Window: c.Window, FrameBody: c.FrameBody, Message: c.Message, Calls: c.Calls, MetadataBytes: c.MetadataBytes,
		MetadataEntries: c.MetadataEntries, Methods: c.Methods, MinPingInterval: c.MinPing, Pool: c.Pool, Codecs: c.Codecs,
	}
	for _, n := range c.Compressions {
		settings.Compressions |= 1 << n
	}
	return wire.Options{
		Acceptor: !c.Initiator, Local: settings, MaxPool: c.MaxPool,
		KeepaliveInterval: c.Keepalive * 1e6, KeepaliveTimeout: c.KeepaliveAnswer * 1e6,
	}
}

// serves reports whether a codec, by this side's numbers, is one of its own.
func (c *Config) serves(codec uint8) bool {
	_, named := c.Codecs[codec]
	return codec <= 4 || named
}
