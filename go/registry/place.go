package registry

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Bounds of a name of etcd, ZooKeeper or Consul (spec/registry.md 4.1).
const (
	maxHosts        = 9
	maxPort         = 65_535
	maxLeaseSeconds = 3600
)

var (
	hostForm  = regexp.MustCompile(`^([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})$`)
	leaseForm = regexp.MustCompile(`^lease=([0-9]{1,4})$`)
)

// Place is where another program's registry is reached: what its name says behind the scheme, HOST:PORT,…/ROOT?lease=SECONDS.
// Packages of registries use it.
type Place struct {
	Hosts []string      // 1 to 9, each HOST:PORT
	Root  string        // above all keys, "" unless given
	Lease time.Duration // for how long a server counts that is not heard of, 0 unless given
}

// ParsePlace reads a place; false if it is none.
func ParsePlace(rest string) (Place, bool) {
	rest, query, asked := strings.Cut(rest, "?")
	hosts, root, rooted := strings.Cut(rest, "/")
	p := Place{Hosts: strings.Split(hosts, ","), Root: root}
	if len(p.Hosts) > maxHosts || rooted && !isRoot(root) {
		return Place{}, false
	}
	for _, host := range p.Hosts {
		form := hostForm.FindStringSubmatch(host)
		if form == nil {
			return Place{}, false
		}
		if port, _ := strconv.Atoi(form[2]); port < 1 || port > maxPort {
			return Place{}, false
		}
	}
	if asked {
		form := leaseForm.FindStringSubmatch(query)
		if form == nil {
			return Place{}, false
		}
		seconds, _ := strconv.Atoi(form[1])
		if seconds < 1 || seconds > maxLeaseSeconds {
			return Place{}, false
		}
		p.Lease = time.Duration(seconds) * time.Second
	}
	return p, true
}

// isRoot reports whether a text is names with slashes between them.
func isRoot(root string) bool {
	for name := range strings.SplitSeq(root, "/") {
		if !isName(name, maxID) {
			return false
		}
	}
	return true
}

// Check says what is wrong with a place that a program has made itself.
func (p *Place) Check() error {
	switch seconds := p.Lease / time.Second; {
	case p.Root != "" && !isRoot(p.Root):
		return fmt.Errorf("root %q: want names with / between them", p.Root)
	case p.Lease != 0 && (p.Lease%time.Second != 0 || seconds < 1 || seconds > maxLeaseSeconds):
		return fmt.Errorf("lease %v: want whole seconds, 1s to 1h", p.Lease)
	}
	return nil
}

// Replaces says why a record may not take the place of what stands under its key: that is the good record of another
// server. Equal bytes are the same instance, and rubbish is nobody's (spec/registry.md 5.7).
func (w *Written) Replaces(there []byte) error {
	if string(there) == string(w.Data) {
		return nil
	}
	other, err := parseAt(w.Service, w.ID, there)
	if err != nil {
		return nil //nolint:nilerr // it is no record
	}
	return fmt.Errorf("%s: another server is published under this id, at %s", w.Key(), other.Addresses[0])
}
