package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a session wrote in the replay of a script, read frame by frame, and its
// comparison with what the script expects.

type wantedFrame struct {
	scriptBytes
	Type          string         `json:"type"`
	Stream        string         `json:"stream"`
	Flags         []string       `json:"flags"`
	Method        string         `json:"method"`
	Inline        *bool          `json:"inline"`
	TimeUS        *uint32        `json:"time_us"`
	Status        uint16         `json:"status"`
	RetryAfter    *uint32        `json:"retry_after"`
	RetryAtLeast  uint32         `json:"retry_after_at_least"`
	ServerTimeUS  *uint32        `json:"server_time_us"`
	Text          []string       `json:"text"`
	Message       *string        `json:"message"`
	Details       []scriptDetail `json:"details"`
	Metadata      []scriptPair   `json:"metadata"`
	Codec         *uint8         `json:"codec"`
	Compression   uint8          `json:"compression"`
	Reason        *uint32        `json:"reason"`
	W3            *uint32        `json:"w3"`
	Cut           bool           `json:"cut"`
	Rest          bool           `json:"rest"`
	Unfinished    []int          `json:"unfinished"`
	Times         int            `json:"times"`
	Optional      bool           `json:"optional"`
	Version       uint8          `json:"version"`
	Highest       uint8          `json:"highest"`
	InitialWindow *uint32        `json:"window"`
}

type wantedCredit struct {
	Stream  string `json:"stream"`
	AtLeast uint64 `json:"at_least"`
	AtMost  uint64 `json:"at_most"`
	Frames  *int   `json:"frames"`
}

type sentFrame struct {
	Header
	kind    string
	stream  string // "" for the connection's own
	method  string
	body    Body
	beside  int // what it costs beside payload and header
	preface Preface
	order   int
}

func (f sentFrame) String() string {
	return fmt.Sprintf("%s %s %v %s status %d w3 %d (%d bytes)", f.kind, f.stream, f.flagNames(), f.method, f.Code, f.Word, len(f.body.Payload))
}

func (f *sentFrame) flagNames() []string {
	var names []string
	for _, n := range []struct {
		bit  Flags
		name string
		on   []Type
	}{
		{FlagEnd, "END", []Type{Call, Data}},
		{FlagAck, "ACK", []Type{Ping, GoAway}},
		{FlagMsg, "MSG", []Type{Call, Data, Result}},
		{FlagMore, "MORE", []Type{Call, Data}},
		{FlagMeta, "META", []Type{Call, Data, Result}},
		{FlagOneWay, "ONEWAY", []Type{Call}},
		{FlagRefused, "REFUSED", []Type{Result}},
		{FlagCut, "CUT", []Type{Result}},
		{FlagStripped, "STRIPPED", []Type{Result}},
	} {
		if f.Flags&n.bit != 0 && slices.Contains(n.on, f.Type) {
			names = append(names, n.name)
		}
	}
	return names
}

// underway is a message of which some pieces were sent.
type underway struct {
	message []byte
	total   int
	cost    int
}

type sentReader struct {
	t        *testing.T
	input    []byte
	prefaced bool
	frames   []sentFrame
	defined  map[uint16]string
	defines  int
	pooled   uint64 // that frames have cost of the pool
	granted  map[string]uint64
	credits  map[string]int
	inside   map[string]bool // a message is in progress
	cuts     map[string]*underway
	order    int
}

func newSentReader(t *testing.T) sentReader {
	return sentReader{
		t: t, defined: map[uint16]string{}, granted: map[string]uint64{}, credits: map[string]int{},
		inside: map[string]bool{}, cuts: map[string]*underway{},
	}
}

// read takes apart what was written to a peer with the given limits.
func (r *sentReader) read(b []byte, limits *Settings, byAcceptor bool) {
	r.input = append(r.input, b...)
	if !r.prefaced && len(r.input) > 0 {
		p, n, err := ParsePreface(r.input)
		if n == 0 {
			r.t.Fatalf("wrote a bad preface: %v", err)
		}
		r.prefaced, r.input = true, r.input[n:]
		r.keep(sentFrame{kind: "PREFACE", preface: p})
	}
	for len(r.input) > 0 {
		h := ParseHeader(r.input)
		if err := h.Check(limits, byAcceptor); err != nil {
			r.t.Fatalf("wrote a bad frame: %v", err)
		}
		end := HeaderSize + int(h.Length)
		r.frame(&h, r.input[HeaderSize:end], limits)
		r.input = r.input[end:]
	}
}

func (r *sentReader) keep(f sentFrame) {
	f.order = r.order
	r.order++
	r.frames = append(r.frames, f)
}

