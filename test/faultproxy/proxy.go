package faultproxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Config is what Start needs. Upstream is required.
type Config struct {
	Upstream string // its base URL, such as http://127.0.0.1:8000
	Seed     uint64

	// LateMin and LateMax bound the delay of each fault that has one. Zero means
	// half a second and six seconds.
	LateMin, LateMax time.Duration
	// UpstreamLimit bounds a forwarded request, HoleLimit a connection whose
	// client does not go away. Zero means 10 s and 30 s.
	UpstreamLimit, HoleLimit time.Duration

	// Label, if set, names what a request is about, for the Entry.
	Label func(operation string, body []byte) string
	// Log, if set, is called with each fault before it is done, from many
	// goroutines.
	Log func(Entry)
}

// Entry is a fault that is about to be done.
type Entry struct {
	N         uint64 // of the request, from 1
	Operation string // as in X-Amz-Target, such as PutItem
	Label     string
	Fate      fault.Kind
	Late      bool // of a copy: it is forwarded now
}

// Proxy is a proxy that listens. Close must be called in the end.
type Proxy struct {
	cfg      Config
	url      string
	server   *http.Server
	upstream *http.Client
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc

	mu       sync.Mutex
	closed   bool                  // guarded by mu
	mix      fault.Mix             // guarded by mu; replaced, never written into
	spared   map[string]bool       // guarded by mu; labels
	n        uint64                // guarded by mu
	counts   map[fault.Kind]int    // guarded by mu
	hijacked map[net.Conn]struct{} // guarded by mu
	late     int                   // guarded by mu; requests that are still to come
	settled  chan struct{}         // guarded by mu; closed when late is zero

	running sync.WaitGroup // handlers and duplicates; entered under mu, while not closed
}

// Start starts a proxy at a free port of 127.0.0.1. It lets everything pass
// until SetMix.
func Start(cfg Config) (*Proxy, error) {
	for _, limit := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&cfg.LateMin, 500 * time.Millisecond}, {&cfg.LateMax, 6 * time.Second},
		{&cfg.UpstreamLimit, 10 * time.Second}, {&cfg.HoleLimit, 30 * time.Second},
	} {
		if *limit.field == 0 {
			*limit.field = limit.value
		}
	}
	if cfg.LateMax < cfg.LateMin {
		return nil, fmt.Errorf("faultproxy: LateMax %v is less than LateMin %v", cfg.LateMax, cfg.LateMin)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		cfg: cfg, url: "http://" + listener.Addr().String(),
		upstream: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second}},
		spared:   map[string]bool{}, counts: map[fault.Kind]int{}, hijacked: map[net.Conn]struct{}{}, settled: make(chan struct{}),
	}
	close(p.settled)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: cfg.UpstreamLimit,
		ErrorLog: log.New(io.Discard, "", 0), // clients that were killed are no news
	}
	p.running.Add(1)
	go func() {
		defer p.running.Done()
		_ = p.server.Serve(listener) // until Close
	}()
	return p, nil
}

// URL is where the proxy listens.
func (p *Proxy) URL() string { return p.url }

// SetMix sets how many of the requests that arrive from now on meet which fault.
// nil: none.
func (p *Proxy) SetMix(m fault.Mix) {
	m = slices.Clone(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mix = m
}

// Spare lets requests with that label pass from now on, whatever the mix, or no
// longer. Copies with that label wait meanwhile.
func (p *Proxy) Spare(label string, spared bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spared[label] = spared
}

func (p *Proxy) isSpared(label string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spared[label]
}

// Counts is how many requests have met each fault.
func (p *Proxy) Counts() map[fault.Kind]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Settle waits until no copy is left to be forwarded.
func (p *Proxy) Settle(ctx context.Context) error {
	p.mu.Lock()
	settled := p.settled
	p.mu.Unlock()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("faultproxy: late requests are still to come: %w", ctx.Err())
	}
}

// Close stops listening, breaks what is under way, and waits until nothing of
// the proxy is left. What was to be forwarded later never is. Calling it
// again is safe.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for conn := range p.hijacked {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.cancel()
	_ = p.server.Close()
	p.running.Wait()
	p.upstream.CloseIdleConnections()
}

// arrive numbers a request and chooses its fault. false: the proxy is closed.
func (p *Proxy) arrive() (n uint64, kind fault.Kind, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, fault.None, false
	}
	p.running.Add(1)
	p.n++
	return p.n, p.mix.At(p.cfg.Seed, p.n), true
}

// fate is what a fault does to the n-th request. It is a function of the seed, n
// and the kind.
func (p *Proxy) fate(kind fault.Kind, n uint64) (f fault.Fate) {
	random := rand.New(rand.NewPCG(p.cfg.Seed+1, n))
	f.Add(kind, p.cfg.LateMin+time.Duration(random.Int64N(int64(p.cfg.LateMax-p.cfg.LateMin)+1)))
	if f.Refusal != nil && n%2 == 0 { // a throttle, in the other of DynamoDB's two ways
		f.Refusal.Code = "ThrottlingException"
	}
	return f
}

// ServeHTTP lets a request meet its fate.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, kind, open := p.arrive()
	if !open {
		p.reset(w)
		return
	}
	defer p.running.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left before it had sent all
	}
	e := Entry{N: n, Operation: fault.Operation(r.Header), Fate: kind}
	if p.cfg.Label != nil {
		e.Label = p.cfg.Label(e.Operation, body)
	}
	if p.isSpared(e.Label) {
		e.Fate = fault.None
	}
	p.note(e)
	p.play(w, r.Header, body, e)
}

// play plays a request's fate, in the order of its legs.
func (p *Proxy) play(w http.ResponseWriter, header http.Header, body []byte, e Entry) {
	fate := p.fate(e.Fate, e.N)
	if !p.pause(fate.There.Delay) {
		return
	}
	if fate.Refusal != nil {
		refuse(w, e.N, *fate.Refusal)
		return
	}
	var response *http.Response
	var answer []byte
	end := fate.There
	if !end.Lost && !end.Swallowed {
		var err error
		if response, answer, err = p.forward(header, body); err != nil {
			p.down(e)
		}
		end = fate.Back
		end.Lost = end.Lost || err != nil
	}
	if fate.Copy != nil {
		p.later(e, fate.Copy.Delay, header, body)
	}
	switch {
	case end.Swallowed:
		p.hole(w)
	case end.Lost:
		p.reset(w)
	case p.pause(fate.Back.Delay):
		pass(w, response, answer)
	}
}

// pass hands an answer back as it is.
func pass(w http.ResponseWriter, response *http.Response, answer []byte) {
	out := w.Header()
	out["Date"] = nil // the upstream's own, or none
	for name, values := range response.Header {
		out[name] = values
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer) // a client that left loses its answer
}

// note counts a request, and logs it if it meets a fault.
func (p *Proxy) note(e Entry) {
	if !e.Late {
		p.mu.Lock()
		p.counts[e.Fate]++
		p.mu.Unlock()
	}
	if e.Fate != fault.None && p.cfg.Log != nil {
		p.cfg.Log(e)
	}
}

// down notes that the upstream did not answer.
func (p *Proxy) down(e Entry) {
	e.Fate, e.Late = fault.Down, false
	p.note(e)
}
