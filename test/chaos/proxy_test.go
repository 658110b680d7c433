package chaos

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// proxied is a proxy before an engine that counts its requests.
type proxied struct {
	*proxy
	engine *httptest.Server
	got    atomic.Int64
	first  func() // called with the first request, if set
}

func newProxied(t *testing.T, kind fault.Kind) *proxied {
	p := &proxied{}
	p.engine = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if p.got.Add(1) == 1 && p.first != nil {
			p.first()
		}
		w.Header()["Date"] = nil
		_, _ = io.WriteString(w, "{}")
	}))
	var err error
	p.proxy, err = startProxy(p.engine.URL, 7, 120*time.Millisecond, func(body []byte) string { return string(body) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.close(); p.engine.Close() })
	p.setMix(fault.Mix{{Kind: kind, Of: 1}})
	return p
}

// send sends a request, and gives it up as soon as left is true.
func (p *proxied) send(t *testing.T, left func() bool) (status int, body string, err error) {
	transport := &http.Transport{DisableKeepAlives: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { eventually(t, ctx, left); cancel() }()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader("e"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	if response.Header.Get("Date") != "" {
		t.Error("the answer has a date, which the engine's has not")
	}
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// eventually waits until so holds.
func eventually(t *testing.T, ctx context.Context, so func() bool) {
	for begun := time.Now(); !so() && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Error("it does not happen")
			return
		}
	}
}

func never() bool { return false }

// TestFates checks what a client and the engine see of each fault, and what is kept of it.
func TestFates(t *testing.T) {
	for kind, c := range map[fault.Kind]struct {
		got      int64 // requests at the engine, the late ones included
		status   int   // 0: no answer
		err      error
		faults   int
		unserved bool // the client gives up
	}{
		fault.None:            {got: 1, status: http.StatusOK},
		fault.LoseRequest:     {err: syscall.ECONNRESET, faults: 1},
		fault.LoseResponse:    {got: 1, err: syscall.ECONNRESET, faults: 1},
		fault.SwallowRequest:  {err: context.Canceled, faults: 1, unserved: true},
		fault.SwallowResponse: {got: 1, err: context.Canceled, faults: 1, unserved: true},
		fault.Refuse:          {status: http.StatusBadRequest, faults: 1},
		fault.Duplicate:       {got: 2, status: http.StatusOK, faults: 2},
		fault.Stray:           {got: 1, err: context.Canceled, faults: 2, unserved: true},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			p := newProxied(t, kind)
			arrived := func() bool {
				counts, _ := p.met()
				return c.unserved && counts[kind] == 1 && p.got.Load() == c.got
			}
			status, body, err := p.send(t, arrived)
			if status != c.status || !errors.Is(err, c.err) || kind == fault.Refuse != strings.Contains(body, "ProvisionedThroughputExceeded") {
				t.Errorf("status %d, %q, %v", status, body, err)
			}
			eventually(t, t.Context(), func() bool { return p.got.Load() == c.got })
			if err := p.net.Settle(t.Context()); err != nil || p.got.Load() != c.got {
				t.Errorf("the engine got %d requests, want %d: %v", p.got.Load(), c.got, err)
			}
			counts, faults := p.met()
			if counts[kind] != 1 || len(faults) != c.faults {
				t.Fatalf("%v, %+v", counts, faults)
			}
			for i, f := range faults {
				if f.Entity != "e" || f.Operation != "PutItem" || f.Kind != kind || f.Late != (i > 0) {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestSpare checks that a spared request meets no fault, and that a copy waits while it is spared.
func TestSpare(t *testing.T) {
	p := newProxied(t, fault.Duplicate)
	p.first = func() { p.spare("e", true) }
	for range 2 {
		if status, _, err := p.send(t, never); status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	time.Sleep(2 * p.late)
	if n := p.got.Load(); n != 2 {
		t.Errorf("the engine got %d requests of two that are spared", n)
	}
	p.spare("e", false)
	eventually(t, t.Context(), func() bool { return p.got.Load() == 3 })
}

func TestEngineDown(t *testing.T) {
	p := newProxied(t, fault.None)
	p.engine.Close()
	_, _, err := p.send(t, never)
	if counts, faults := p.met(); !errors.Is(err, syscall.ECONNRESET) || counts[fault.Down] != 1 || len(faults) != 1 {
		t.Errorf("%v, %v, %+v", err, counts, faults)
	}
}

func TestCloseOfProxy(t *testing.T) {
	p := newProxied(t, fault.SwallowRequest)
	ended := make(chan error, 1)
	go func() {
		_, _, err := p.send(t, never)
		ended <- err
	}()
	eventually(t, t.Context(), func() bool { counts, _ := p.met(); return counts[fault.SwallowRequest] == 1 })
	p.close()
	if err := <-ended; err == nil {
		t.Error("the client got an answer")
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://")); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
}
