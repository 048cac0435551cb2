package transport

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

const canPoll = true

// poller is a goroutine that waits for many sockets with one epoll descriptor, in which they are level-triggered. The
// goroutine itself waits as others do: the scheduler's own poller watches the epoll descriptor.
type poller struct {
	file *os.File
	raw  syscall.RawConn
	fd   int

	mu      sync.Mutex // taken after a Conn's lock, if with one
	sockets int
	turn    int // changes when another goroutine takes over
	running bool
}

// pollBatch is how many readable sockets are asked for at once.
const pollBatch = 128

// pollers is all of the process's pollers, and what they wait for.
var pollers struct {
	mu    sync.RWMutex // taken after a Conn's lock and before a poller's
	all   []*poller
	next  int
	conns []*Conn // by descriptor; a late event may find another socket's entry

	parked map[int]*Parked // likewise
}

// poll has a poller wait for the socket with this descriptor, of which it makes a copy: the original one can be closed
// then. It returns nil when the system does not let it.
func poll(c *Conn, fd int) *polled {
	copied, err := copyDescriptor(fd)
	if err != nil {
		return nil
	}
	p := &polled{fd: copied}
	if p.poller = nextPoller(); p.poller == nil || !p.poller.add(c, p.fd) {
		closeDescriptor(p.fd)
		return nil
	}
	return p
}

func nextPoller() *poller {
	pollers.mu.Lock()
	defer pollers.mu.Unlock()
	if pollers.all == nil {
		pollers.all = make([]*poller, runtime.GOMAXPROCS(0))
	}
	pollers.next = (pollers.next + 1) % len(pollers.all)
	p := pollers.all[pollers.next]
	if p != nil {
		return p
	}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	_ = syscall.SetNonblock(fd, true) // else os.File would not have the scheduler wait for it
	p = &poller{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if p.raw, err = p.file.SyscallConn(); err != nil || p.file.SetReadDeadline(time.Time{}) != nil {
		_ = p.file.Close() // the scheduler cannot wait for it
		return nil
	}
	pollers.all[pollers.next] = p
	return p
}

func (p *poller) add(c *Conn, fd int) bool {
	pollers.mu.Lock()
	for len(pollers.conns) <= fd {
		pollers.conns = append(pollers.conns, nil)
	}
	pollers.conns[fd] = c
	pollers.mu.Unlock()
	return p.await(fd, syscall.EPOLLIN)
}

// await begins to wait for a socket that was entered among pollers.
func (p *poller) await(fd int, events uint32) bool {
	p.mu.Lock()
	p.sockets++
	if !p.running {
		p.running = true
		p.turn++
		_ = p.file.SetReadDeadline(time.Time{})
		go p.loop(p.turn)
	}
	p.mu.Unlock()
	event := syscall.EpollEvent{Events: events, Fd: int32(fd)}
	if syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &event) == nil {
		return true
	}
	p.forget(fd)
	return false
}

// remove stops waiting for the socket. An event of it may still be on its way.
func (p *poller) remove(fd int) {
	_ = syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_DEL, fd, &syscall.EpollEvent{})
	p.forget(fd)
}

func (p *poller) forget(fd int) {
	pollers.mu.Lock()
	if fd < len(pollers.conns) {
		pollers.conns[fd] = nil
	}
	delete(pollers.parked, fd)
	pollers.mu.Unlock()
	p.mu.Lock()
	if p.sockets--; p.sockets == 0 {
		_ = p.file.SetReadDeadline(time.Unix(1, 0)) // the goroutine ends
	}
	p.mu.Unlock()
}

// loop serves what has become readable until it is another's turn or there are no more sockets.
func (p *poller) loop(turn int) {
	w := roles.NewPollerWorker(p)
	defer w.HandOver()
	var events [pollBatch]syscall.EpollEvent
	var ready [pollBatch]*Conn
	var woken []*Parked
	n, served := 0, 0
	wait := func(fd uintptr) bool {
		//nolint:gosec // events outlives the call
		got, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&events[0])), pollBatch, 0, 0, 0)
		n = 0
		if errno == 0 {
			n = int(got)
		}
		return n > 0
	}
	for {
		if p.raw.Read(wait) != nil && p.ended(turn) {
			return
		}
		pollers.mu.RLock()
		for i := range n {
			fd := int(events[i].Fd)
			if ready[i] = nil; fd < len(pollers.conns) {
				ready[i] = pollers.conns[fd]
			}
			if parked := pollers.parked[fd]; ready[i] == nil && parked != nil {
				woken = append(woken, parked)
			}
		}
		pollers.mu.RUnlock()
		for _, parked := range woken {
			parked.wake()
		}
		clear(woken)
		woken = woken[:0]
		for i, c := range ready[:n] {
			ready[i] = nil
			if c == nil {
				continue
			}
			c.servePolled(w)
			if !p.mine(turn) {
				return // what is left of the batch is still readable for the other
			}
		}
		if served += n; served >= pollBatch {
			served = 0
			if !roles.ProcessorsHeld() {
				runtime.Gosched() // for those who were woken
			}
		}
		n = 0
	}
}

// ended reports whether the goroutine is to end, and notes that it has.
func (p *poller) ended(turn int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn != turn {
		return true
	}
	if p.sockets > 0 {
		_ = p.file.SetReadDeadline(time.Time{})
		return false
	}
	p.running = false
	return true
}

func (p *poller) mine(turn int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turn == turn
}

// Replace has another goroutine go on, because the present one is held up or has ended.
func (p *poller) Replace() {
	p.mu.Lock()
	p.turn++
	p.running = true
	go p.loop(p.turn)
	p.mu.Unlock()
}

// park waits for a socket that stays package net's: once, then it is disabled until
// it is taken out.
func park(p *Parked) bool {
	p.poller = nextPoller()
	if p.poller == nil {
		return false
	}
	pollers.mu.Lock()
	if pollers.parked == nil {
		pollers.parked = map[int]*Parked{}
	}
	pollers.parked[p.fd] = p
	pollers.mu.Unlock()
	return p.poller.await(p.fd, syscall.EPOLLIN|syscall.EPOLLONESHOT)
}

func copyDescriptor(fd int) (int, error) {
	copied, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(copied), nil
}

func closeDescriptor(fd int) { _ = syscall.Close(fd) }