func (r *sentReader) frame(h *Header, body []byte, limits *Settings) {
	f := sentFrame{Header: *h, kind: h.Type.String()}
	if h.Stream != 0 {
		f.stream = labelOf(h.Stream)
	}
	var err *Error
	switch h.Type {
	case Define:
		r.define(h, body)
		return
	case Credit:
		r.granted[f.stream] += uint64(h.Word)
		r.credits[f.stream]++
		return
	case Call, Data, Result:
		generous := *limits
		f.body, err = ParseBody(h, body, h.Flags&FlagMore != 0 && !r.inside[f.stream], &generous)
		if h.Flags&FlagMsg != 0 {
			r.inside[f.stream] = h.Flags&FlagMore != 0
		}
		if h.Type == Data && h.Flags&FlagPool != 0 {
			cost := HeaderSize + len(body)
			r.pooled += uint64(cost)
			f.beside = cost - len(f.body.Payload) - frameCost
			f.Flags &^= FlagPool
		}
		f.method = string(f.body.Name)
		if h.Type == Call && h.Code != 0 {
			f.method = r.defined[h.Code]
		}
	default:
		f.body.Payload = body
	}
	if err != nil || h.Type == Call && f.method == "" {
		r.t.Fatalf("wrote a bad %v: %v", h.Type, err)
	}
	r.keep(f)
}

func (r *sentReader) define(h *Header, body []byte) {
	name, err := ParseDefine(body)
	if err != nil || r.defined[h.Code] != "" {
		r.t.Fatalf("DEFINE of %d: %v", h.Code, err)
	}
	r.defined[h.Code] = string(name)
	r.defines++
}

// check compares all that was written since the last time, stream by stream.
func (r *sentReader) check(step *scriptStep) {
	got := map[string][]sentFrame{}
	for _, f := range r.frames {
		got[f.stream] = append(got[f.stream], f)
	}
	r.frames = nil
	r.checkAhead(step.Ahead, got)
	want := map[string][]wantedFrame{}
	for _, w := range step.Frames {
		for n := range max(w.Times, 1) {
			one := w
			if w.Stream != "" {
				one.Stream = generations(w.Stream, n)
			}
			want[one.Stream] = append(want[one.Stream], one)
		}
	}
	for stream, list := range want {
		got[stream] = r.match(list, got[stream])
	}
	for _, list := range got {
		for _, f := range list {
			r.t.Errorf("sent: %v", f)
		}
	}
	for _, w := range step.Credit {
		if sum := r.granted[strings.TrimPrefix(w.Stream, "0")]; sum < w.AtLeast || sum > w.AtMost {
			r.t.Errorf("granted %d on %s, want %d to %d", sum, w.Stream, w.AtLeast, w.AtMost)
		}
		if n := r.credits[strings.TrimPrefix(w.Stream, "0")]; w.Frames != nil && n > *w.Frames {
			r.t.Errorf("%d CREDITs on %s, want at most %d", n, w.Stream, *w.Frames)
		}
	}
	if step.Pool != nil && (r.pooled < step.Pool[0] || r.pooled > step.Pool[1]) {
		r.t.Errorf("%d of the pool was spent, want %v", r.pooled, step.Pool)
	}
	gauge(r.t, "DEFINEs", step.Defines, r.defines)
	r.defines = 0
	clear(r.credits)
}

func (r *sentReader) checkAhead(pairs [][2]string, got map[string][]sentFrame) {
	for _, pair := range pairs {
		first, later := got[strings.TrimPrefix(pair[0], "0")], got[strings.TrimPrefix(pair[1], "0")]
		if len(first) == 0 || len(later) == 0 || first[0].order > later[len(later)-1].order {
			r.t.Errorf("%s does not go ahead of %s", pair[0], pair[1])
		}
	}
}

// match compares the frames of one stream and returns those not expected.
func (r *sentReader) match(want []wantedFrame, got []sentFrame) []sentFrame {
	for i := range want {
		w := &want[i]
		if w.Type == "HALF_CLOSE" || w.Type == "CLOSE" {
			continue
		}
		fault := "nothing came"
		if w.Cut && len(got) > 0 {
			if got, fault = r.matchCut(w, got); fault == "" {
				continue
			}
		} else if len(got) > 0 {
			if fault = w.differs(&got[0]); fault == "" {
				got = got[1:]
				continue
			}
		}
		if !w.Optional {
			r.t.Errorf("%s %s %v: %s; sent: %v", w.Type, w.Stream, w.Flags, fault, got)
			return nil
		}
	}
	return got
}

