package wake

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Processes of one host receive hints on the first free of these UDP ports of 127.0.0.1. A process that finds none
// polls.
const (
	FirstPort = 29440
	Ports     = 16
)

// maxPeers bounds what a release sends.
const maxPeers = 256

// Config says where hints are sent and received beside this host's loopback address. The zero value is for the
// processes of one host. Addresses are numeric, such as "10.0.0.5:29440" or "[fd00::5]:29440".
type Config struct {
	// Listen is the address for hints of other hosts. Zero means none. It needs Peers, of the same family unless it is
	// "0.0.0.0" or "[::]": hints are sent from this address. With Bell it is also where waiters are rung, and needs no
	// Peers. Without them its port may be 0, which means any. With Bell, zero means any port of the address from which this
	// host reaches other networks.
	Listen string
	// Peers are the addresses of processes on other hosts, at most 256. Each release with waiters sends a
	// datagram to each. Hints from hosts that are not listed are dropped.
	Peers []string
	// Bell lets processes on other hosts wake each other without Peers: see [Bells]. A waiter shows in its row the address
	// of this host, and a random key. A release sends a datagram of 32 bytes to the address in the next row. Default false.
	Bell bool
	// Advertise is the address that rows show in place of Listen's, as in a container whose port is mapped. Zero means
	// Listen's. It needs Bell, and a Listen with a port.
	Advertise string
	// Allow are the prefixes, such as "10.20.0.0/16", of the addresses to which bells are sent, and which rows show. Ports
	// below 1024, and link-local, multicast and broadcast addresses, are never used. Nil means loopback, 10.0.0.0/8,
	// 172.16.0.0/12, 192.168.0.0/16 and fc00::/7. It needs Bell.
	Allow []string
}

// UDP carries hints by UDP. The clients of a process share one. It binds a port when the first of them waits, and
// is closed by its owner after them.
type UDP struct {
	loopback []netip.AddrPort // to receive on the first that is free, and to send to
	listen   netip.AddrPort   // invalid: none
	peers    []netip.AddrPort
	quit     chan struct{} // closed by Close
	pending  chan datagram // to be sent
	running  sync.WaitGroup
	bells    bells

	mu        sync.Mutex
	closed    bool
	listeners map[*func(Digest)]bool // guarded by mu
	local     *net.UDPConn           // guarded by mu; of loopback
	remote    *net.UDPConn           // guarded by mu; of listen, or for bells
	sending   bool                   // guarded by mu
}

var _ Bells = (*UDP)(nil)

// New returns a UDP. It opens no socket. Returns an error if a field of cfg is invalid.
func New(cfg Config) (*UDP, error) {
	u := &UDP{quit: make(chan struct{}), pending: make(chan datagram, 64), listeners: map[*func(Digest)]bool{}}
	for port := range uint16(Ports) {
		u.loopback = append(u.loopback, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), FirstPort+port))
	}
	if len(cfg.Peers) > maxPeers {
		return nil, fmt.Errorf("wake: the field Peers has %d addresses: at most %d are possible", len(cfg.Peers), maxPeers)
	}
	for _, text := range cfg.Peers {
		peer, err := address("Peers", text)
		switch {
		case err != nil:
			return nil, err
		case peer.Addr().IsUnspecified() || peer.Addr().IsMulticast():
			return nil, fmt.Errorf("wake: the field Peers has %q: the address of one host is needed", text)
		}
		u.peers = append(u.peers, peer)
	}
	if err := u.listenOn(cfg); err != nil {
		return nil, err
	}
	if err := u.bells.configure(cfg, u.listen); err != nil {
		return nil, err
	}
	return u, nil
}

// listenOn takes the field Listen.
func (u *UDP) listenOn(cfg Config) (err error) {
	switch at, parsed := netip.ParseAddrPort(cfg.Listen); {
	case cfg.Listen == "":
		return nil
	case len(u.peers) == 0 && !cfg.Bell:
		return fmt.Errorf("wake: the field Listen is %q and Peers is empty: no hint would be accepted", cfg.Listen)
	case len(u.peers) == 0 && parsed == nil && at.Port() == 0:
		u.listen = netip.AddrPortFrom(at.Addr().Unmap(), 0)
		return nil
	}
	if u.listen, err = address("Listen", cfg.Listen); err != nil {
		return err
	}
	from := u.listen.Addr()
	for _, to := range u.peers {
		if !from.IsUnspecified() && from.Is4() != to.Addr().Is4() {
			return fmt.Errorf("wake: the field Listen is %q and Peers has %q: hints are sent from Listen, so either use addresses of one family, or listen on \"[::]:%d\"",
				u.listen, to, u.listen.Port())
		}
	}
	return nil
}

func address(field, text string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(text)
	if err != nil || a.Port() == 0 {
		return netip.AddrPort{}, fmt.Errorf("wake: the field %s has %q: a numeric address and a port are needed, such as %q",
			field, text, "10.0.0.5:29440")
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), nil
}

var errEnded = errors.New("wake: the UDP is closed, or was not made by New")

func (u *UDP) ended() bool { return u.closed || u.quit == nil }

