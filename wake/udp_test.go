package wake

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var digest = Digest{1, 2, 3}

// loopback returns a loopback address of this process, where the system has that many. Other processes cannot take its
// ports between free and Listen.
func loopback() net.IP {
	if pid := os.Getpid(); runtime.GOOS == "linux" {
		return net.IPv4(127, 1+byte(pid>>16)%254, byte(pid>>8), byte(pid))
	}
	return net.IPv4(127, 0, 0, 1)
}

// free returns addresses on it with different free ports.
func free(t *testing.T, n int) (all []netip.AddrPort) {
	t.Helper()
	for range n {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: loopback()})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all = append(all, conn.LocalAddr().(*net.UDPAddr).AddrPort())
	}
	return all
}

// open returns a UDP for these addresses instead of the default ones.
func open(t *testing.T, loopback []netip.AddrPort, cfg Config) *UDP {
	t.Helper()
	u, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	u.loopback = loopback
	t.Cleanup(func() { _ = u.Close() })
	return u
}

func listen(t *testing.T, u *UDP) <-chan Digest {
	t.Helper()
	got := make(chan Digest, 100)
	stop, err := u.Listen(func(d Digest) { got <- d })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return got
}

func want(t *testing.T, got <-chan Digest, d Digest) {
	t.Helper()
	select {
	case is := <-got:
		if is != d {
			t.Errorf("%v arrived, want %v", is, d)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no hint arrived")
	}
}

func TestUDP(t *testing.T) {
	t.Run("CarriesHintsBetweenProcessesOfOneHost", func(t *testing.T) {
		ports := free(t, 3)
		a, b, sender := open(t, ports, Config{}), open(t, ports, Config{}), open(t, ports, Config{})
		atA, atB := listen(t, a), listen(t, b)
		sender.Send(digest) // without a port of its own
		want(t, atA, digest)
		want(t, atB, digest)
		a.Send(Digest{4})
		want(t, atA, Digest{4}) // its other clients
		want(t, atB, Digest{4})
		b.Send(Digest{5})
		want(t, atA, Digest{5}) // and not the 4 again
	})
	t.Run("StopEndsHints", func(t *testing.T) {
		u := open(t, free(t, 1), Config{})
		var got atomic.Int64
		stop, err := u.Listen(func(Digest) { got.Add(1) })
		if err != nil {
			t.Fatal(err)
		}
		stop()
		if u.Send(digest); got.Load() != 0 {
			t.Error("a hint arrived after stop")
		}
	})
	t.Run("CarriesHintsToPeers", func(t *testing.T) {
		addresses := free(t, 4)
		a := open(t, addresses[:1], Config{Listen: addresses[1].String(), Peers: []string{"127.0.0.1:9"}})
		b := open(t, addresses[2:3], Config{Peers: []string{addresses[1].String()}})
		atA := listen(t, a)
		b.Send(digest)
		want(t, atA, digest)
	})
	t.Run("CarriesHintsToPeersOfBothFamilies", func(t *testing.T) {
		ports := free(t, 5)
		six := netip.AddrPortFrom(netip.IPv6Loopback(), ports[1].Port())
		if conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(six)); err != nil {
			t.Skip("no IPv6 here: ", err)
		} else {
			_ = conn.Close()
		}
		a := open(t, ports[:1], Config{Listen: six.String(), Peers: []string{"[::1]:9"}})
		b := open(t, ports[2:3], Config{Listen: ports[3].String(), Peers: []string{"127.0.0.1:9"}})
		sender := open(t, ports[4:], Config{
			Listen: fmt.Sprintf("0.0.0.0:%d", ports[4].Port()), Peers: []string{six.String(), ports[3].String()},
		})
		atA, atB := listen(t, a), listen(t, b)
		sender.Send(digest)
		want(t, atA, digest)
		want(t, atB, digest)
	})
	t.Run("IgnoresOtherDatagrams", func(t *testing.T) {
		ports := free(t, 1)
		got := listen(t, open(t, ports, Config{}))
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(ports[0]))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, datagram := range [][]byte{nil, digest[:15], append(digest[:], 0), digest[:]} {
			if _, err := conn.Write(datagram); err != nil {
				t.Fatal(err)
			}
		}
		want(t, got, digest)
		if len(got) > 0 {
			t.Error("more than one arrived")
		}
	})
	t.Run("AcceptsListedHostsOnly", func(t *testing.T) {
		u := open(t, free(t, 1), Config{Peers: []string{"10.0.0.6:29440", "[::ffff:10.0.0.7]:29440"}})
		for host, accepted := range map[string]bool{
			"10.0.0.6": true, "10.0.0.7": true, "127.0.0.1": true, "::1": true, "10.0.0.8": false, "fd00::1": false,
		} {
			if u.accepts(netip.MustParseAddr(host)) != accepted {
				t.Errorf("%s: accepted is %v", host, !accepted)
			}
		}
	})
	t.Run("ReadsFloodSlowly", func(t *testing.T) {
		ports := free(t, 1)
		u := open(t, ports, Config{})
		var got atomic.Int64
		begun := time.Now()
		stop, err := u.Listen(func(Digest) { got.Add(1) })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(ports[0]))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		// Without the limit the reader keeps up with what a slow machine sends, so the bound is below that. A window
		// that begins just before the first datagram lets two limits through at once.
		sent, most := 0, func() int64 { return perWindow * (2 + int64(time.Since(begun)/window)) }
		for int64(sent) < 4*most() {
			if _, err := conn.Write(digest[:]); err == nil {
				sent++
			}
			if time.Since(begun) > 10*time.Second {
				t.Skipf("the machine sends %d datagrams in 10 s: too few for a flood", sent)
			}
		}
		if n := got.Load(); n > most() || n == 0 {
			t.Errorf("%d of %d datagrams were read, want 1 to %d", n, sent, most())
		}
	})
}

