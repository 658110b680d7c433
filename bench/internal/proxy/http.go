package proxy

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/workload/benchmark/capacity"
)

// HTTP forwards DynamoDB's requests to one engine.
type HTTP struct {
	upstream  string
	transport *http.Transport
	server    *http.Server
	listener  net.Listener
	there     *line // to the engine
	back      *line

	mu     sync.Mutex
	counts map[string]capacity.Count // guarded by mu; by table
}

// StartHTTP listens at a free port of the loopback address. upstream is a base URL.
func StartHTTP(upstream string, roundTrip time.Duration) (*HTTP, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &HTTP{
		upstream: upstream, listener: listener,
		transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		there:     newLine(roundTrip / 2), back: newLine(roundTrip / 2),
		counts: map[string]capacity.Count{},
	}
	// A killed client leaves broken connections, about which there is nothing to say.
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// URL returns where clients send their requests.
func (p *HTTP) URL() string { return "http://" + p.listener.Addr().String() }

// Count returns what the requests for a table have cost so far.
func (p *HTTP) Count(table string) capacity.Count {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[table]
}

// Close ends all connections.
func (p *HTTP) Close() {
	_ = p.server.Close()
	p.transport.CloseIdleConnections()
}

// ServeHTTP forwards one request. The engine gets it also if its client has gone.
func (p *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone before it has sent all
	}
	p.there.pass()
	operation := capacity.OperationOf(r.Header)
	status, header, answer, err := p.forward(r.Header, metered(operation, body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	spent := capacity.Of(operation, status, answer)
	p.mu.Lock()
	table := tableOf(body)
	p.counts[table] = p.counts[table].Add(spent)
	p.mu.Unlock()
	p.back.pass()
	for name, values := range header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (p *HTTP) forward(header http.Header, body []byte) (int, http.Header, []byte, error) {
	onward, err := http.NewRequest(http.MethodPost, p.upstream+"/", bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	onward.GetBody = nil // never sent twice unasked
	onward.Header = header.Clone()
	onward.Header.Del("Content-Length")
	onward.Header.Del("Connection")
	answer, err := p.transport.RoundTrip(onward)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, text, err
}
