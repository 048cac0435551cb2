package grpcweb

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestBase64MayBePaddedAnywhere(t *testing.T) {
	pieces, in, want := []string{"a", "bc", "def", "", "ghij"}, "", ""
	for _, p := range pieces {
		in += base64.StdEncoding.EncodeToString([]byte(p))
		want += p
	}
	for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
		if got, err := io.ReadAll(&base64Groups{source: r}); err != nil || string(got) != want {
			t.Errorf("%q %v", got, err)
		}
	}
}
