package peer

import (
	"crypto/x509"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// getUser7 calls GetUser with more flags.
func getUser7(target string, flags ...string) outcome {
	return run(append([]string{"call", "--target", target, userService + "GetUser", `{"userId":7}`}, flags...)...)
}

func TestTLS(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.server(t)
	path := filepath.Join(t.TempDir(), "s")
	address := serve(t, "--listen", "127.0.0.1:0", "--unix", path, "--tls-cert", cert, "--tls-key", key).address
	for _, target := range []string{address, "wss://" + address + "/path", "unix:" + path, strings.Replace(address, "127.0.0.1", "localhost", 1)} {
		getUser7(target, "--tls-ca", ca.file).want(t, outcome{stdout: user7})
	}
}

func TestMutualTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.server(t)
	flags := []string{"--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca.file}
	server := serve(t, flags...)
	cert, key = ca.client(t)
	getUser7(server.address, "--tls-ca", ca.file, "--tls-cert", cert, "--tls-key", key).want(t, outcome{stdout: user7})
	server.wantLog(t, "")

	server = serve(t, flags...)
	getUser7(server.address, "--tls-ca", ca.file).wantFailure(t, "UNAVAILABLE", "not_sent", "certificate required")
	server.wantLog(t, "certificate")

	server = serve(t, flags...)
	cert, key = other.client(t)
	getUser7(server.address, "--tls-ca", ca.file, "--tls-cert", cert, "--tls-key", key).wantFailure(t, "UNAVAILABLE", "not_sent", "certificate")
	server.wantLog(t, "certificate")
}

func TestCleartextIsRefusedUnlessAllowed(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.server(t)
	flags := []string{"--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key}
	server := serve(t, flags...)
	getUser7(server.address).wantFailure(t, "UNAVAILABLE", "not_sent", "use TLS")
	server.wantLog(t, "cleartext")

	server = serve(t, append(flags, "--allow-cleartext")...)
	getUser7(server.address).want(t, outcome{stdout: user7})
	getUser7(server.address, "--tls-ca", ca.file).want(t, outcome{stdout: user7})
}

func TestWrongCertificateIsNamed(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.server(t)
	target := serve(t, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key).address
	getUser7(target, "--tls-ca", other.file).wantFailure(t, "UNAVAILABLE", "not_sent", "verify certificate")

	cert, key = ca.sign(t, &x509.Certificate{DNSNames: []string{"example.com"}})
	target = serve(t, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key).address
	getUser7(target, "--tls-ca", ca.file).wantFailure(t, "UNAVAILABLE", "not_sent", "verify certificate")
}

func TestNobodyThereIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	listener.Close()
	getUser7(closed).wantFailure(t, "UNAVAILABLE", "not_sent", closed+": connect: connection refused")
	getUser7(closed+","+closed).wantFailure(t, "UNAVAILABLE", "not_sent", closed)

	none := "unix:" + filepath.Join(t.TempDir(), "none")
	getUser7(none).wantFailure(t, "UNAVAILABLE", "not_sent", none+": connect: no such file")
}

func TestMalformedTargetIsTurnedDown(t *testing.T) {
	for target, words := range map[string]string{
		"http://127.0.0.1:1":     "without http://",
		"localhost":              "missing port",
		"localhost:":             `"" is no port`,
		"::1:80":                 "too many colons",
		"127.0.0.1:99999":        `"99999" is no port`,
		"127.0.0.1:0":            `"0" is no port`,
		"127.0.0.1:x1":           `"x1" is no port`,
		"unix:":                  "there is no path",
		"127.0.0.1:1, localhost": "--target localhost: missing port",
	} {
		getUser7(target).wantUsage(t, words)
		run("bench", "--target", target).wantUsage(t, words)
	}
}

func TestWellFormedTargetsPass(t *testing.T) {
	for _, target := range []string{"[::1]:80", ":80", "localhost:80", "a.example:65535,b.example:1", "unix:relative/path", "unix:/a:b", "ws://a.example/path", "wss://[::1]:1"} {
		if err := checkTarget(target); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// serveRaw has each connection handled by a function that knows no Trunkcall.
func serveRaw(t *testing.T, handle func(net.Conn)) (target string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				handle(connection)
			}()
		}
	}()
	return listener.Addr().String()
}

func TestAnotherProtocolIsNamed(t *testing.T) {
	ca := newAuthority(t)
	for name, greeting := range map[string]string{
		"HTTP/1.1": "HTTP/1.1 400 Bad Request\r\n\r\n",
		"HTTP/2":   "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"SSH":      "SSH-2.0-x\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			target := serveRaw(t, func(connection net.Conn) {
				_, _ = io.ReadFull(connection, make([]byte, 4))
				_, _ = io.WriteString(connection, greeting)
			})
			getUser7(target).wantFailure(t, "UNAVAILABLE", "not_sent", target+": this is not a Trunkcall server")
			getUser7(target, "--tls-ca", ca.file).wantFailure(t, "UNAVAILABLE", "not_sent", target+": the server does not speak TLS")
		})
	}
}

func TestTLSToACleartextPortIsNamed(t *testing.T) {
	server := serve(t, "--listen", "127.0.0.1:0")
	getUser7(server.address, "--tls-ca", newAuthority(t).file).wantFailure(t, "UNAVAILABLE", "not_sent", "TLS")
	server.wantLog(t, "a TLS handshake on a port without TLS")
}

func TestTimeoutBoundsConnecting(t *testing.T) {
	silent := serveRaw(t, func(connection net.Conn) { _, _ = io.Copy(io.Discard, connection) })
	getUser7(silent, "--timeout", "50ms").wantFailure(t, "DEADLINE_EXCEEDED", "not_sent", "deadline")
	getUser7(silent, "--timeout", "50ms", "--tls-ca", newAuthority(t).file).wantFailure(t, "DEADLINE_EXCEEDED", "not_sent", "deadline")
	getUser7(silent, "--timeout", "1ns").wantFailure(t, "DEADLINE_EXCEEDED", "not_sent", "deadline")
}
