package wake

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, cfg Config) *UDP {
	t.Helper()
	u, err := New(cfg)
	ok(t, err)
	t.Cleanup(func() { _ = u.Close() })
	return u
}

// loopback returns a loopback address of this process, where the system has that many, and its neighbour.
func loopback() (a, next netip.Addr) {
	a = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if pid := os.Getpid(); runtime.GOOS == "linux" {
		a = netip.AddrFrom4([4]byte{127, 1 + byte(pid>>16)%254, byte(pid >> 8), byte(pid) &^ 1})
	}
	return a, a.Next()
}

// hang returns a bell, and what is rung.
func hang(t *testing.T, u *UDP) (bell string, rung <-chan bool, stop func()) {
	t.Helper()
	c := make(chan bool, 100)
	bell, stop, err := u.Hang(func() { c <- true })
	ok(t, err)
	return bell, c, stop
}

func hear(t *testing.T, rung <-chan bool) {
	t.Helper()
	select {
	case <-rung:
	case <-time.After(10 * time.Second):
		t.Fatal("the bell was not rung")
	}
}

func TestBell(t *testing.T) {
	t.Run("RingsOneWaiter", func(t *testing.T) {
		a, b := open(t, Config{}), open(t, Config{})
		bell, rung, stop := hang(t, a)
		other, others, _ := hang(t, a)
		if bell == other || len(bell) > 128 {
			t.Errorf("bells %q and %q", bell, other)
		}
		b.Ring(bell)
		hear(t, rung)
		b.Ring(bell) // a repeated one is judged by its receiver
		hear(t, rung)
		stop()
		b.Ring(bell)
		b.Ring(other)
		hear(t, others)
		if len(rung)+len(others) > 0 {
			t.Error("another bell was rung, or one after stop")
		}
	})
	t.Run("IgnoresOtherDatagrams", func(t *testing.T) {
		u := open(t, Config{})
		bell, rung, _ := hang(t, u)
		b, _ := parseBell(bell)
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(b.to))
		ok(t, err)
		defer conn.Close()
		valid := append([]byte(ringing), b.key[:]...)
		all := [][]byte{append(slices.Clone(valid), 0)}
		for i := range valid {
			forged := slices.Clone(valid)
			forged[i]++
			all = append(all, forged, valid[:i])
		}
		for _, datagram := range append(all, valid) {
			if _, err := conn.Write(datagram); err != nil {
				t.Fatal(err)
			}
		}
		hear(t, rung)
		if len(rung) > 0 {
			t.Error("a forged one rings")
		}
	})
	t.Run("RingsWaitersOfThisHostWithNetwork", func(t *testing.T) {
		u := open(t, Config{})
		bell, rung, _ := hang(t, u)
		open(t, Config{Network: true}).Ring(bell)
		hear(t, rung)
	})
	t.Run("RingsAtALoopbackAddressOfThisHostAlone", func(t *testing.T) {
		u := open(t, Config{})
		bell, rung, _ := hang(t, u)
		foreign := strings.Replace(bell, thisHost(), strings.Repeat("0", 16), 1)
		for _, cfg := range []Config{{}, {Network: true}} {
			open(t, cfg).Ring(foreign)
		}
		u.Ring(bell)
		if hear(t, rung); len(rung) > 0 {
			t.Error("a bell of another host was rung on this one")
		}
	})
	t.Run("CloseSendsWhatWasRung", func(t *testing.T) {
		u := open(t, Config{})
		bell, rung, _ := hang(t, u)
		for range 20 {
			ringer := open(t, Config{})
			ringer.Ring(bell)
			_ = ringer.Close()
			hear(t, rung)
		}
	})
	t.Run("FollowsTheAddressOfItsHost", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("one loopback address")
		}
		first, other := loopback()
		u := open(t, Config{Network: true})
		public := netip.MustParseAddr("203.0.113.5")
		u.find = func() []netip.Addr { return []netip.Addr{public} }
		if bell, _, err := u.Hang(func() {}); err == nil || !strings.Contains(err.Error(), "10.0.0.0/8") {
			t.Errorf("the bell %q of a host that others do not reach, %v", bell, err)
		}
		u.find = func() []netip.Addr { return []netip.Addr{public, first, other} }
		u.foundAt = time.Time{}
		bell, rung, _ := hang(t, u)
		u.find = func() []netip.Addr { return []netip.Addr{other} }
		if soon, _, _ := hang(t, u); !strings.HasPrefix(soon, strings.Split(bell, " ")[0]) {
			t.Errorf("the bell %q just after %q", soon, bell)
		}
		u.foundAt = u.foundAt.Add(-foundFor)
		next, moved, _ := hang(t, u)
		if !strings.HasPrefix(next, other.String()) {
			t.Errorf("the bell %q, want one at %v", next, other)
		}
		ringer := open(t, Config{})
		ringer.Ring(bell) // is lost
		ringer.Ring(next)
		if hear(t, moved); len(rung) > 0 {
			t.Error("the old socket is not closed")
		}
	})
	t.Run("ShowsWhatIsAdvertised", func(t *testing.T) {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		ok(t, err)
		listen := conn.LocalAddr().String()
		_ = conn.Close()
		bell, _, _ := hang(t, open(t, Config{Network: true, Listen: listen, Advertise: "10.1.2.3:2944"}))
		if !strings.HasPrefix(bell, "10.1.2.3:2944 ") {
			t.Errorf("the bell %q", bell)
		}
	})
	t.Run("EndsWithClose", func(t *testing.T) {
		u := open(t, Config{})
		bell, _, stop := hang(t, u)
		ok(t, u.Close())
		u.Ring(bell)
		stop()
		if late, _, err := u.Hang(func() {}); late != "" || err == nil {
			t.Errorf("the bell %q after Close", late)
		}
		var zero UDP
		if _, _, err := zero.Hang(func() {}); err == nil {
			t.Error("a UDP that New has not made has a bell")
		}
		zero.Ring(bell)
		_ = zero.Close()
	})
	t.Run("SaysWhyItHasNone", func(t *testing.T) {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		ok(t, err)
		defer conn.Close()
		u := open(t, Config{Network: true, Listen: conn.LocalAddr().String()})
		if _, _, err := u.Hang(func() {}); err == nil || !strings.Contains(err.Error(), "cannot be bound") {
			t.Errorf("error %v", err)
		}
	})
}

