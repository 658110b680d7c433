package proxy

import (
	"errors"
	"net"
	"sync"
	"time"
)

// TCP forwards connections to one address.
type TCP struct {
	upstream string
	delay    time.Duration
	listener net.Listener

	mu     sync.Mutex
	closed bool                  // guarded by mu
	open   map[net.Conn]struct{} // guarded by mu
}

// StartTCP listens at a free port of the loopback address. upstream is host:port.
func StartTCP(upstream string, roundTrip time.Duration) (*TCP, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &TCP{upstream: upstream, delay: roundTrip / 2, listener: listener, open: map[net.Conn]struct{}{}}
	go p.accept()
	return p, nil
}

// Address returns host:port of the proxy.
func (p *TCP) Address() string { return p.listener.Addr().String() }

// Close ends all connections.
func (p *TCP) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for conn := range p.open {
		_ = conn.Close()
	}
}

func (p *TCP) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go p.serve(conn)
		}
	}
}

func (p *TCP) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		_ = client.Close()
		return
	}
	if !p.keep(client, server) {
		return
	}
	defer p.forget(client, server)
	var directions sync.WaitGroup
	for _, d := range []struct{ from, to net.Conn }{{client, server}, {server, client}} {
		directions.Go(func() {
			carry(d.from, d.to, p.delay)
			// One side has ended: end the other, as a reset would.
			_ = d.from.Close()
			_ = d.to.Close()
		})
	}
	directions.Wait()
}

// chunk is what one read has returned.
type chunk struct {
	due   time.Time
	bytes []byte
}

// carry copies from one connection to another, each byte after the delay.
func carry(from, to net.Conn, delay time.Duration) {
	chunks := make(chan chunk, 1024)
	var writer sync.WaitGroup
	writer.Go(func() {
		clock := newClock()
		defer clock.close()
		for c := range chunks {
			clock.sleepUntil(c.due)
			if _, err := to.Write(c.bytes); err != nil {
				_ = from.Close() // which ends the reader
			}
		}
	})
	for {
		buffer := make([]byte, 32<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			chunks <- chunk{time.Now().Add(delay), buffer[:n]}
		}
		if err != nil {
			break
		}
	}
	close(chunks)
	writer.Wait()
}

func (p *TCP) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.closed {
			_ = conn.Close()
		} else {
			p.open[conn] = struct{}{}
		}
	}
	return !p.closed
}

func (p *TCP) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.open, conn)
	}
}
