package faultproxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// forward sends a request on, and returns the whole answer. It goes on when the
// client leaves.
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

// later forwards a request once more after that long, and drops the answer.
func (p *Proxy) later(e Entry, after time.Duration, header http.Header, body []byte) {
	e.Late = true
	header = header.Clone()
	p.mu.Lock()
	if p.late++; p.late == 1 {
		p.settled = make(chan struct{})
	}
	p.running.Add(1) // within a handler, which counts already
	p.mu.Unlock()
	go func() {
		defer p.running.Done()
		for waiting := p.pause(after); waiting; waiting = p.pause(p.cfg.LateMin) {
			if !p.isSpared(e.Label) {
				p.note(e)
				_, _, _ = p.forward(header, body)
				break
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.late--; p.late == 0 {
			close(p.settled)
		}
	}()
}

// pause waits for d. It returns false if the proxy was closed before that.
func (p *Proxy) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}