// TestRingsAllowed checks that whatever a row says, a datagram goes to an address that Config.Allow has, and that is one
// host's, and that it is short.
func TestRingsAllowed(t *testing.T) {
	parts := []byte{0, 1, 9, 10, 11, 127, 128, 169, 172, 192, 223, 224, 239, 240, 254, 255}
	starts := [][]byte{nil, {0xfc}, {0xfd}, {0xfe, 0x80}, {0xff, 2}, {0x20, 1}, {10: 0xff, 11: 0xff}}
	address := func() string {
		var b [16]byte
		for i := 12; i < 16; i++ {
			b[i] = one(parts, byte(rand.IntN(256)))
		}
		switch rand.IntN(8) {
		case 0:
			return one(never)
		case 1, 2, 3:
			return netip.AddrFrom4([4]byte(b[12:])).String()
		}
		copy(b[:], one(starts))
		return netip.AddrFrom16(b).WithZone(one([]string{"", "", "", "", "", "lo"})).String()
	}
	allows := [][]string{nil, {}, {"0.0.0.0/0"}, {"::/0"}, {"10.1.0.0/16", "fd00::/8"}, {"0.0.0.0/0", "::/0"}}
	ports := []int{0, 53, 1023, 1024, 29440, 40000, 50000, 65535, 65536}
	rung := 0
	for range 20_000 {
		allow := one(allows)
		n, err := Config{Network: true, Allow: allow}.network()
		ok(t, err)
		if n.on = rand.IntN(4) > 0; !n.on {
			allow = []string{}
		}
		at := net.JoinHostPort(address(), fmt.Sprint(one(ports, rand.IntN(70_001))))
		key := strings.Repeat(one([]string{"0f", "0f", "1e", "zz", ""}), one([]int{16, 16, 15, 17}))
		host := one([]string{thisHost(), thisHost(), strings.Repeat("0", 16), ""})
		b, ok := parseBell(at + one([]string{" ", " ", " ", " ", " ", "", "  "}) + key + " " + host)
		if !ok || !n.mayRing(b) {
			continue
		}
		rung++
		ip := net.IP(b.to.Addr().AsSlice())
		switch v4 := ip.To4(); {
		case ip.IsMulticast(), ip.IsLinkLocalUnicast(), ip.IsUnspecified(), ip.Equal(net.IPv4bcast), b.to.Addr().Zone() != "", b.to.Port() < 1024:
			t.Fatalf("%v is rung", b.to)
		case ip.IsLoopback():
			if host != thisHost() {
				t.Fatalf("%v is rung here, and is of another host", b.to)
			}
		case allow == nil && !ip.IsPrivate():
			t.Fatalf("%v is rung by default", b.to)
		case allow != nil && !inside(allow, ip, v4):
			t.Fatalf("%v is rung, which is not in %v", b.to, allow)
		}
	}
	if rung < 200 {
		t.Errorf("%d of 20,000 are rung: the others show nothing", rung)
	}
}

