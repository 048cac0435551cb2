package wire

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
)

// player replays one script.
type player struct {
	t        *testing.T
	script   *script
	options  Options
	bytewise bool
	session  *Session
	now      int64
	input    []byte
	held     bool
	dropped  bool // nothing more is written
	over     bool // the session has failed, or its input has ended for good
	running  int
	calls    map[string]*played
	accepted []*played // not started
	sentOn   []*played
	methods  map[string]int
	events   []happened
	output   sentReader
}

func newPlayer(t *testing.T, s *script, bytewise bool) *player {
	p := &player{
		t: t, script: s, options: s.options(), bytewise: bytewise, now: 5 * second,
		calls: map[string]*played{}, methods: map[string]int{}, output: newSentReader(t),
	}
	p.session = NewSession(p, p.options, p.now)
	if s.PeerPreface != nil {
		p.receive(unhex(*s.PeerPreface))
		p.take()
		p.output.frames = nil
	}
	p.take()
	return p
}

func (p *player) play() {
	for i := range p.script.Steps {
		step := &p.script.Steps[i]
		if step.Expect != "" {
			p.check(i, step)
		} else {
			p.do(step)
			p.settle()
		}
		if p.t.Failed() {
			p.t.Fatalf("in step %d: %+v", i, step)
		}
	}
	if len(p.events) > 0 {
		p.t.Errorf("nobody expected %+v", p.events)
	}
	if len(p.output.frames) > 0 {
		p.t.Errorf("nobody expected %v", p.output.frames)
	}
}

func (p *player) check(i int, step *scriptStep) {
	switch step.Expect {
	case "sent":
		p.output.check(step)
	case "events":
		p.checkEvents(step.Events)
	case "gauges":
		gauge(p.t, "running", step.Running, p.running)
		gauge(p.t, "own calls", step.Own, p.session.OpenCalls())
		gauge(p.t, "served calls", step.Served, p.session.OpenServed())
	default:
		p.t.Fatalf("step %d expects %q", i, step.Expect)
	}
}

func gauge(t *testing.T, name string, want *int, got int) {
	if want != nil && *want != got {
		t.Errorf("%s: %d, want %d", name, got, *want)
	}
}

// settle starts handlers and writes, until nothing more comes.
func (p *player) settle() {
	for more := true; more; {
		p.dispatch()
		more = p.sendQueued() || p.take()
	}
}

func (p *player) take() bool {
	if p.held || p.dropped {
		return false
	}
	b := p.session.Take()
	p.output.read(b, p.session.Remote(), p.options.Acceptor)
	return len(b) > 0
}

// sendQueued gives the session the messages that waited for the one before.
func (p *player) sendQueued() bool {
	ready := p.sentOn
	p.sentOn = nil
	for _, c := range ready {
		p.flush(c)
	}
	return len(ready) > 0
}

func (p *player) flush(c *played) {
	for len(c.queued) > 0 && c.Open() && !c.waits() {
		m := c.queued[0]
		c.queued = c.queued[1:]
		p.session.Send(&c.Stream, m.payload, m.compression, m.end)
	}
	if len(c.queued) == 0 && c.result != nil {
		p.session.Finish(&c.Stream, c.result)
		c.result = nil
	}
}

func (c *played) waits() bool { return c.flow != nil && c.flow.hasPending }

func (p *player) receive(b []byte) {
	if p.over {
		return
	}
	p.input = append(p.input, b...)
	n, err := p.session.Receive(p.input, p.now)
	if err != nil {
		p.fail(err)
		return
	}
	if n > 0 {
		p.input = slices.Clone(p.input[n:])
	}
}

func (p *player) fail(err *Error) {
	class := err.Class
	if class == ErrSilence {
		class = "silent"
	}
	p.session.Abort(err)
	p.tell(happened{wantedEvent: wantedEvent{Event: "failed", Class: class}})
	p.over = true
	passed := uint64(math.MaxUint64)
	if err.Class == ErrPreface || err.Class == ErrVersion {
		passed = p.session.Moved() // what was not taken by now never leaves (section 11.6)
	}
	p.dropped = err.Class == ErrPreface
	p.session.Close(passed, err.Text)
}

