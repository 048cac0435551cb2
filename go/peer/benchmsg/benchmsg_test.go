package benchmsg_test

import (
	"testing"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"google.golang.org/protobuf/proto"
)

func TestMessageHas581BytesInBothCodecs(t *testing.T) {
	message := benchmsg.New()
	stock, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	fast, err := message.MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	if len(stock) != benchmsg.Size || len(fast) != benchmsg.Size {
		t.Errorf("stock codec: %d bytes, fast codec: %d bytes, want %d", len(stock), len(fast), benchmsg.Size)
	}
}

func TestCodecsReadEachOther(t *testing.T) {
	message := benchmsg.New()
	message.Field5 = []uint64{1, 1 << 60}
	stock, _ := proto.Marshal(message)
	fast, _ := message.MarshalVT()
	var fromStock, fromFast benchv1.BenchmarkMessage
	if err := fromStock.UnmarshalVT(stock); err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(fast, &fromFast); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(message, &fromStock) || !proto.Equal(message, &fromFast) {
		t.Error("a message changed on its way through the codecs")
	}
}

func TestBothCodecsWantTheRequiredFields(t *testing.T) {
	var incomplete benchv1.BenchmarkMessage
	if err := incomplete.UnmarshalVT(nil); err == nil {
		t.Error("the fast codec took a message without its required fields")
	}
	if err := proto.Unmarshal(nil, &incomplete); err == nil {
		t.Error("the stock codec took a message without its required fields")
	}
}

func TestAnswerPassesCheckAndKeepsTheRest(t *testing.T) {
	want := benchmsg.New()
	if benchmsg.Check(want) == nil {
		t.Error("the request passes for an answer")
	}
	got := benchmsg.Answer(benchmsg.New())
	if err := benchmsg.Check(got); err != nil {
		t.Error(err)
	}
	got.Field1, got.Field2 = want.Field1, want.Field2
	if !proto.Equal(got, want) {
		t.Error("Answer changed more than fields 1 and 2")
	}
}