// one draws one of the values, or half of the time one more.
func one[V any](all []V, more ...V) V {
	if len(more) > 0 && rand.IntN(2) == 0 {
		return more[0]
	}
	return all[rand.IntN(len(all))]
}

// never are addresses that are not rung, whatever is allowed.
var never = []string{
	"0.0.0.0", "::", "224.0.0.1", "239.255.255.250", "ff02::1", "169.254.169.254", "fe80::1", "255.255.255.255", "::ffff:224.0.0.1",
	"::ffff:0.0.0.0", "fd00::1%lo",
}

// inside reports whether an address is in one of the prefixes.
func inside(allow []string, ip, v4 net.IP) bool {
	for _, p := range allow {
		_, n, err := net.ParseCIDR(p)
		if err == nil && n.Contains(ip) && (v4 != nil) == strings.Contains(p, ".") {
			return true
		}
	}
	return false
}

// TestBroadcast checks that the kernel refuses broadcast addresses, which no prefix shows.
func TestBroadcast(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the broadcast address of the loopback interface")
	}
	const at = "127.255.255.255:29999"
	if conn, err := net.Dial("udp", at); err != nil {
		t.Skip("it is no broadcast address here: ", err)
	} else {
		_ = conn.Close()
	}
	dialer := net.Dialer{Control: unicast}
	if conn, err := dialer.Dial("udp", at); err == nil {
		_ = conn.Close()
		t.Error("a broadcast address was accepted")
	}
	open(t, Config{Network: true}).Ring(at + " " + strings.Repeat("00", 16) + " " + thisHost()) // must not panic
}

func TestBellConfig(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  Config
		says string
	}{
		"Zero":              {cfg: Config{Network: true}},
		"Listen":            {cfg: Config{Network: true, Listen: "10.0.0.5:29440"}},
		"AnyPort":           {cfg: Config{Network: true, Listen: "10.0.0.5:0"}},
		"AnyAddress":        {cfg: Config{Network: true, Listen: "[::]:29440"}},
		"Name":              {cfg: Config{Network: true, Listen: "db-7:1"}, says: `Listen has "db-7:1"`},
		"Nothing":           {},
		"Mapped":            {cfg: Config{Network: true, Listen: "0.0.0.0:29440", Advertise: "10.0.0.5:31000"}},
		"MappedFromAnyPort": {cfg: Config{Network: true, Listen: "0.0.0.0:0", Advertise: "10.0.0.5:31000"}, says: "Listen needs a port"},
		"MappedFromNowhere": {cfg: Config{Network: true, Advertise: "10.0.0.5:31000"}, says: "Listen needs a port"},
		"AdvertiseName":     {cfg: Config{Network: true, Listen: "0.0.0.0:29440", Advertise: "db-7:1"}, says: `Advertise has "db-7:1"`},
		"PublicAdvertised":  {cfg: Config{Network: true, Listen: "0.0.0.0:29440", Advertise: "203.0.113.5:31000"}, says: "others would not ring 203.0.113.5:31000"},
		"PublicListen":      {cfg: Config{Network: true, Listen: "203.0.113.5:29440"}, says: "others would not ring 203.0.113.5:29440"},
		"PublicAllowed":     {cfg: Config{Network: true, Listen: "203.0.113.5:29440", Allow: []string{"203.0.113.0/24"}}},
		"PortOfAService":    {cfg: Config{Network: true, Listen: "0.0.0.0:29440", Advertise: "10.0.0.5:53"}, says: "others would not ring 10.0.0.5:53"},
		"Prefix":            {cfg: Config{Network: true, Allow: []string{"10.0.0.5"}}, says: `Allow has "10.0.0.5"`},
		"AllowWithout":      {cfg: Config{Allow: []string{"10.0.0.0/8"}}, says: "without Network"},
		"ListenWithout":     {cfg: Config{Listen: "10.0.0.5:29440"}, says: "without Network"},
		"AdvertiseWithout":  {cfg: Config{Advertise: "10.0.0.5:31000"}, says: "without Network"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.cfg)
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want %q", err, test.says)
			}
		})
	}
}

// TestAddresses checks that a waiter shows no address that means another host there.
func TestAddresses(t *testing.T) {
	all := addresses()
	t.Log(all)
	for _, a := range all {
		if a.IsLoopback() || a.IsUnspecified() || a.Is4In6() {
			t.Errorf("the address %v", a)
		}
	}
}
