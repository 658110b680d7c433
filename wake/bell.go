package wake

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// A bell in a row is an address and a key, such as "10.0.0.5:29440 00112233445566778899aabbccddeeff". The datagram that
// rings it is ringing and the key. The key is the wait's own, random, and ends with the wait. So it needs no signature: a
// copy of the datagram can do no more than the first one, and a signature without a clock could not tell them apart either.
const ringing = "queuelock bell 1"

type bellKey [16]byte

// firstBellPort keeps bells from the ports of services such as DNS.
const firstBellPort = 1024

// private are the prefixes in which bells are rung by default: loopback, RFC 1918 and RFC 4193.
var private = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("fc00::/7"),
}

// bells are what a UDP with Config.Bell has beside hints.
type bells struct {
	on        bool
	advertise netip.AddrPort // invalid: what was bound
	allow     []netip.Prefix
	find      func() []netip.Addr // this host's addresses, the best first

	hung    map[bellKey]func() // guarded by UDP.mu
	found   netip.Addr         // guarded by UDP.mu; at foundAt
	foundAt time.Time          // guarded by UDP.mu
}

// configure takes the fields of bells.
func (b *bells) configure(cfg Config, listen netip.AddrPort) (err error) {
	b.on, b.allow, b.find, b.hung = cfg.Bell, private, addresses, map[bellKey]func(){}
	switch {
	case cfg.Bell:
	case cfg.Advertise != "":
		return fmt.Errorf("wake: the field Advertise is %q without Bell", cfg.Advertise)
	case cfg.Allow != nil:
		return fmt.Errorf("wake: the field Allow is %q without Bell", cfg.Allow)
	default:
		return nil
	}
	if cfg.Allow != nil {
		b.allow = nil
	}
	for _, text := range cfg.Allow {
		p, err := netip.ParsePrefix(text)
		if err != nil || p.Addr().Is4In6() {
			return fmt.Errorf("wake: the field Allow has %q: a prefix is needed, such as %q", text, "10.0.0.0/8")
		}
		b.allow = append(b.allow, p)
	}
	shown := listen
	if cfg.Advertise != "" {
		if b.advertise, err = address("Advertise", cfg.Advertise); err != nil {
			return err
		}
		if listen.Port() == 0 {
			return fmt.Errorf("wake: the field Advertise is %q and Listen is %q: Listen needs a port", cfg.Advertise, cfg.Listen)
		}
		shown = b.advertise
	}
	port := cmp.Or(shown.Port(), firstBellPort) // 0 is any
	found := shown.Addr().IsUnspecified() && !b.advertise.IsValid()
	if shown.IsValid() && (port < firstBellPort || !found && !b.allows(netip.AddrPortFrom(shown.Addr(), port))) {
		return fmt.Errorf("wake: others would not ring %v: the field Allow is %v, and the lowest port is %d", shown, b.allow, firstBellPort)
	}
	return nil
}

// allows reports whether a bell with that address is rung. Clouds have their metadata services at link-local ones. The
// kernel refuses broadcast addresses, which depend on routes: see unicast.
func (b *bells) allows(to netip.AddrPort) bool {
	a := to.Addr()
	switch {
	case a.IsUnspecified(), a.IsMulticast(), a.IsLinkLocalUnicast(), a == broadcast, to.Port() < firstBellPort:
		return false
	}
	return slices.ContainsFunc(b.allow, func(p netip.Prefix) bool { return p.Contains(a) }) // not one with a zone
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// Hang returns what the row of one waiter says of where to ring it. rung, which must not block, is called whenever that is
// done, until stop. The bell is empty without Config.Bell, and on a host whose address is not in Config.Allow.
func (u *UDP) Hang(rung func()) (bell string, stop func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.bells.on || u.ended() {
		return "", func() {}
	}
	at, err := u.reach()
	if err != nil {
		return "", func() {} // Listen has returned it, or the host has lost its address
	}
	var key bellKey
	_, _ = rand.Read(key[:]) // it never fails
	u.bells.hung[key] = rung
	return at.String() + " " + hex.EncodeToString(key[:]), func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.bells.hung, key)
	}
}

// Ring rings the bell of a row in the background, if its address is allowed. Any other text is ignored: other programs may
// write rows, too.
func (u *UDP) Ring(bell string) {
	if to, key, ok := parseBell(bell); ok && u.bells.on && u.bells.allows(to) {
		u.post(datagram{to: to, bytes: append([]byte(ringing), key[:]...)})
	}
}

// parseBell reads what Hang has returned.
func parseBell(bell string) (to netip.AddrPort, key bellKey, ok bool) {
	at, digits, _ := strings.Cut(bell, " ")
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != len(key) {
		return to, key, false
	}
	to, err = netip.ParseAddrPort(at)
	return netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), bellKey(raw), err == nil
}

// rung calls the waiter whose bell has that key.
func (u *UDP) rung(key bellKey) {
	u.mu.Lock()
	rung := u.bells.hung[key]
	u.mu.Unlock()
	if rung != nil {
		rung()
	}
}

// foundFor is how long an address of this host is used before it is looked for again.
const foundFor = 10 * time.Second

// reach binds the socket for bells if it is not bound to the present address, and returns where waiters are rung. u.mu is held.
func (u *UDP) reach() (at netip.AddrPort, err error) {
	b, listen := &u.bells, u.listen
	if !listen.IsValid() {
		addr, err := b.own(netip.Addr{})
		if err != nil {
			return at, err
		}
		if u.remote != nil && local(u.remote).Addr() != addr {
			_ = u.remote.Close() // present waits poll, and the next have the new address
			u.remote = nil
		}
		listen = netip.AddrPortFrom(addr, 0)
	}
	if err := u.bind(listen); err != nil {
		return at, err
	}
	at = local(u.remote)
	if at.Addr().IsUnspecified() && !b.advertise.IsValid() {
		addr, err := b.own(u.listen.Addr())
		if err != nil {
			return at, err
		}
		at = netip.AddrPortFrom(addr, at.Port())
	}
	if b.advertise.IsValid() {
		at = b.advertise
	}
	return at, nil
}

// own returns the address of this host at which others can ring. from is what a socket is bound to.
func (b *bells) own(from netip.Addr) (netip.Addr, error) {
	if time.Since(b.foundAt) >= foundFor {
		b.found, b.foundAt = netip.Addr{}, time.Now()
		for _, a := range slices.Backward(b.find()) {
			if (a.Is4() || !from.Is4()) && b.allows(netip.AddrPortFrom(a, firstBellPort)) {
				b.found = a
			}
		}
	}
	if b.found.IsValid() {
		return b.found, nil
	}
	return b.found, fmt.Errorf("wake: this host has no address in %v: its waiters are not rung", b.allow)
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

// ring sends one datagram to one host.
func (d datagram) ring() {
	dialer := net.Dialer{Control: unicast}
	conn, err := dialer.Dial("udp", d.to.String())
	if err != nil {
		return // a poll takes its place
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(window))
	_, _ = conn.Write(d.bytes)
}