func TestUnbindable(t *testing.T) {
	ports := free(t, 1)
	listen(t, open(t, ports, Config{}))
	taken := open(t, ports, Config{Listen: ports[0].String(), Peers: []string{ports[0].String()}})
	stop, err := taken.Listen(func(Digest) {})
	stop()
	if err == nil || strings.Count(err.Error(), ports[0].String()) < 2 {
		t.Errorf("error %v, want one that names both addresses", err)
	}
	for _, u := range []*UDP{taken, {}} {
		u.Send(digest)
		for range 2 {
			if err := u.Close(); err != nil {
				t.Error(err)
			}
		}
		u.Send(digest)
		stop, err := u.Listen(func(Digest) {})
		if stop(); err == nil {
			t.Error("no error after Close")
		}
	}
}

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  Config
		says string
	}{
		"Zero":           {},
		"Peers":          {cfg: Config{Listen: "0.0.0.0:29440", Peers: []string{"[fd00::5]:29440"}}},
		"WithoutPort":    {cfg: Config{Peers: []string{"10.0.0.5"}}, says: `Peers has "10.0.0.5"`},
		"PortZero":       {cfg: Config{Peers: []string{"10.0.0.5:0"}}, says: `"10.0.0.5:0"`},
		"Name":           {cfg: Config{Peers: []string{"db-7:29440"}}, says: `"db-7:29440"`},
		"Multicast":      {cfg: Config{Peers: []string{"224.0.0.1:29440"}}, says: `"224.0.0.1:29440"`},
		"Listen":         {cfg: Config{Listen: "here", Peers: []string{"10.0.0.5:1"}}, says: `Listen has "here"`},
		"ListenForNone":  {cfg: Config{Listen: "10.0.0.5:29440"}, says: `"10.0.0.5:29440" and Peers is empty`},
		"IPv6Peers":      {cfg: Config{Listen: "10.0.0.5:29440", Peers: []string{"10.0.0.6:1", "[fd00::5]:2"}}, says: `Peers has "[fd00::5]:2"`},
		"IPv4Peers":      {cfg: Config{Listen: "[fd00::5]:29440", Peers: []string{"10.0.0.6:1"}}, says: `listen on "[::]:29440"`},
		"MappedPeers":    {cfg: Config{Listen: "10.0.0.5:29440", Peers: []string{"[::ffff:10.0.0.6]:1"}}},
		"TooManyPeers":   {cfg: Config{Peers: make([]string, 257)}, says: "257 addresses: at most 256"},
		"AnyHostAsAPeer": {cfg: Config{Peers: []string{"0.0.0.0:29440"}}, says: `"0.0.0.0:29440"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.cfg)
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want %q", err, test.says)
			}
		})
	}
}

// TestDefaultPorts checks the range that the documentation names.
func TestDefaultPorts(t *testing.T) {
	u, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if len(u.loopback) != Ports || u.loopback[0].String() != "127.0.0.1:29440" || u.loopback[Ports-1].String() != "127.0.0.1:29455" {
		t.Errorf("the addresses are %v", u.loopback)
	}
}
