package peer

import (
	"net"
	"net/url"
	"strings"
)

// checkTarget turns down a --target that can never be dialled, before a call is
// made of it. Whether somebody is there is for dialling to find out.
func checkTarget(target string) error {
	if strings.HasPrefix(target, "file:") {
		return nil // fileResolver says what is wrong with it
	}
	for _, address := range strings.Split(target, ",") {
		if err := checkAddress(strings.TrimSpace(address)); err != nil {
			return err
		}
	}
	return nil
}

const wantAddress = "want HOST:PORT, unix:PATH or ws://HOST:PORT/PATH"

func checkAddress(address string) error {
	if scheme, _, ok := strings.Cut(address, "://"); ok {
		if u, err := url.Parse(address); err == nil && u.Host != "" && (scheme == "ws" || scheme == "wss") {
			return nil
		}
		return usagef("--target %s: %s, without %s://", address, wantAddress, scheme)
	}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path == "" {
			return usagef("--target %s: there is no path, %s", address, wantAddress)
		}
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		// Its text begins with the address, which is named already.
		reason := strings.TrimPrefix(err.Error(), "address "+address+": ")
		return usagef("--target %s: %s, %s", address, reason, wantAddress)
	}
	if number, err := net.LookupPort("tcp", port); err != nil || number == 0 {
		return usagef("--target %s: %q is no port to connect to, %s", address, port, wantAddress)
	}
	return nil
}
