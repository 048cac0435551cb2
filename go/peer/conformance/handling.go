package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/trunkcall/trunkcall/go"
	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
	"google.golang.org/protobuf/proto"
)

// handling is one call of a handler.
type handling struct {
	ctx     context.Context
	call    *trunkcall.ServerCall
	plan    *plan
	receive func() (*request, error)
	send    func(*answer) error // nil: there is one answer, at the end
	seen    sight
	onward  *conformancev1.Outcome
	sent    int // answers
}

func (h *handling) read() (*request, error) {
	in, err := h.receive()
	if err == nil {
		h.seen.add(in.GetData())
	}
	return in, err
}

// prepare makes the handler's own call and sets the metadata of the answer.
func (h *handling) prepare() error {
	if onward := h.plan.GetOnward(); onward != nil {
		h.onward = callOnward(h.ctx, h.call, onward)
	}
	header := toMetadata(h.plan.GetHeader())
	set := h.call.SetHeader
	if h.plan.GetHeaderEarly() {
		set = h.call.SendHeader
	}
	if err := set(header); err != nil {
		return err
	}
	return h.call.SetTrailer(toMetadata(h.plan.GetTrailer()))
}

// exchange reads the requests and sends the answers, as the plan says when.
func (h *handling) exchange(first *request) error {
	switch {
	case h.send == nil && h.plan.GetWhen() == conformancev1.When_UNREAD:
		return nil
	case h.send == nil:
		return h.readAll(first)
	case h.plan.GetWhen() == conformancev1.When_UNREAD:
		return h.sendAll()
	case h.plan.GetWhen() == conformancev1.When_AFTER_EACH:
		return h.inTurn(first)
	case h.plan.GetWhen() == conformancev1.When_AT_ONCE:
		if err := h.sendAll(); err != nil {
			return err
		}
		return h.readAll(first)
	}
	if err := h.readAll(first); err != nil {
		return err
	}
	return h.sendAll()
}

// readAll reads the requests behind the first, which is nil if there is none.
func (h *handling) readAll(first *request) error {
	for first != nil {
		if _, err := h.read(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (h *handling) sendAll() error {
	for range h.plan.GetAnswers() {
		if err := h.send(h.answer(nil)); err != nil {
			return err
		}
	}
	return nil
}

func (h *handling) inTurn(in *request) error {
	for in != nil {
		if err := h.send(h.answer(in)); err != nil {
			return err
		}
		next, err := h.read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		in = next
	}
	return nil
}

// answer makes the next answer: to a request, if it is given.
func (h *handling) answer(to *request) *answer {
	out := &answer{Onward: h.onward}
	switch sizes := h.plan.GetAnswers(); {
	case len(sizes) > 0:
		out.Data = makeData(sizes[h.sent%len(sizes)], h.plan.GetNoise())
	case to != nil:
		out.Data = to.GetData()
	}
	if !h.plan.GetBare() {
		out.Seen = h.seen.tell()
	}
	h.sent++
	return out
}

// wait waits as the plan says, and returns why the call ended if it did so
// meanwhile.
func (h *handling) wait() error {
	if h.plan.GetUntilEnded() {
		<-h.ctx.Done()
		return h.ctx.Err()
	}
	if h.plan.GetWaitMs() == 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(h.plan.GetWaitMs()) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
}

// finish ends the call; it returns the answer if there is one only.
func (h *handling) finish() (*answer, error) {
	if text := h.plan.GetPanic(); text != "" {
		panic(text)
	}
	if f := h.plan.GetFailure(); f != nil {
		s := trunkcall.StatusOf(trunkcall.Errorf(trunkcall.Code(f.GetCode()), "%s", f.GetMessage()))
		s.Details = toDetails(f.GetDetails())
		return nil, s.Err()
	}
	if h.send != nil {
		return nil, nil //nolint:nilnil // the answers have been sent
	}
	return h.answer(nil), nil
}

// sight is what a handler sees of its call.
type sight struct {
	told   conformancev1.Seen
	digest hash.Hash
}

func (s *sight) begin(ctx context.Context, call *trunkcall.ServerCall) {
	s.digest = sha256.New()
	s.told.Metadata = toEntries(call.Metadata)
	if deadline, ok := ctx.Deadline(); ok {
		left := uint32((time.Until(deadline) + time.Millisecond - 1).Milliseconds())
		s.told.LeftMs = &left
	}
}

func (s *sight) add(data []byte) {
	s.told.Requests++
	s.told.Bytes += uint32(len(data))
	s.digest.Write(data)
}

// tell is what was seen so far.
func (s *sight) tell() *conformancev1.Seen {
	told, _ := proto.Clone(&s.told).(*conformancev1.Seen)
	told.Digest = bytes.Clone(s.digest.Sum(nil))
	return told
}