func (p *player) do(step *scriptStep) {
	c := p.calls[step.Call]
	if step.Call != "" && c == nil {
		p.t.Fatalf("%s is no call", step.Call)
	}
	switch step.Do {
	case "receive":
		p.doReceive(step)
	case "end":
		p.doEnd(step)
	case "advance":
		p.advance(step.MS)
	case "hold":
		p.held = true
	case "release":
		p.held = false
	case "drain":
		p.session.Advance(p.now)
		p.session.GoAway(GoAwayDraining, "draining")
	case "grace_over":
		p.session.CutAll("the grace period is over")
	case "call":
		p.doCalls(step)
	case "cancel":
		p.giveUp(c, CancelGivenUp, Canceled)
	case "half_close":
		p.session.CloseSend(&c.Stream)
	case "consume":
		for range max(step.Count, 1) {
			p.session.Consumed(&c.Stream, c.costs[0])
			c.costs = c.costs[1:]
		}
	default:
		p.doAnswer(step, c)
	}
}

// doAnswer is what a handler does, or either side when it sends.
func (p *player) doAnswer(step *scriptStep, c *played) {
	switch step.Do {
	case "send":
		if most := p.session.Remote().Message; c.has(streamCaller) && c.Open() && len(step.bytes()) > int(most) {
			p.giveUp(c, CancelGivenUp, ResourceExhausted)
			p.events[len(p.events)-1].text = "max_message " + utoa(most)
			return
		}
		c.queued = append(c.queued, queuedMessage{step.bytes(), step.Compression, step.End})
		p.flush(c)
	case "header":
		p.session.SendMetadata(&c.Stream, pairsOf(step.Metadata))
	case "answer", "finish":
		c.returned = true
		p.running--
		c.result = &Ending{
			Code: step.Status, Message: step.Text, Delivery: Executed, Details: detailsOf(step.Details), Metadata: pairsOf(step.Metadata),
			Payload: step.bytes(), HasMessage: step.there(), Compression: step.Compression,
			ServerTime: uint32((p.now - c.arrived) / 1000),
		}
		p.flush(c)
	case "return":
		c.returned = true
		p.running--
	default:
		p.t.Fatalf("nobody can do %q", step.Do)
	}
}

func (p *player) doReceive(step *scriptStep) {
	var all []byte
	for _, in := range step.Input {
		all = append(append(all, unhex(in.Hex)...), in.Fill.bytes()...)
	}
	switch {
	case step.Apart > 0:
		for part := range slices.Chunk(all, step.Apart) {
			p.arrive(part)
			p.settle()
		}
	default:
		p.arrive(all)
	}
	p.now += step.LateMS * 1e6
}

// arrive is input all at once, or byte by byte but for the inside of what is
// long; what is written goes out in between.
func (p *player) arrive(b []byte) {
	if !p.bytewise {
		p.receive(b)
		return
	}
	for len(b) > 0 {
		n := 1
		if len(b) > 4300 {
			n = min(len(b)-200, 4093)
		}
		p.receive(b[:n])
		p.take()
		b = b[n:]
	}
}

func (p *player) doEnd(step *scriptStep) {
	passed := p.session.Moved()
	if p.held {
		passed += step.Passed
	}
	p.session.Advance(p.now)
	p.over = true
	p.session.Close(passed, "end of stream")
}

func (p *player) advance(ms int64) {
	for until := p.now + ms*1e6; p.now < until; {
		p.now = min(p.now+second, until)
		if p.over {
			continue
		}
		if _, err := p.session.Tick(p.now); err != nil {
			p.fail(err)
		}
		for _, c := range p.calls {
			if c.has(streamCaller) && c.deadline != 0 && c.deadline <= p.now {
				p.giveUp(c, CancelDeadline, DeadlineExceeded)
			}
		}
		p.settle()
	}
}

func (p *player) giveUp(c *played, reason uint32, code Code) {
	if c.ended || !c.Open() {
		return
	}
	c.ended = true
	p.session.Advance(p.now)
	p.session.Cancel(&c.Stream, reason)
	p.tell(happened{wantedEvent: wantedEvent{Event: "end", Call: c.label, Status: code, Delivery: "unknown"}})
}

// doCalls opens one call, or so many, each when the one before was answered.
func (p *player) doCalls(step *scriptStep) {
	answers := unhex(step.Answers.Hex)
	one := *step
	for n := range max(step.Times, 1) {
		one.As = generations(step.As, n)
		p.doCall(&one)
		if len(answers) > 0 {
			p.settle()
			size := len(answers) / step.Times
			p.arrive(answers[n*size : (n+1)*size])
			p.settle()
		}
	}
}

