package conformance

import (
	"strings"

	"github.com/trunkcall/trunkcall/go"
	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
)

// makeData makes the bytes that conformance.proto describes.
func makeData(size uint32, noise bool) []byte {
	data := make([]byte, size)
	state := uint32(1)
	for i := range data {
		if noise {
			state = state*1664525 + 1013904223
			data[i] = byte(state >> 24)
		} else {
			data[i] = byte(i % 251)
		}
	}
	return data
}

func toMetadata(entries []*conformancev1.Entry) (m trunkcall.Metadata) {
	for _, e := range entries {
		m = append(m, trunkcall.Metadata{{Key: e.GetKey(), Value: string(e.GetValue())}}...)
	}
	return m
}

func toEntries(m trunkcall.Metadata) (entries []*conformancev1.Entry) {
	for _, p := range m {
		entries = append(entries, &conformancev1.Entry{Key: p.Key, Value: []byte(p.Value)})
	}
	return entries
}

func isBinary(key string) bool { return strings.HasSuffix(key, "-bin") }

func toDetails(details []*conformancev1.Detail) (found []trunkcall.Detail) {
	for _, d := range details {
		found = append(found, trunkcall.Detail{TypeURL: d.GetTypeUrl(), Value: d.GetValue()})
	}
	return found
}

func fromDetails(details []trunkcall.Detail) (found []*conformancev1.Detail) {
	for _, d := range details {
		found = append(found, &conformancev1.Detail{TypeUrl: d.TypeURL, Value: d.Value})
	}
	return found
}
