package faultproxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Config is what Start needs. Upstream is required.
type Config struct {
	Upstream string // its base URL, such as http://127.0.0.1:8000
	Seed     uint64

	// LateMin and LateMax bound after how long a duplicate, and a delayed
	// request, is forwarded. Zero means half a second and six seconds.
	LateMin, LateMax time.Duration
	// UpstreamLimit bounds a forwarded request, HoleLimit a connection whose
	// client does not go away. Zero means 10 s and 30 s.
	UpstreamLimit, HoleLimit time.Duration

	// Label, if set, names what a request is about, for the Entry.
	Label func(operation string, body []byte) string
	// Log, if set, is told of each fault before it is done. It is called from
	// many goroutines.
	Log func(Entry)
}

// Entry is a fault that is about to be done.
type Entry struct {
	N         uint64 // of the request, from 1
	Operation string // as in X-Amz-Target, such as PutItem
	Label     string
	Fate      Fate
	Late      bool // of a duplicate or a delay: it is forwarded now
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
	mix      Mix                   // guarded by mu; replaced, never written into
	spared   map[string]bool       // guarded by mu; labels
	n        uint64                // guarded by mu
	counts   map[Fate]int          // guarded by mu
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
		spared:   map[string]bool{}, counts: map[Fate]int{}, hijacked: map[net.Conn]struct{}{}, settled: make(chan struct{}),
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

// SetMix sets how many of the requests that arrive from now on meet which
// fate. nil: all pass.
func (p *Proxy) SetMix(m Mix) {
	m = maps.Clone(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mix = m
}

// Spare lets requests with that label pass from now on, whatever the mix, or
// no longer. Duplicates and delayed requests with that label wait meanwhile.
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

// Counts is how many requests have met each fate.
func (p *Proxy) Counts() map[Fate]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

// Settle waits until no duplicate or delayed request is left to be forwarded.
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

// arrive numbers a request and chooses its fate. false: the proxy is closed.
func (p *Proxy) arrive() (n uint64, fate Fate, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, Pass, false
	}
	p.running.Add(1)
	p.n++
	return p.n, p.mix.Pick(p.cfg.Seed, p.n), true
}

// ServeHTTP lets a request meet its fate.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, fate, open := p.arrive()
	if !open {
		p.reset(w)
		return
	}
	defer p.running.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away before it had sent all
	}
	e := Entry{N: n, Operation: operation(r.Header), Fate: fate}
	if p.cfg.Label != nil {
		e.Label = p.cfg.Label(e.Operation, body)
	}
	if p.isSpared(e.Label) {
		e.Fate = Pass
	}
	p.note(e)
	switch e.Fate {
	case Throttle:
		throttle(w, n)
	case ResetBefore:
		p.reset(w)
	case HoleBefore:
		p.hole(w)
	case ResetAfter:
		p.forwardInVain(e, r.Header, body)
		p.reset(w)
	case HoleAfter:
		p.forwardInVain(e, r.Header, body)
		p.hole(w)
	case Delay:
		p.later(e, r.Header.Clone(), body)
		p.hole(w)
	default:
		if e.Fate == Duplicate {
			p.later(e, r.Header.Clone(), body)
		}
		p.answer(w, e, r.Header, body)
	}
}

// note counts a request, and tells of it if it is a fault.
func (p *Proxy) note(e Entry) {
	if !e.Late {
		p.mu.Lock()
		p.counts[e.Fate]++
		p.mu.Unlock()
	}
	if e.Fate != Pass && p.cfg.Log != nil {
		p.cfg.Log(e)
	}
}

// down notes that the upstream did not answer.
func (p *Proxy) down(e Entry) {
	e.Fate, e.Late = Down, false
	p.note(e)
}

func operation(h http.Header) string {
	_, name, _ := strings.Cut(h.Get("X-Amz-Target"), ".")
	return name
}