// generations is the label of the call that is n generations later on its slot.
func generations(label string, n int) string {
	var side byte
	var slot, generation int
	if _, err := fmt.Sscanf(label, "%c%d.%d", &side, &slot, &generation); err != nil {
		return label // one that never gets a slot
	}
	return fmt.Sprintf("%c%d.%d", side, slot, (generation+n-1)%maxGeneration+1)
}

func (p *player) doCall(step *scriptStep) {
	c := &played{label: step.As, kind: p.script.Methods[step.Method], method: step.Method}
	c.Owner = c
	if c.expectsOne() {
		c.ExpectOne()
	}
	limits := p.session.Remote()
	out := Outgoing{
		Method: Method{Name: step.Method, Index: p.index(step)}, Codec: 1, Metadata: pairsOf(step.Metadata),
		Payload: bytes.Clone(step.bytes()), HasMessage: step.there(), Compression: step.Compression, End: step.End,
		OneWay: c.kind == "oneway",
	}
	notSent := func(code Code, text string) {
		p.tell(happened{wantedEvent: wantedEvent{Event: "end", Call: c.label, Status: code, Delivery: "not_sent"}, text: text})
	}
	if err := CheckMetadata(out.Metadata, nil, limits); err != nil {
		notSent(err.Class.requestCode(), err.Text)
		return
	}
	if len(out.Payload) > int(limits.Message) {
		notSent(ResourceExhausted, "max_message "+utoa(limits.Message))
		return
	}
	if step.DeadlineUS != nil {
		if *step.DeadlineUS <= 0 {
			notSent(DeadlineExceeded, "")
			return
		}
		out.Remaining = Remaining(*step.DeadlineUS * 1000)
		c.deadline = p.now + *step.DeadlineUS*1000
	}
	if step.Codec != nil {
		out.Codec = *step.Codec
	}
	if p.over || !p.session.AcceptsCalls() || !p.session.HasSlots(1) {
		p.tell(happened{wantedEvent: wantedEvent{Event: "turned_away", Call: c.label}})
		return
	}
	p.session.Open(&c.Stream, &out)
	if label := labelOf(c.id); label != c.label {
		p.t.Errorf("opened %s, want %s", label, c.label)
	}
	p.calls[c.label] = c
}

func (p *player) index(step *scriptStep) int {
	if step.Inline {
		return -1
	}
	if _, ok := p.methods[step.Method]; !ok {
		p.methods[step.Method] = len(p.methods)
	}
	return p.methods[step.Method]
}

// checkEvents compares all that happened since the last time, call by call.
func (p *player) checkEvents(want []wantedEvent) {
	got := map[string][]happened{}
	for _, h := range p.events {
		got[h.Call] = append(got[h.Call], h)
	}
	p.events = nil
	for i := range want {
		w := &want[i]
		for n := range max(w.Times, 1) {
			label := w.Call
			if w.Times > 0 {
				label = generations(w.Call, n)
			}
			list := got[label]
			if len(list) == 0 {
				p.t.Errorf("did not happen: %s %s", w.Event, label)
				continue
			}
			if fault := list[0].differs(w); fault != "" {
				p.t.Errorf("%s %s: %s: happened %+v", w.Event, label, fault, list[0])
			}
			got[label] = list[1:]
		}
	}
	for _, list := range got {
		for _, h := range list {
			p.t.Errorf("happened: %+v", h)
		}
	}
}

func (h *happened) differs(w *wantedEvent) string {
	switch {
	case h.Event != w.Event, h.Method != w.Method && w.Method != "", h.Class != w.Class, h.Reason != w.Reason:
		return "another event"
	case h.Event == "end" && (h.Status != w.Status || h.Delivery != w.Delivery):
		return "another end"
	case w.RetryAfter != nil && h.retry != *w.RetryAfter:
		return "another retry-after"
	case (w.there() || h.Event == "start") && !bytes.Equal(h.payload, w.bytes()), h.Compression != w.Compression:
		return "another message"
	case w.Metadata != nil && !slices.Equal(h.metadata, pairsOf(w.Metadata)):
		return "other metadata"
	case w.Message != nil && h.text != *w.Message, !containsAll(h.text, w.Text):
		return "another text"
	case w.Details != nil && !sameDetails(h.details, detailsOf(w.Details)), w.Stripped && !h.Stripped:
		return "other details"
	}
	return ""
}

func sameDetails(a, b []Detail) bool {
	return slices.EqualFunc(a, b, func(a, b Detail) bool { return a.TypeURL == b.TypeURL && bytes.Equal(a.Value, b.Value) })
}
