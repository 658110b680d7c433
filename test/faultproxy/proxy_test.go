package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testLimit ends a test that waits for what does not happen.
const testLimit = 20 * time.Second

// backend is an upstream that reports each request it gets.
type backend struct {
	*httptest.Server
	got chan string
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{got: make(chan string, 100)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.got <- r.Header.Get("X-Amz-Target") + " " + string(body)
		w.Header()["Date"] = []string{"Mon, 02 Jan 2006 15:04:05 GMT"}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(b.Close)
	return b
}

// expect waits for the next request that the backend gets.
func (b *backend) expect(t *testing.T) string {
	t.Helper()
	select {
	case got := <-b.got:
		return got
	case <-time.After(testLimit):
		t.Fatal("the backend got no request")
		return ""
	}
}

// reported holds the faults that a proxy reported.
type reported struct {
	news    chan struct{} // gets a value for each
	mu      sync.Mutex
	entries []Entry
}

func (l *reported) log(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	l.news <- struct{}{}
}

// expect waits for the next.
func (l *reported) expect(t *testing.T) {
	t.Helper()
	select {
	case <-l.news:
	case <-time.After(testLimit):
		t.Fatal("the proxy met no request")
	}
}

func (l *reported) all() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Entry(nil), l.entries...)
}

// open starts a proxy before that upstream, all of whose requests meet one
// fate.
func open(t *testing.T, upstream string, fate fault.Kind) (*Proxy, *reported) {
	t.Helper()
	l := &reported{news: make(chan struct{}, 100)}
	p, err := Start(Config{
		Upstream: upstream, Seed: 7, LateMin: time.Millisecond, LateMax: 2 * time.Millisecond, Log: l.log,
		Label: func(operation string, body []byte) string { return operation + " of " + string(body) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.SetMix(fault.Mix{{Kind: fate, Of: 1}})
	return p, l
}

// send sends one request on a connection of its own.
func send(ctx context.Context, url string) (*http.Response, string, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("body"))
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// TestPass checks that a response that passes is that of the upstream.
func TestPass(t *testing.T) {
	b := newBackend(t)
	p, l := open(t, b.URL, fault.None)
	response, body, err := send(t.Context(), p.URL())
	if err != nil || body != "{}" || response.Header.Get("Date") != "Mon, 02 Jan 2006 15:04:05 GMT" {
		t.Errorf("%v %q %v", response, body, err)
	}
	if got := b.expect(t); got != "DynamoDB_20120810.PutItem body" {
		t.Errorf("the backend got %q", got)
	}
	if len(l.all()) != 0 || p.Counts()[fault.None] != 1 {
		t.Errorf("reported %v, counted %v", l.all(), p.Counts())
	}
}

// TestReset checks that a reset connection fails the request, before or after it was
// applied.
func TestReset(t *testing.T) {
	for fate, forwarded := range map[fault.Kind]bool{fault.LoseRequest: false, fault.LoseResponse: true} {
		t.Run(fate.String(), func(t *testing.T) {
			b := newBackend(t)
			p, l := open(t, b.URL, fate)
			if _, _, err := send(t.Context(), p.URL()); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("error %v, want a reset connection", err)
			}
			if got := len(b.got) == 1; got != forwarded {
				t.Errorf("forwarded: %v, want %v", got, forwarded)
			}
			want := Entry{N: 1, Operation: "PutItem", Label: "PutItem of body", Fate: fate}
			if all := l.all(); len(all) != 1 || all[0] != want {
				t.Errorf("reported %+v, want %+v", all, want)
			}
		})
	}
}

// TestBlackHole checks that a black hole sends no answer, and the request was applied or
// not.
func TestBlackHole(t *testing.T) {
	for fate, forwarded := range map[fault.Kind]bool{fault.SwallowRequest: false, fault.SwallowResponse: true} {
		t.Run(fate.String(), func(t *testing.T) {
			b := newBackend(t)
			p, l := open(t, b.URL, fate)
			unanswered(t, p, func() {
				l.expect(t)
				if forwarded {
					b.expect(t)
				}
			})
			if len(b.got) != 0 {
				t.Error("the backend got it, or got it twice")
			}
		})
	}
}

// unanswered sends a request that gets no answer, and gives it up once it has
// arrived.
func unanswered(t *testing.T, p *Proxy, arrived func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := send(ctx, p.URL())
		ended <- err
	}()
	arrived()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want none but the client's own", err)
	}
}

// TestBlackHoleLimit checks that a black hole ends with its limit.
func TestBlackHoleLimit(t *testing.T) {
	p, err := Start(Config{Upstream: "http://127.0.0.1:1", HoleLimit: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.SetMix(fault.Mix{{Kind: fault.SwallowRequest, Of: 1}})
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	if _, _, err := send(ctx, p.URL()); err == nil || ctx.Err() != nil {
		t.Errorf("error %v, want the end of the connection", err)
	}
}

// TestThrottle checks that the SDK recognises the throttle.
func TestThrottle(t *testing.T) {
	b := newBackend(t)
	p, _ := open(t, b.URL, fault.Refuse)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	db := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(p.URL()), Region: "local", Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:  &http.Client{Transport: transport},
	})
	var codes []string
	for range 2 {
		_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName: aws.String("t"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "x"}},
		})
		var api smithy.APIError
		if !errors.As(err, &api) {
			t.Fatalf("error %v", err)
		}
		codes = append(codes, api.ErrorCode())
	}
	if got := strings.Join(codes, " "); got != "ProvisionedThroughputExceededException ThrottlingException" {
		t.Errorf("codes %s", got)
	}
	if len(b.got) != 0 {
		t.Error("the backend was asked")
	}
}