// Listen binds the addresses that are not bound yet, and calls receive with each hint until stop.
func (u *UDP) Listen(receive func(Digest)) (stop func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended() {
		return func() {}, errEnded
	}
	u.listeners[&receive] = true
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.listeners, &receive)
	}, errors.Join(u.bindRemote(), u.bindLocal()) // in this order: the first may need a port of the second
}

func (u *UDP) bindLocal() (err error) {
	for _, a := range u.loopback {
		if u.local != nil {
			return nil
		}
		if u.local, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(a)); err == nil {
			u.read(u.local)
			return nil
		}
		u.local = nil
	}
	return fmt.Errorf("wake: no UDP port of %v to %v can be bound: %w", u.loopback[0], u.loopback[len(u.loopback)-1], err)
}

func (u *UDP) bindRemote() (err error) {
	switch {
	case u.bells.on:
		_, err = u.reach()
	case u.listen.IsValid():
		err = u.bind(u.listen)
	}
	return err
}

// bind binds the socket for other hosts, unless it is.
func (u *UDP) bind(listen netip.AddrPort) error {
	if u.remote != nil {
		return nil
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(listen))
	if err != nil {
		return fmt.Errorf("wake: the address %v cannot be bound: %w", listen, err)
	}
	u.remote = conn
	u.read(conn)
	return nil
}

// The reader drops what arrives beyond so many datagrams in a window.
const (
	window    = 100 * time.Millisecond
	perWindow = 1000
)

// read receives hints from this host and from peers, and bells from any host, until the socket is closed.
func (u *UDP) read(conn *net.UDPConn) {
	u.running.Go(func() {
		const bell = len(ringing) + len(bellKey{})
		datagram := make([]byte, bell+1) // one byte more shows that it is too long
		begun := time.Now()
		for n := 1; ; n++ {
			size, from, err := conn.ReadFromUDPAddrPort(datagram)
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err == nil && size == len(Digest{}) && u.accepts(from.Addr().Unmap()):
				u.deliver(Digest(datagram[:size]))
			case err == nil && size == bell && string(datagram[:len(ringing)]) == ringing:
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
	})
}

func (u *UDP) accepts(from netip.Addr) bool {
	return from.IsLoopback() || slices.ContainsFunc(u.peers, func(p netip.AddrPort) bool { return p.Addr() == from })
}

func (u *UDP) deliver(d Digest) {
	u.mu.Lock()
	var all []func(Digest)
	for receive := range u.listeners {
		all = append(all, *receive)
	}
	u.mu.Unlock()
	for _, receive := range all {
		receive(d)
	}
}

// Send sends a hint to the clients of this process at once, and to others in the background.
func (u *UDP) Send(d Digest) {
	u.deliver(d)
	u.post(datagram{bytes: d[:]})
}

// datagram is one to send.
type datagram struct {
	to    netip.AddrPort // of a bell; invalid: to all that get hints
	bytes []byte
}

// post has a datagram sent in the background.
func (u *UDP) post(d datagram) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended() {
		return
	}
	if !u.sending {
		u.sending = true
		u.running.Go(u.send)
	}
	select {
	case u.pending <- d:
	default: // a poll takes its place
	}
}

// send sends pending hints until Close.
func (u *UDP) send() {
	local := out{from: u.loopback[0].Addr(), to: u.loopback}
	remote := out{from: u.listen.Addr(), to: u.peers} // a peer accepts the address that it knows
	defer local.close()
	defer remote.close()
	for {
		select {
		case d := <-u.pending:
			if d.to.IsValid() {
				d.ring()
				continue
			}
			local.send(d.bytes, u.own())
			remote.send(d.bytes, netip.AddrPort{})
		case <-u.quit:
			return
		}
	}
}

// own returns the loopback address on which this process receives hints, if there is one.
func (u *UDP) own() netip.AddrPort {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.local == nil {
		return netip.AddrPort{}
	}
	return u.local.LocalAddr().(*net.UDPAddr).AddrPort()
}

// out is a socket that sends to some addresses. It is opened with the first hint.
type out struct {
	from netip.Addr // invalid: any
	to   []netip.AddrPort
	conn *net.UDPConn
}

func (o *out) send(d []byte, except netip.AddrPort) {
	if len(o.to) == 0 {
		return
	}
	if o.conn == nil {
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(o.from, 0)))
		if err != nil {
			return // the next hint tries again
		}
		o.conn = conn
	}
	_ = o.conn.SetWriteDeadline(time.Now().Add(window))
	for _, to := range o.to {
		if to != except {
			_, _ = o.conn.WriteToUDPAddrPort(d, to) // a hint may be lost
		}
	}
}

func (o *out) close() {
	if o.conn != nil {
		_ = o.conn.Close()
	}
}

// Close closes the sockets and waits until nothing is sent or received any more. Clients that use the UDP poll from
// then on. Its error is always nil.
func (u *UDP) Close() error {
	u.mu.Lock()
	if !u.ended() {
		u.closed = true
		close(u.quit)
		for _, conn := range []*net.UDPConn{u.local, u.remote} {
			if conn != nil {
				_ = conn.Close()
			}
		}
	}
	u.mu.Unlock()
	u.running.Wait()
	return nil
}
