package failfast_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/failfast"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// pool is how many idle connections the SDK keeps for a host.
const pool = 10

// host serves a table on connections in memory, so that its clients can be in a bubble.
type host struct {
	*embedded.Engine
	accepted chan net.Conn
	closed   chan struct{}

	mu      sync.Mutex
	gate    chan struct{}                    // guarded by mu; requests wait for it
	waiting int                              // guarded by mu
	all     []*wire                          // guarded by mu
	faults  []func(context.Context) net.Conn // guarded by mu; for the next connections
}

// wire is the server's end of a connection.
type wire struct {
	net.Conn
	mu   sync.Mutex
	dead bool // guarded by mu; what arrives is lost, and nothing is answered
}

func newHost(t *testing.T) *host {
	h := &host{Engine: embedded.New(embedded.Config{}), accepted: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(h)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, w := range h.all {
			_ = w.Conn.Close()
		}
	})
	return h
}

func (h *host) Accept() (net.Conn, error) {
	select {
	case c := <-h.accepted:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *host) Close() error   { close(h.closed); return nil }
func (h *host) Addr() net.Addr { return &net.TCPAddr{} }

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	gate := h.gate
	h.waiting++
	h.mu.Unlock()
	if gate != nil {
		<-gate
	}
	h.Engine.ServeHTTP(w, r)
}

// dial is the network.
func (h *host) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	h.mu.Lock()
	if len(h.faults) > 0 {
		fault := h.faults[0]
		h.faults = h.faults[1:]
		h.mu.Unlock()
		if c := fault(ctx); c != nil {
			return c, nil
		}
		return nil, &net.OpError{Op: "dial", Err: errors.Join(ctx.Err(), syscall.ECONNREFUSED)}
	}
	near, far := net.Pipe()
	w := &wire{Conn: far}
	h.all = append(h.all, w)
	h.mu.Unlock()
	h.accepted <- w
	return near, nil
}

func (w *wire) Read(p []byte) (int, error) {
	for {
		n, err := w.Conn.Read(p)
		w.mu.Lock()
		dead := w.dead
		w.mu.Unlock()
		if err != nil || !dead {
			return n, err
		}
	}
}

// cut makes all connections dead, as a firewall does that forgets them. It returns how many there were.
func (h *host) cut() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.all {
		w.mu.Lock()
		w.dead = true
		w.mu.Unlock()
	}
	return len(h.all)
}

// config is what a program would load. The endpoint's scheme chooses TLS.
func (h *host) config(scheme string) aws.Config {
	return aws.Config{
		Region: "local", BaseEndpoint: aws.String(scheme + "://dynamodb.local"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:  awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.DialContext = h.dial }),
	}
}

// TestDroppedConnections fills the pool, and drops all of it while a lock is held. With the
// SDK's defaults the lock is lost, which shows that the test can fail.
func TestDroppedConnections(t *testing.T) {
	for name, c := range map[string]struct {
		settings func(aws.Config) aws.Config
		kept     bool
	}{
		"LosesLockWithSDKDefaults": {func(cfg aws.Config) aws.Config { return cfg }, false},
		"KeepsLockWithConfig":      {failfast.Config, true},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			h := newHost(t)
			db := dynamodb.NewFromConfig(c.settings(h.config("http")))
			locktest.OK(t, queuelock.CreateTable(t.Context(), db, "locks", queuelock.Config{}))
			locks := locktest.Must(queuelock.New(db, "locks", queuelock.Config{}))
			lock := locktest.Must(locks.Acquire(t.Context(), queuelock.Key{Entity: "order-7"}, waitpolicy.NoWait))
			time.Sleep(2 * time.Second) // until after the first heartbeat, which comes early
			h.fill(t, db)
			if n := h.cut(); n < pool {
				t.Fatalf("%d connections were dropped, want at least %d", n, pool)
			}
			select {
			case <-lock.Context().Done():
			case <-time.After(3 * time.Minute):
			}
			if err := lock.Err(); (err == nil) != c.kept || err != nil && !errors.Is(err, queuelock.ErrLost) {
				t.Errorf("the lock reports %v, want it to be kept: %v", err, c.kept)
			}
			_ = locks.Close(t.Context())
		})
	}
}

// fill leaves the pool full of idle connections.
func (h *host) fill(t *testing.T, db *dynamodb.Client) {
	gate := make(chan struct{})
	h.mu.Lock()
	h.gate, h.waiting = gate, 0
	h.mu.Unlock()
	var all sync.WaitGroup
	for range pool {
		all.Go(func() {
			_, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("locks")})
			locktest.Check(t, err)
		})
	}
	synctest.Wait()
	h.mu.Lock()
	h.gate = nil
	if h.waiting != pool {
		t.Errorf("%d requests at a time, want %d", h.waiting, pool)
	}
	h.mu.Unlock()
	close(gate)
	all.Wait()
}

