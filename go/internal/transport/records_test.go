//go:build unix

package transport

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// What crypto/tls does not do at a test's wish: an end of a TLS 1.3 connection whose records the test makes itself.

const (
	recordAlert       = 21
	recordHandshake   = 22
	recordApplication = 23

	keyUpdate = 24 // a handshake message (RFC 8446 4.6.3)
)

var errCloseNotify = errors.New("close_notify")

// direction is the keys of one direction.
type direction struct {
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

func (d *direction) use(t testing.TB, secret []byte) {
	expand := func(label string, n int) []byte {
		info := binary.BigEndian.AppendUint16(nil, uint16(n))
		info = append(info, byte(len("tls13 ")+len(label)))
		info = append(info, "tls13 "+label...)
		key, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), n)
		if err != nil {
			t.Error(err)
		}
		return key
	}
	block, err := aes.NewCipher(expand("key", 16))
	if err != nil {
		t.Error(err)
	}
	d.aead, err = cipher.NewGCM(block)
	if err != nil {
		t.Error(err)
	}
	d.iv, d.seq, d.secret = expand("iv", 12), 0, secret
}

func (d *direction) update(t testing.TB) {
	info := append([]byte{0, 32, byte(len("tls13 traffic upd"))}, "tls13 traffic upd\x00"...)
	next, err := hkdf.Expand(sha256.New, d.secret, string(info), 32)
	if err != nil {
		t.Error(err)
	}
	d.use(t, next)
}

func (d *direction) nonce() []byte {
	nonce := bytes.Clone(d.iv)
	low := nonce[len(nonce)-8:]
	binary.BigEndian.PutUint64(low, binary.BigEndian.Uint64(low)^d.seq)
	d.seq++
	return nonce
}

// records is the client's end.
type records struct {
	net.Conn
	t       testing.TB
	in, out direction
	from    *bufio.Reader
	rest    []byte
	updated chan struct{} // each time that the peer has updated its keys
}

// handRecords does the handshake over near and then takes crypto/tls's place. It returns the server's end too.
func handRecords(t testing.TB) (client *records, server *tls.Conn) {
	t.Helper()
	near, far := sockets(t)
	var keys bytes.Buffer
	a, b := handshake(t, near, far, &tls.Config{KeyLogWriter: &keys, InsecureSkipVerify: true}, &tls.Config{SessionTicketsDisabled: true})
	if suite := a.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Fatal(tls.CipherSuiteName(suite))
	}
	client = &records{Conn: near, t: t, from: bufio.NewReader(near), updated: make(chan struct{}, 10)}
	for line := range strings.Lines(keys.String()) {
		words := strings.Fields(line)
		secret, err := hex.DecodeString(words[2])
		if err != nil {
			t.Fatal(err)
		}
		switch words[0] {
		case "CLIENT_TRAFFIC_SECRET_0":
			client.out.use(t, secret)
		case "SERVER_TRAFFIC_SECRET_0":
			client.in.use(t, secret)
		}
	}
	return client, b
}

func (r *records) seal(kind byte, content []byte) []byte {
	inner := append(bytes.Clone(content), kind)
	header := []byte{recordApplication, 3, 3, 0, 0}
	binary.BigEndian.PutUint16(header[3:], uint16(len(inner)+r.out.aead.Overhead()))
	return r.out.aead.Seal(header, r.out.nonce(), inner, bytes.Clone(header))
}

func (r *records) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), 1<<14)
		if _, err := r.Conn.Write(r.seal(recordApplication, rest[:n])); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

func (r *records) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		kind, content, err := r.next()
		switch {
		case err != nil:
			return 0, err
		case kind == recordApplication:
			r.rest = content
		case kind == recordAlert && content[1] == 0:
			return 0, errCloseNotify
		case kind == recordHandshake && content[0] == keyUpdate:
			r.in.update(r.t)
			r.updated <- struct{}{}
		default:
			r.t.Errorf("record %d % x", kind, content)
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *records) next() (kind byte, content []byte, err error) {
	var header [5]byte
	if _, err := io.ReadFull(r.from, header[:]); err != nil {
		return 0, nil, err
	}
	body := make([]byte, binary.BigEndian.Uint16(header[3:]))
	if _, err := io.ReadFull(r.from, body); err != nil {
		return 0, nil, err
	}
	inner, err := r.in.aead.Open(nil, r.in.nonce(), body, header[:])
	if err != nil {
		return 0, nil, err
	}
	return inner[len(inner)-1], inner[:len(inner)-1], nil
}

// updateKeys has this end take new keys, said in two records, and the peer too if that is asked for.
func (r *records) updateKeys(asked bool) {
	message := []byte{keyUpdate, 0, 0, 1, 0}
	if asked {
		message[4] = 1
	}
	for _, part := range [][]byte{message[:3], message[3:]} {
		if _, err := r.Conn.Write(r.seal(recordHandshake, part)); err != nil {
			r.t.Error(err)
		}
	}
	r.out.update(r.t)
}
