package zookeeper

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Of ZooKeeper's protocol, beside what the client knows: what is asked, and errors.
const (
	askPing = 11
	askOpen = 0 // that a session begins

	noNode     = -101
	nodeExists = -110
)

// played speaks ZooKeeper's protocol as a server, to those who list the nodes of one folder and read them.
type played struct {
	address string
	// What is answered, but for the number of the question: an error, or zero and what belongs to the answer.
	names func() (code int32, body []byte)
	node  func(id string) (code int32, body []byte)
	keeps bool // sessions go on at another connection; else they are over
	// Whether a connection ends instead of an answer.
	ends func() bool
	// What is sent in place of an answer, if it is not nil and returns anything.
	raw func(what int32, number []byte) []byte

	mu    sync.Mutex
	conns []net.Conn
}

func play(t *testing.T) *played {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &played{address: listener.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.conns = append(p.conns, conn)
			p.mu.Unlock()
			all.Go(func() {
				defer conn.Close()
				_ = p.serve(conn) // its end is the client's, or the test's
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.endAll()
		all.Wait()
	})
	return p
}

// endAll ends all connections.
func (p *played) endAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

func packet(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 1<<20 {
		return nil, errors.New("too long")
	}
	whole := make([]byte, n)
	_, err := io.ReadFull(from, whole)
	return whole, err
}

// sized has its length in front of it.
func sized(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// namesBody are names of nodes, and what is known of the one above them.
func namesBody(ids ...string) []byte {
	body := binary.BigEndian.AppendUint32(nil, uint32(len(ids)))
	for _, id := range ids {
		body = append(body, sized([]byte(id))...)
	}
	return append(body, make([]byte, 68)...)
}

// nodeBody is what a node holds, and what is known of it.
func nodeBody(data []byte) []byte { return append(sized(data), make([]byte, 68)...) }

func (p *played) serve(conn net.Conn) error {
	asked, err := packet(conn)
	if err != nil || len(asked) < 24 {
		return err
	}
	session := uint64(1)
	if binary.BigEndian.Uint64(asked[16:]) != 0 && !p.keeps {
		session = 0 // those that have had one are told that it is over
	}
	begun := binary.BigEndian.AppendUint32(make([]byte, 4), 10_000) // ms for which a session lasts
	begun = append(binary.BigEndian.AppendUint64(begun, session), sized(make([]byte, 16))...)
	begun = sized(begun)
	if p.raw != nil {
		if raw := p.raw(askOpen, nil); raw != nil {
			begun = raw
		}
	}
	if _, err := conn.Write(begun); err != nil {
		return err
	}
	for {
		asked, err := packet(conn)
		if err != nil || len(asked) < 8 {
			return err
		}
		what := int32(binary.BigEndian.Uint32(asked[4:]))
		if p.raw != nil {
			if raw := p.raw(what, asked[:4]); raw != nil {
				if _, err := conn.Write(raw); err != nil {
					return err
				}
				continue
			}
		}
		code, body := int32(0), []byte(nil)
		switch what {
		case askChildren:
			code, body = p.names()
		case askData:
			path := string(asked[12 : len(asked)-1]) // behind its length, before whether to watch
			code, body = p.node(path[strings.LastIndexByte(path, '/')+1:])
		case askExists:
			code = noNode
		case askCreate:
			code = nodeExists
		case askPing, askClose:
		default:
			return errors.New("asked for what is not played")
		}
		if (what == askChildren || what == askData) && p.ends != nil && p.ends() {
			return nil
		}
		said := slices.Concat(asked[:4], binary.BigEndian.AppendUint64(nil, 1), binary.BigEndian.AppendUint32(nil, uint32(code)), body)
		if _, err := conn.Write(sized(said)); err != nil || what == askClose {
			return err
		}
	}
}
