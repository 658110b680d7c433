package wake

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// Config says where bells are rung. The zero value is for the processes of one host: a waiter is rung at a port of the
// loopback address, and by no other host. Addresses are numeric, such as "10.0.0.5:29440" or "[fd00::5]:29440".
type Config struct {
	// Network lets processes on other hosts ring each other: rows show the address of this host. Default false.
	Network bool
	// Listen is the address at which this process is rung. Its port may be 0, which means any. Zero means any port of the
	// address from which this host reaches other networks. It needs Network.
	Listen string
	// Advertise is the address that rows show in place of Listen's, as in a container whose port is mapped. Zero means
	// Listen's. It needs Network, and a Listen with a port.
	Advertise string
	// Allow are the prefixes, such as "10.20.0.0/16", of the addresses to which bells are sent, and which rows show. Ports
	// below 1024, and link-local, multicast and broadcast addresses, are never used. Nil means loopback, 10.0.0.0/8,
	// 172.16.0.0/12, 192.168.0.0/16 and fc00::/7. It needs Network.
	Allow []string
}

// firstPort keeps bells from the ports of services such as DNS.
const firstPort = 1024

// private are the prefixes in which bells are rung by default: loopback, RFC 1918 and RFC 4193.
var private = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("fc00::/7"),
}

// network is what a Config says of other hosts.
type network struct {
	on        bool
	listen    netip.AddrPort // invalid: any port of the address that is found
	advertise netip.AddrPort // invalid: what was bound
	allow     []netip.Prefix
}

func (cfg Config) network() (n network, err error) {
	n.on, n.allow = cfg.Network, private
	if !cfg.Network {
		for field, value := range map[string]string{"Listen": cfg.Listen, "Advertise": cfg.Advertise} {
			if value != "" {
				return n, fmt.Errorf("wake: the field %s is %q without Network", field, value)
			}
		}
		if cfg.Allow != nil {
			return n, fmt.Errorf("wake: the field Allow is %q without Network", cfg.Allow)
		}
		return n, nil
	}
	if cfg.Allow != nil {
		n.allow = nil
	}
	for _, text := range cfg.Allow {
		p, err := netip.ParsePrefix(text)
		if err != nil || p.Addr().Is4In6() {
			return n, fmt.Errorf("wake: the field Allow has %q: a prefix is needed, such as %q", text, "10.0.0.0/8")
		}
		n.allow = append(n.allow, p)
	}
	if n.listen, err = address("Listen", cfg.Listen, 0); err != nil {
		return n, err
	}
	if n.advertise, err = address("Advertise", cfg.Advertise, 1); err != nil {
		return n, err
	}
	if n.advertise.IsValid() && n.listen.Port() == 0 {
		return n, fmt.Errorf("wake: the field Advertise is %q and Listen is %q: Listen needs a port",
			cfg.Advertise, cfg.Listen)
	}
	shown := n.listen
	if n.advertise.IsValid() {
		shown = n.advertise
	}
	port := cmp.Or(shown.Port(), firstPort) // 0 is any
	found := shown.Addr().IsUnspecified() && !n.advertise.IsValid()
	if shown.IsValid() && (port < firstPort || !found && !n.allows(netip.AddrPortFrom(shown.Addr(), port))) {
		return n, fmt.Errorf("wake: others would not ring %v: the field Allow is %v, and the lowest port is %d",
			shown, n.allow, firstPort)
	}
	return n, nil
}

// address reads a field. The empty one is invalid, and no error.
func address(field, text string, lowest uint16) (a netip.AddrPort, err error) {
	if text == "" {
		return a, nil
	}
	if a, err = netip.ParseAddrPort(text); err != nil || a.Port() < lowest {
		return netip.AddrPort{}, fmt.Errorf("wake: the field %s has %q: a numeric address and a port are needed, such as %q",
			field, text, "10.0.0.5:29440")
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), nil
}

// allows reports whether a bell with that address is rung. Clouds have their metadata services at link-local ones. The
// kernel refuses broadcast addresses, which depend on routes: see unicast.
func (n *network) allows(to netip.AddrPort) bool {
	a := to.Addr()
	switch {
	case a.IsUnspecified(), a.IsMulticast(), a.IsLinkLocalUnicast(), a == broadcast, to.Port() < firstPort:
		return false
	}
	return slices.ContainsFunc(n.allow, func(p netip.Prefix) bool { return p.Contains(a) }) // not one with a zone
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