// TestFaults measures a call of the library whose first connection fails. It succeeds on the next one, well
// within RequestTimeout, or fails when its limit has passed.
func TestFaults(t *testing.T) {
	hanging := func(ctx context.Context) net.Conn { <-ctx.Done(); return nil }
	refused := func(context.Context) net.Conn { return nil }
	silent := func(context.Context) net.Conn { // its other end reads and never answers
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		return near
	}
	closed := func(context.Context) net.Conn {
		near, far := net.Pipe()
		go func() { _, _ = far.Read(make([]byte, 1)); _ = far.Close() }()
		return near
	}
	for name, c := range map[string]struct {
		scheme      string
		fault       func(context.Context) net.Conn
		attempts    int
		most, least time.Duration
		works       bool
	}{
		"ConnectsAgainAfterHang":    {"http", hanging, 0, 1250 * time.Millisecond, 1100 * time.Millisecond, true},
		"ConnectsAgainAfterRefusal": {"http", refused, 0, 150 * time.Millisecond, 0, true},
		"AsksAgainAfterSilence":     {"http", silent, 0, 1650 * time.Millisecond, 1500 * time.Millisecond, true},
		"AsksAgainAfterClose":       {"http", closed, 0, 150 * time.Millisecond, 0, true},
		"EndsSilentHandshake":       {"https", silent, 1, 1100 * time.Millisecond, 1100 * time.Millisecond, false},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			h := newHost(t)
			setup := dynamodb.NewFromConfig(h.config("http"))
			locktest.OK(t, queuelock.CreateTable(t.Context(), setup, "locks", queuelock.Config{}))
			h.faults = []func(context.Context) net.Conn{c.fault}
			cfg := h.config(c.scheme)
			cfg.RetryMaxAttempts = c.attempts
			locks := locktest.Must(queuelock.New(dynamodb.NewFromConfig(failfast.Config(cfg)), "locks", queuelock.Config{}))
			begun := time.Now()
			_, err := locks.IsLocked(t.Context(), queuelock.Key{Entity: "order-7"})
			if took := time.Since(begun); took < c.least || took > c.most {
				t.Errorf("took %v, want %v to %v", took, c.least, c.most)
			}
			if (err == nil) != c.works {
				t.Errorf("error %v, want success: %v", err, c.works)
			}
		})
	}
}

func TestCallersSettings(t *testing.T) {
	own := &http.Client{}
	if got := failfast.Config(aws.Config{HTTPClient: own}).HTTPClient; got != own {
		t.Errorf("the HTTP client is %v", got)
	}
	mine := awshttp.NewBuildableClient().WithTimeout(time.Hour).WithReadTimeout(time.Minute).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = 5 * time.Second }).
		WithTransportOptions(func(t *http.Transport) {
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				end, limited := ctx.Deadline()
				t := time.Until(end)
				return nil, errors.Join(errors.New("mine"), map[bool]error{true: errors.New(t.String())}[limited])
			}
			t.TLSHandshakeTimeout, t.ResponseHeaderTimeout, t.MaxIdleConnsPerHost = 7*time.Second, 9*time.Second, 77
		})
	got := failfast.Config(aws.Config{HTTPClient: mine}).HTTPClient.(*awshttp.BuildableClient)
	was, is := mine.GetTransport(), got.GetTransport()
	if is.TLSHandshakeTimeout != was.TLSHandshakeTimeout || is.ResponseHeaderTimeout != was.ResponseHeaderTimeout || is.MaxIdleConnsPerHost != 77 {
		t.Errorf("the transport has %v, %v and %d", is.TLSHandshakeTimeout, is.ResponseHeaderTimeout, is.MaxIdleConnsPerHost)
	}
	if _, err := is.DialContext(t.Context(), "tcp", "x:1"); err == nil || err.Error() != "mine" {
		t.Errorf("dialing: %v", err)
	}
	if read, _ := got.GetReadTimeout(); got.GetTimeout() != time.Hour || read != time.Minute || got.GetDialer().Timeout != 5*time.Second {
		t.Errorf("timeouts %v, %v, %v", got.GetTimeout(), read, got.GetDialer().Timeout)
	}
	if got := failfast.Config(aws.Config{RetryMode: aws.RetryModeAdaptive}); got.Retryer != nil || got.RetryMode != aws.RetryModeAdaptive {
		t.Errorf("another retryer, or mode %q", got.RetryMode)
	}
}

// TestPauses checks what a holder gets through the library: a connection that is reset costs a short pause, and after a
// throttle the pauses are those of the SDK.
func TestPauses(t *testing.T) {
	for name, c := range map[string]struct {
		fault       queuelocktest.Fault
		least, most time.Duration // of the longest of many
	}{
		"AreShortAfterReset":       {queuelocktest.LoseRequest(), 0, 300 * time.Millisecond},
		"AreTheSDKsAfterThrottles": {queuelocktest.Refuse(queuelocktest.ThroughputExceeded), 400 * time.Millisecond, 3750 * time.Millisecond},
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			db := queuelocktest.NewTable(t)
			locks := locktest.Must(queuelock.New(db.Client("c", configured), db.Name(), queuelock.Config{}))
			longest := time.Duration(0)
			for range 30 {
				lock := locktest.Must(locks.Acquire(t.Context(), queuelock.Key{Entity: "order-7"}, waitpolicy.NoWait))
				db.Inject(c.fault.Times(1))
				begun := time.Now()
				locktest.OK(t, lock.Extend(t.Context()))
				longest = max(longest, time.Since(begun))
				locktest.OK(t, lock.Release(t.Context()))
			}
			if longest < c.least || longest > c.most {
				t.Errorf("the longest pause is %v, want %v to %v", longest, c.least, c.most)
			}
		})
	}
}

// configured gives a client the retries of failfast.Config.
func configured(o *dynamodb.Options) {
	with := dynamodb.NewFromConfig(failfast.Config(aws.Config{})).Options()
	o.Retryer, o.RetryMode, o.RetryMaxAttempts = with.Retryer, with.RetryMode, with.RetryMaxAttempts
}
