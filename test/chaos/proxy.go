package chaos

import (
	"bytes"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// proxy carries requests to the engine, and plays faults on them over TCP: a request or an answer that is lost, or an
// engine that does not answer, is a reset connection. The seed and the mix decide the fault of the nth request.
type proxy struct {
	seed   uint64
	late   time.Duration // after which the latest copies arrive
	label  func(body []byte) string
	url    string
	server *http.Server
	net    *faultnet.Network
	engine *http.Transport

	mu     sync.Mutex
	mix    fault.Mix          // guarded by mu
	spared map[string]bool    // guarded by mu; labels whose requests meet no fault
	n      uint64             // guarded by mu; requests
	counts map[fault.Kind]int // guarded by mu
	faults []Fault            // guarded by mu
}

// engineTimeout bounds a request to the engine.
const engineTimeout = 10 * time.Second

// startProxy starts a proxy at a free port of 127.0.0.1. It lets everything pass until setMix.
func startProxy(engine string, seed uint64, late time.Duration, label func(body []byte) string) (*proxy, error) {
	upstream, err := url.Parse(engine)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{
		seed: seed, late: late, label: label, url: "http://" + listener.Addr().String(),
		engine: &http.Transport{MaxIdleConnsPerHost: 64, ResponseHeaderTimeout: engineTimeout},
		spared: map[string]bool{}, counts: map[fault.Kind]int{},
	}
	quiet := log.New(io.Discard, "", 0) // clients that were killed are no news
	p.net = faultnet.New(&httputil.ReverseProxy{
		Transport: p.engine, ErrorLog: quiet,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}, faultnet.Config{WithoutCapacity: true, LogLimit: 1})
	p.server = &http.Server{Handler: p, ErrorLog: quiet, ReadHeaderTimeout: engineTimeout}
	go func() { _ = p.server.Serve(listener) }() // until close
	return p, nil
}

// setMix sets how many of the requests that arrive from now on meet which fault. nil: none.
func (p *proxy) setMix(m fault.Mix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mix = m
}

// spare lets requests with that label pass from now on, whatever the mix, or no longer. Copies wait meanwhile.
func (p *proxy) spare(label string, spared bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spared[label] = spared
}

// met returns how many requests have met each fault, and the faults.
func (p *proxy) met() (map[fault.Kind]int, []Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts), slices.Clone(p.faults)
}

// close breaks what is under way. What was to arrive later never does.
func (p *proxy) close() {
	p.mu.Lock()
	clear(p.spared) // so that no copy waits any more
	p.mu.Unlock()
	p.net.Close()
	_ = p.server.Close()
	p.engine.CloseIdleConnections()
}

// arrive chooses the fate of a request.
func (p *proxy) arrive(f Fault) fault.Fate {
	p.mu.Lock()
	p.n++
	n := p.n
	if f.Kind = p.mix.At(p.seed, n); p.spared[f.Entity] {
		f.Kind = fault.None
	}
	p.mu.Unlock()
	p.note(f)
	random := rand.New(rand.NewPCG(p.seed+1, n))
	after := p.late/12 + time.Duration(random.Int64N(int64(p.late-p.late/12)))
	var fate fault.Fate
	fate.Add(f.Kind, 0)
	if fate.Refusal != nil && n%2 == 0 {
		fate.Refusal.Code = "ThrottlingException" // the other of DynamoDB's two ways
	}
	if fate.Copy != nil {
		gate := fault.NewGate()
		fate.Copy = &fault.Leg{Reached: func() { p.copy(f, after, gate) }, Gate: gate}
	}
	return fate
}

// note counts a request, and keeps its fault.
func (p *proxy) note(f Fault) {
	f.At = turns.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !f.Late {
		p.counts[f.Kind]++
	}
	if f.Kind != fault.None {
		p.faults = append(p.faults, f)
	}
}

// copy lets the copy of a request go on after that long, once it is not spared.
func (p *proxy) copy(f Fault, after time.Duration, gate *fault.Gate) {
	time.AfterFunc(after, func() {
		p.mu.Lock()
		spared := p.spared[f.Entity]
		p.mu.Unlock()
		if spared {
			p.copy(f, p.late/12, gate)
			return
		}
		f.Late = true
		p.note(f)
		gate.Open()
	})
}

// ServeHTTP lets a request meet its fate.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left before it had sent all
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f := Fault{Entity: p.label(body), Operation: fault.Operation(r.Header)}
	fate := p.arrive(f)
	response, err := p.net.Connect("", func(faultnet.Request) fault.Fate { return fate }).RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusBadGateway {
		f.Kind = fault.Down
		p.note(f)
	}
	if err != nil || f.Kind == fault.Down {
		reset(w)
		return
	}
	header := w.Header()
	header["Date"] = nil // the engine's own, or none
	maps.Copy(header, response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // a client that left loses its answer
}

// reset breaks the client's connection with a RST: with SO_LINGER at zero, a close discards what was not sent.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client is gone
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