// matchCut takes a frame with a message that did not fit, and what carries the
// message.
func (r *sentReader) matchCut(w *wantedFrame, got []sentFrame) (left []sentFrame, fault string) {
	u := r.cuts[w.Stream]
	if u == nil || !w.Rest {
		u = &underway{}
		r.cuts[w.Stream] = u
	}
	message := w.bytes()
	ends := slices.Contains(w.Flags, "END")
	head := *w
	head.scriptBytes = scriptBytes{}
	head.Flags = slices.DeleteFunc(slices.Clone(w.Flags), func(f string) bool { return f == "MSG" || f == "END" })
	done, ended := false, false
	if w.Type == "CALL" {
		f := got[0]
		got = got[1:]
		if f.Flags&FlagMsg != 0 {
			done = u.add(&f)
			ended = f.Flags&FlagEnd != 0
		}
		f.Flags &^= FlagMsg | FlagMore | FlagEnd
		if fault := head.differs(&f); fault != "" {
			return got, fault
		}
	}
	for len(got) > 0 && !done && got[0].Type == Data && got[0].Flags&FlagMsg != 0 {
		f := got[0]
		if f.Compression != w.Compression || w.Codec != nil && f.Codec != *w.Codec || w.Codec == nil && f.Codec != 1 {
			return got, "another codec or compression"
		}
		done = u.add(&f)
		ended = f.Flags&FlagEnd != 0
		got = got[1:]
	}
	if !bytes.HasPrefix(message, u.message) || u.total != 0 && u.total != len(message) {
		return got, "another message or total"
	}
	if w.Unfinished != nil {
		if done || u.cost < w.Unfinished[0] || u.cost > w.Unfinished[1] {
			return got, fmt.Sprintf("pieces that cost %d, want %v", u.cost, w.Unfinished)
		}
		return got, ""
	}
	if !done || len(message) != len(u.message) {
		return got, fmt.Sprintf("%d of %d bytes came", len(u.message), len(message))
	}
	switch {
	case w.Type == "RESULT":
		if len(got) == 0 {
			return got, "no RESULT"
		}
		f := got[0]
		return got[1:], head.differs(&f)
	case ends && !ended && len(got) > 0 && got[0].Type == Data && got[0].Flags == FlagEnd:
		return got[1:], ""
	case ends != ended:
		return got, "END is missing, or one too many"
	}
	return got, ""
}

// add takes in a piece and reports whether the message is whole.
func (u *underway) add(f *sentFrame) (whole bool) {
	if f.body.Total != 0 {
		u.total = int(f.body.Total)
	}
	u.message = append(u.message, f.body.Payload...)
	u.cost += len(f.body.Payload) + frameCost + f.beside
	return f.Flags&FlagMore == 0
}

func (w *wantedFrame) differs(f *sentFrame) string {
	flags := slices.Clone(w.Flags)
	names := f.flagNames()
	slices.Sort(flags)
	slices.Sort(names)
	switch {
	case w.Type != f.kind, w.Stream != f.stream, !slices.Equal(flags, names):
		return "another frame"
	case w.Type == "PREFACE":
		if f.preface.Version != w.Version || f.preface.Highest != w.Highest {
			return "another version"
		}
		return ""
	case w.Method != f.method && w.Type == "CALL", w.Inline != nil && *w.Inline != (f.Code == 0):
		return "another method"
	case w.TimeUS != nil && *w.TimeUS != f.Word, w.W3 != nil && *w.W3 != f.Word, w.Reason != nil && *w.Reason != f.Word:
		return fmt.Sprintf("w3 %d", f.Word)
	case !slices.Equal(pairsOf(w.Metadata), f.body.Metadata):
		return "other metadata"
	}
	if w.Type == "RESULT" {
		if fault := w.resultDiffers(f); fault != "" {
			return fault
		}
	}
	if w.Type == "GOAWAY" && !containsAll(string(f.body.Payload), w.Text) {
		return "another text"
	}
	codec := uint8(1)
	if w.Codec != nil {
		codec = *w.Codec
	}
	if (f.Flags&FlagMsg != 0 && f.Type != Ping && f.Type != GoAway || f.Type == Call) && f.Codec != codec {
		return fmt.Sprintf("codec %d", f.Codec)
	}
	if w.there() && (!bytes.Equal(w.bytes(), f.body.Payload) || w.Compression != f.Compression) {
		return "another message"
	}
	return ""
}

func (w *wantedFrame) resultDiffers(f *sentFrame) string {
	switch {
	case w.Status != f.Code:
		return fmt.Sprintf("status %d", f.Code)
	case w.RetryAfter != nil && *w.RetryAfter != f.Word, f.Word < w.RetryAtLeast:
		return fmt.Sprintf("retry-after %d", f.Word)
	case w.ServerTimeUS != nil && *w.ServerTimeUS != f.Word:
		return fmt.Sprintf("server time %d", f.Word)
	}
	if f.Code == 0 {
		return ""
	}
	message, details, err := ParseStatus(f.body.Payload)
	switch {
	case err != nil, !containsAll(message, w.Text), w.Message != nil && *w.Message != message:
		return fmt.Sprintf("message %q", message)
	case w.Details != nil && !sameDetails(details, detailsOf(w.Details)):
		return "other details"
	}
	return ""
}
