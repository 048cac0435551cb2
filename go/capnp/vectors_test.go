package capnp_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/trunkcall/trunkcall/go/capnp"
	"github.com/trunkcall/trunkcall/go/capnp/internal/library"
)

type bookVector struct {
	ID, Hex string
	Book    struct {
		Title, Cover string
		Pages        int32
	}
}

func TestVectorsOfMessages(t *testing.T) {
	data, err := os.ReadFile("../../spec/vectors/capnp.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct{ Valid, Degenerate, Invalid []bookVector }
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range append(vectors.Valid, vectors.Degenerate...) {
		t.Run(v.ID, func(t *testing.T) {
			var b library.Book
			if err := capnp.Codec.Decode(must(hex.DecodeString(v.Hex)), &b); err != nil {
				t.Fatal(err)
			}
			for range 2 { // as it came, and as we write it
				wantBook(t, &b, v.Book.Title, v.Book.Pages)
				if cover := hex.EncodeToString(must(b.Cover())); cover != v.Book.Cover {
					t.Errorf("cover %s", cover)
				}
				b = *again(t, &b)
			}
		})
	}
	for _, v := range vectors.Invalid {
		t.Run(v.ID, func(t *testing.T) {
			var b library.Book
			if err := capnp.Codec.Decode(must(hex.DecodeString(v.Hex)), &b); err == nil {
				t.Errorf("taken for a book: %s", b)
			}
		})
	}
}