// TestDuplicate checks that a duplicate arrives late, and Settle waits for it.
func TestDuplicate(t *testing.T) {
	b := newBackend(t)
	p, l := open(t, b.URL, fault.Duplicate)
	if _, body, err := send(t.Context(), p.URL()); err != nil || body != "{}" {
		t.Fatalf("%q, %v", body, err)
	}
	if first, second := b.expect(t), b.expect(t); first != second {
		t.Errorf("the backend got %q, and then %q", first, second)
	}
	p.SetMix(nil)
	if err := p.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	all := l.all()
	if len(all) != 2 || all[0].Late || !all[1].Late || p.Counts()[fault.Duplicate] != 1 {
		t.Errorf("reported %+v, counted %v", all, p.Counts())
	}
}

// TestSettle checks that Settle ends with its context, and Close drops what is left.
func TestSettle(t *testing.T) {
	b := newBackend(t)
	p, err := Start(Config{Upstream: b.URL, LateMin: time.Hour, LateMax: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.SetMix(fault.Mix{{Kind: fault.Duplicate, Of: 1}})
	if _, _, err := send(t.Context(), p.URL()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Settle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	p.Close()
	if len(b.got) != 1 {
		t.Errorf("the backend got %d requests, want 1", len(b.got))
	}
}

// TestUpstreamDown checks that an upstream that is down is seen as a reset connection.
func TestUpstreamDown(t *testing.T) {
	b := newBackend(t)
	url := b.URL
	b.Close()
	p, l := open(t, url, fault.None)
	if _, _, err := send(t.Context(), p.URL()); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("error %v", err)
	}
	if all := l.all(); len(all) != 1 || all[0].Fate != fault.Down || p.Counts()[fault.Down] != 1 {
		t.Errorf("reported %+v, counted %v", all, p.Counts())
	}
}

// TestClose checks that Close breaks the connections of requests under way. A client in a
// black hole, and an upstream that never answers.
func TestClose(t *testing.T) {
	asked, never := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // so that the server notices the client's end
		close(asked)
		select {
		case <-never:
		case <-r.Context().Done():
		}
	}))
	defer upstream.Close()
	defer close(never)
	for _, fate := range []fault.Kind{fault.None, fault.SwallowRequest} {
		t.Run(fate.String(), func(t *testing.T) {
			arrived := make(chan struct{})
			p, err := Start(Config{Upstream: upstream.URL, Log: func(e Entry) {
				if e.Fate == fault.SwallowRequest {
					close(arrived)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			p.SetMix(fault.Mix{{Kind: fate, Of: 1}})
			ended := make(chan error, 1)
			go func() {
				_, _, err := send(t.Context(), p.URL())
				ended <- err
			}()
			if fate == fault.None {
				arrived = asked
			}
			select {
			case <-arrived:
			case <-time.After(testLimit):
				t.Fatal("the request did not arrive")
			}
			address := strings.TrimPrefix(p.URL(), "http://")
			p.Close()
			if err := <-ended; err == nil {
				t.Error("the client got an answer")
			}
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				t.Error("it still listens")
			}
		})
	}
}

// TestLateBounds checks that the bounds of late requests are checked.
func TestLateBounds(t *testing.T) {
	if p, err := Start(Config{LateMin: time.Minute, LateMax: time.Second}); err == nil {
		p.Close()
		t.Error("no error")
	}
}

// TestSparedRequest checks that a spared request meets no fault.
func TestSparedRequest(t *testing.T) {
	b := newBackend(t)
	p, l := open(t, b.URL, fault.Refuse)
	p.Spare("PutItem of body", true)
	if response, _, err := send(t.Context(), p.URL()); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("spared: %v, %v", response, err)
	}
	p.Spare("PutItem of body", false)
	if response, _, err := send(t.Context(), p.URL()); err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("spared no longer: %v, %v", response, err)
	}
	if all := l.all(); len(all) != 1 || p.Counts()[fault.None] != 1 || p.Counts()[fault.Refuse] != 1 {
		t.Errorf("reported %+v, counted %v", all, p.Counts())
	}
}

// TestDuplicateOfSparedRequest checks that a duplicate waits while it is spared.
func TestDuplicateOfSparedRequest(t *testing.T) {
	b := newBackend(t)
	var p *Proxy // set before the first request
	var err error
	p, err = Start(Config{
		Upstream: b.URL, LateMin: time.Millisecond, LateMax: time.Millisecond,
		Label: func(string, []byte) string { return "x" },
		// Spared once it has arrived, and before its duplicate is sent.
		Log: func(Entry) { p.Spare("x", true) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.SetMix(fault.Mix{{Kind: fault.Duplicate, Of: 1}})
	if _, _, err := send(t.Context(), p.URL()); err != nil {
		t.Fatal(err)
	}
	b.expect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Settle(ctx); err == nil || len(b.got) != 0 {
		t.Errorf("Settle: %v; the backend got %d more", err, len(b.got))
	}
	p.Spare("x", false)
	b.expect(t)
	if err := p.Settle(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDelayedRequest checks that a delayed request arrives late, and once.
func TestDelayedRequest(t *testing.T) {
	b := newBackend(t)
	p, l := open(t, b.URL, fault.Stray)
	unanswered(t, p, func() { b.expect(t) })
	if err := p.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	if all := l.all(); len(b.got) != 0 || len(all) != 2 || all[0].Late || !all[1].Late || p.Counts()[fault.Stray] != 1 {
		t.Errorf("%d more; reported %+v, counted %v", len(b.got), all, p.Counts())
	}
}
