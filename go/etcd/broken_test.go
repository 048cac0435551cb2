package etcd

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go/registry"
)

const prefix = "/trunkcall/v1/s/"

// answering is an etcd whose answers to Get are bytes of a test's.
type answering struct {
	clientv3.KV

	next func() *pb.RangeResponse
}

func (a answering) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return (*clientv3.GetResponse)(a.next()), nil
}

// spoilt are bytes of which some are others, some are gone, or there twice.
func spoilt(random *rand.Rand, whole []byte) []byte {
	made := bytes.Clone(whole)
	for range 1 + random.IntN(3) {
		if len(made) == 0 {
			break
		}
		at := random.IntN(len(made))
		end := min(len(made), at+1+random.IntN(8))
		switch random.IntN(4) {
		case 0:
			made[at] = byte(random.IntN(256))
		case 1:
			made = append(made[:at], made[end:]...)
		case 2:
			made = append(bytes.Clone(made[:end]), made[at:]...)
		default:
			made = made[:at]
		}
	}
	return made
}

func pairs() []*mvccpb.KeyValue {
	var all []*mvccpb.KeyValue
	for _, id := range []string{"a", "b", "c"} {
		all = append(all, &mvccpb.KeyValue{Key: []byte(prefix + id), Value: []byte("{}"), ModRevision: 3})
	}
	return all
}

// Good answers to Range, spoilt at random: taken or refused. The registry that goes on telling of the same has an end.
func TestSpoiltAnswersAreReadOrRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	good := &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 3}, Kvs: pairs(), More: true, Count: 3}
	whole, err := proto.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	taken, refused := 0, 0
	for range 20_000 {
		asked := 0
		l := looking{prefix: prefix, client: &clientv3.Client{KV: answering{next: func() *pb.RangeResponse {
			for asked++; asked < 100; {
				var a pb.RangeResponse
				if proto.Unmarshal(spoilt(random, whole), &a) == nil {
					return &a
				}
			}
			t.Error("it is asked for ever")
			return &pb.RangeResponse{}
		}}}}
		entries, _, err := l.all(t.Context())
		if taken++; err != nil {
			refused++
			taken--
		}
		checkEntries(t, entries)
	}
	if taken < 100 || refused < 100 {
		t.Errorf("%d were taken, %d refused", taken, refused)
	}
}

func TestSpoiltEventsAreReadOrRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	good := &pb.WatchResponse{Header: &pb.ResponseHeader{Revision: 4}}
	for i, kv := range pairs() {
		good.Events = append(good.Events, &mvccpb.Event{Type: mvccpb.Event_EventType(i & 1), Kv: kv})
	}
	whole, err := proto.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	taken, refused := 0, 0
	for range 20_000 {
		var a pb.WatchResponse
		if proto.Unmarshal(spoilt(random, whole), &a) != nil {
			continue
		}
		l := looking{prefix: prefix}
		came, went, err := l.changed(&a)
		if taken++; err != nil {
			refused++
			taken--
		}
		if len(came)+len(went) > len(a.Events) {
			t.Errorf("%d of %d events", len(came)+len(went), len(a.Events))
		}
		checkEntries(t, came)
	}
	if taken < 100 || refused < 10 {
		t.Errorf("%d were taken, %d refused", taken, refused)
	}
}

func checkEntries(t *testing.T, entries []registry.Entry) {
	t.Helper()
	for _, e := range entries {
		if len(e.Data) > 16<<10 {
			t.Errorf("%d bytes of %q are held", len(e.Data), e.ID)
		}
	}
}
