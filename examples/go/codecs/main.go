// Codecs shows messages that are not Protobuf, and messages that are compressed.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Messages of these methods are bytes, and rows of text.
var (
	upload = trunkcall.Unary[[]byte, []byte]("/example.Files/Upload")
	count  = trunkcall.Unary[[]string, []string]("/example.Rows/Count")
)

// rows is a codec of one's own: a row of comma-separated values is a []string.
type rows struct{}

func (rows) Name() string  { return "csv" } // by which the other side knows it
func (rows) Number() uint8 { return 8 }     // 8 to 15; the other side may number it differently

func (rows) Append(dst []byte, message any) ([]byte, error) {
	row, ok := message.(*[]string)
	if !ok {
		return nil, errors.New("a row is a *[]string")
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.Write(*row); err != nil {
		return nil, err
	}
	w.Flush()
	return append(dst, text.String()...), nil
}

func (rows) Decode(data []byte, message any) (err error) {
	row, ok := message.(*[]string)
	if !ok {
		return errors.New("a row is a *[]string")
	}
	*row, err = csv.NewReader(strings.NewReader(string(data))).Read()
	return err
}

func run(ctx context.Context) error {
	server, err := trunkcall.NewServer(trunkcall.WithCodecs(rows{}))
	if err != nil {
		return err
	}
	err = server.Register(
		upload.Handler(func(_ context.Context, file *[]byte) (*[]byte, error) {
			answer := fmt.Appendf(nil, "%d bytes", len(*file))
			return &answer, nil
		}),
		count.Handler(func(_ context.Context, row *[]string) (*[]string, error) {
			return &[]string{fmt.Sprint(len(*row)), "columns"}, nil
		}),
	)
	if err != nil {
		return err
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	client, err := trunkcall.Dial(ctx, address.String(),
		trunkcall.WithCodec(trunkcall.Raw), trunkcall.WithCodecs(rows{}), trunkcall.WithCompression(trunkcall.Zstd, trunkcall.Gzip))
	if err != nil {
		return err
	}
	file := []byte(strings.Repeat("the same again ", 100_000))
	answer, err := upload.Call(ctx, client, &file) // raw, and compressed
	if err != nil {
		return err
	}
	fmt.Println(string(*answer))

	counted, err := count.Call(ctx, client, &[]string{"a", "b, c", "d"}, trunkcall.CallCodec(rows{}))
	if err != nil {
		return err
	}
	fmt.Println(*counted)
	client.Close()
	return server.Stop(ctx)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}
