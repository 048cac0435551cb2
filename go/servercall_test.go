package trunkcall

import (
	"testing"
	"unsafe"
)

// Objects with pointers of more than 512 bytes cost the collector considerably more, and
// there is one of these for every call that is served.
func TestAServedCallIsOneLightObject(t *testing.T) {
	if size := unsafe.Sizeof(ServerCall{}); size > 416 {
		t.Errorf("a served call takes %d bytes, more than its size class of 416", size)
	}
}
