package consul

import (
	"net"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trunkcall/trunkcall/go/registry"
)

const (
	piece = 512 // the longest value of Consul's metadata, in bytes
	most  = 64  // values
	name  = "trunkcall-"
)

// pieces are a record as metadata, cut between characters.
func pieces(data []byte) map[string]string {
	found := map[string]string{}
	for first := true; first || len(data) > 0; first = false {
		n := min(piece, len(data))
		for n < len(data) && n > piece-utf8.UTFMax && !utf8.RuneStart(data[n]) {
			n--
		}
		found[name+strconv.Itoa(len(found))] = string(data[:n])
		data = data[n:]
	}
	return found
}

// joined is the record that metadata holds.
func joined(metadata map[string]string) []byte {
	var data []byte
	for i := range most {
		text, ok := metadata[name+strconv.Itoa(i)]
		if !ok {
			break
		}
		data = append(data, text...)
	}
	return data
}

// addressOf is the first address of a record that Consul can show, one of IPv6 without brackets: it is for those who know
// only Consul.
func addressOf(w *registry.Written) (host string, port int) {
	for _, address := range w.Addresses {
		host, number, err := net.SplitHostPort(address)
		port, wrong := strconv.Atoi(number)
		if err == nil && wrong == nil && !strings.Contains(host, "/") {
			return host, port
		}
	}
	return "", 0
}
