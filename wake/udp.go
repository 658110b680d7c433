package wake

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// UDP carries bells by UDP. The clients of a process share one. It binds a port when the first of them waits, and is
// closed by its owner after them.
type UDP struct {
	network network
	find    func() []netip.Addr // this host's addresses, the best first
	quit    chan struct{}       // closed by Close; nil: the UDP was not made by New
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conn    *net.UDPConn       // guarded by mu; nil before the first Hang
	hung    map[bellKey]func() // guarded by mu
	found   netip.Addr         // guarded by mu; this host's address, at foundAt
	foundAt time.Time          // guarded by mu
}

var _ Bells = (*UDP)(nil)

// New returns a UDP. It opens no socket. Returns an error if a field of cfg is invalid.
func New(cfg Config) (*UDP, error) {
	n, err := cfg.network()
	if err != nil {
		return nil, err
	}
	return &UDP{network: n, find: addresses, quit: make(chan struct{}), hung: map[bellKey]func(){}}, nil
}

var errEnded = errors.New("wake: the UDP is closed, or was not made by New")

// Hang returns what the table says of where to ring one waiter or holder. Returns an error, and no bell, if no address
// can be bound, or this host has none in Config.Allow.
func (u *UDP) Hang(rung func()) (text string, stop func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || u.quit == nil {
		return "", func() {}, errEnded
	}
	at, err := u.reach()
	if err != nil {
		return "", func() {}, err
	}
	b := bell{to: at, host: thisHost()}
	_, _ = rand.Read(b.key[:]) // it never fails
	u.hung[b.key] = rung
	return b.String(), func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.hung, b.key)
	}, nil
}

// Ring sends a datagram to a bell of this host, or with Config.Network to one at an address that is allowed.
func (u *UDP) Ring(text string) {
	b, ok := parseBell(text)
	if !ok || !u.network.mayRing(b) {
		return
	}
	u.mu.Lock()
	if u.closed || u.quit == nil {
		u.mu.Unlock()
		return
	}
	u.running.Add(1)
	u.mu.Unlock()
	defer u.running.Done()
	dialer := net.Dialer{Control: unicast}
	conn, err := dialer.Dial("udp", b.to.String())
	if err != nil {
		return // a poll takes its place
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(MostOfRing))
	_, _ = conn.Write(append([]byte(ringing), b.key[:]...))
}

// foundFor is how long an address of this host is used before it is looked for again.
const foundFor = 10 * time.Second

// reach binds the socket to the present address, if it is not yet, and returns where this process is rung. u.mu is
// held.
func (u *UDP) reach() (at netip.AddrPort, err error) {
	n := &u.network
	listen := n.listen
	switch {
	case !n.on:
		listen = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
	case !listen.IsValid():
		addr, err := u.own(netip.Addr{})
		if err != nil {
			return at, err
		}
		if u.conn != nil && local(u.conn).Addr() != addr {
			_ = u.conn.Close() // present waits poll, and the next have the new address
			u.conn = nil
		}
		listen = netip.AddrPortFrom(addr, 0)
	}
	if u.conn == nil {
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(listen))
		if err != nil {
			return at, fmt.Errorf("wake: the address %v cannot be bound: %w", listen, err)
		}
		u.conn = conn
		u.running.Go(func() { u.read(conn) })
	}
	at = local(u.conn)
	if n.advertise.IsValid() {
		return n.advertise, nil
	}
	if at.Addr().IsUnspecified() {
		addr, err := u.own(n.listen.Addr())
		if err != nil {
			return at, err
		}
		at = netip.AddrPortFrom(addr, at.Port())
	}
	return at, nil
}

// own returns the address of this host at which others can ring. from is what a socket is bound to.
func (u *UDP) own(from netip.Addr) (netip.Addr, error) {
	if time.Since(u.foundAt) >= foundFor {
		u.found, u.foundAt = netip.Addr{}, time.Now()
		for _, a := range slices.Backward(u.find()) {
			if (a.Is4() || !from.Is4()) && u.network.allows(netip.AddrPortFrom(a, firstPort)) {
				u.found = a
			}
		}
	}
	if u.found.IsValid() {
		return u.found, nil
	}
	return u.found, fmt.Errorf("wake: this host has no address in %v: its waiters are not rung", u.network.allow)
}

// addresses returns this host's addresses: first those of the interfaces that lead to other networks.
func addresses() (all []netip.Addr) {
	for _, far := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} { // for documentation; nothing is sent
		if conn, err := net.Dial("udp", far); err == nil {
			all = append(all, conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap())
			_ = conn.Close()
		}
	}
	interfaces, _ := net.InterfaceAddrs()
	for _, i := range interfaces {
		if n, ok := i.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(n.IP); ok && !a.IsLoopback() {
				all = append(all, a.Unmap())
			}
		}
	}
	return all
}

func local(conn *net.UDPConn) netip.AddrPort {
	at := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// The reader drops what arrives beyond so many datagrams in a window.
const (
	window    = 100 * time.Millisecond
	perWindow = 1000
)

// read receives bells until the socket is closed.
func (u *UDP) read(conn *net.UDPConn) {
	const size = len(ringing) + len(bellKey{})
	datagram := make([]byte, size+1) // one byte more shows that it is too long
	begun := time.Now()
	for n := 1; ; n++ {
		got, err := conn.Read(datagram)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err == nil && got == size && string(datagram[:len(ringing)]) == ringing:
			u.rung(bellKey(datagram[len(ringing):size]))
		}
		if n < perWindow {
			continue
		}
		select {
		case <-time.After(window - time.Since(begun)):
			n, begun = 0, time.Now()
		case <-u.quit:
			return
		}
	}
}

// rung calls the waiter, or the holder, whose bell has that key.
func (u *UDP) rung(key bellKey) {
	u.mu.Lock()
	rung := u.hung[key]
	u.mu.Unlock()
	if rung != nil {
		rung()
	}
}

// Close waits until all that was rung is sent, and closes the socket. Clients that use the UDP poll from then on. Its
// error is always nil.
func (u *UDP) Close() error {
	u.mu.Lock()
	if !u.closed && u.quit != nil {
		close(u.quit)
		if u.conn != nil {
			_ = u.conn.Close()
		}
	}
	u.closed = true
	u.mu.Unlock()
	u.running.Wait()
	return nil
}
