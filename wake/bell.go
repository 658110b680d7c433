package wake

import (
	"encoding/hex"
	"net/netip"
	"strings"
)

// A bell in the table is an address, a key and a host, such as "10.0.0.5:29440 00112233445566778899aabbccddeeff
// 0123456789abcdef". The datagram that rings it is ringing and the key. The key is the wait's own, random, and ends
// with the wait. So it needs no signature: a copy of the datagram can do no more than the first one, and a signature
// without a clock could not tell them apart either.
const ringing = "queuelock bell 1"

type bellKey [16]byte

type bell struct {
	to   netip.AddrPort
	key  bellKey
	host string // see thisHost
}

func (b bell) String() string {
	return b.to.String() + " " + hex.EncodeToString(b.key[:]) + " " + b.host
}

// parseBell reads what Hang has returned. Any other text is no bell: other programs may write to the table, too.
func parseBell(text string) (b bell, ok bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return b, false
	}
	to, err := netip.ParseAddrPort(parts[0])
	key, badKey := hex.DecodeString(parts[1])
	if err != nil || badKey != nil || len(key) != len(b.key) {
		return b, false
	}
	return bell{netip.AddrPortFrom(to.Addr().Unmap(), to.Port()), bellKey(key), parts[2]}, true
}

// mayRing reports whether a bell is rung: one of this host at its loopback address, or one of another at an address
// that is allowed.
func (n *network) mayRing(b bell) bool {
	if b.to.Addr().IsLoopback() {
		return b.host == thisHost() && b.to.Port() >= firstPort && b.to.Addr().Zone() == ""
	}
	return n.on && n.allows(b.to)
}
