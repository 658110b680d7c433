package faultproxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// refuse answers with an error of DynamoDB, under the request's number.
func refuse(w http.ResponseWriter, n uint64, r fault.Refusal) {
	w.Header().Set("Content-Type", fault.ContentType)
	w.Header().Set("X-Amzn-Requestid", fmt.Sprintf("FAULTPROXY%d", n))
	w.WriteHeader(r.Status())
	_, _ = w.Write(r.Body("", 0))
}

// reset breaks the client's connection with a RST: with SO_LINGER at zero, a
// close discards what was not sent and says so to the other side.
func (p *Proxy) reset(w http.ResponseWriter) {
	conn, ok := p.hijack(w)
	if !ok {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	p.release(conn)
}

// hole keeps the client's connection open, and says nothing on it, until the
// client goes away, the limit is over, or the proxy is closed.
func (p *Proxy) hole(w http.ResponseWriter) {
	conn, ok := p.hijack(w)
	if !ok {
		return
	}
	defer p.release(conn)
	if err := conn.SetReadDeadline(time.Now().Add(p.cfg.HoleLimit)); err == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}

// hijack takes a connection over from the server.
func (p *Proxy) hijack(w http.ResponseWriter) (net.Conn, bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, false // the client is gone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hijacked[conn] = struct{}{}
	if p.closed {
		_ = conn.Close()
	}
	return conn, true
}

// release closes a connection that was taken over.
func (p *Proxy) release(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hijacked, conn)
}
