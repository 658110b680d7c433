package faultproxy

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// forward sends a request on, and returns the whole answer. It does not end
// with the client's patience.
func (p *Proxy) forward(header http.Header, body []byte) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.UpstreamLimit)
	defer cancel()
	onward, err := http.NewRequestWithContext(ctx, http.MethodPost, p.cfg.Upstream+"/", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	// A reused connection that turns out to be dead must not have the request
	// sent twice unasked.
	onward.GetBody = nil
	for name, values := range header {
		if name != "Connection" {
			onward.Header[name] = values
		}
	}
	response, err := p.upstream.Do(onward)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response, answer, err
}

// forwardInVain forwards a request whose answer nobody gets.
func (p *Proxy) forwardInVain(e Entry, header http.Header, body []byte) {
	if _, _, err := p.forward(header, body); err != nil {
		p.down(e)
	}
}

// answer forwards a request and hands the answer back.
func (p *Proxy) answer(w http.ResponseWriter, e Entry, header http.Header, body []byte) {
	response, answer, err := p.forward(header, body)
	if err != nil {
		p.down(e)
		p.reset(w)
		return
	}
	out := w.Header()
	out["Date"] = nil // the upstream's own, or none
	for name, values := range response.Header {
		out[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer) // a client that went away loses its answer
}

// later forwards a request seconds later, and drops the answer.
func (p *Proxy) later(e Entry, header http.Header, body []byte) {
	e.Late = true
	// Its delay is a function of seed and number, as its fate is.
	delay := rand.New(rand.NewPCG(p.cfg.Seed+1, e.N))
	after := p.cfg.LateMin + time.Duration(delay.Int64N(int64(p.cfg.LateMax-p.cfg.LateMin)+1))
	p.mu.Lock()
	if p.late++; p.late == 1 {
		p.settled = make(chan struct{})
	}
	p.running.Add(1) // within a handler, which counts already
	p.mu.Unlock()
	go func() {
		defer p.running.Done()
		timer := time.NewTimer(after)
		defer timer.Stop()
		for waiting := true; waiting; {
			select {
			case <-timer.C:
				if p.isSpared(e.Label) {
					timer.Reset(p.cfg.LateMin)
					continue
				}
				p.note(e)
				_, _, _ = p.forward(header, body)
			case <-p.ctx.Done():
			}
			waiting = false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.late--; p.late == 0 {
			close(p.settled)
		}
	}()
}
