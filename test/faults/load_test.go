package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestHeld checks what a lock costs that is held, and that no heartbeat comes late when many
// are taken at once.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := locktest.Scaled(10_000, 300)
		stub := &stub{last: map[string]time.Time{}}
		c := newClient(t, stub.client(), "queuelock", queuelock.Config{})
		crowd(3 * n)
		used := use()
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				_, err := c.Acquire(t.Context(), queuelock.Key{Entity: fmt.Sprint("key-", i)}, waitpolicy.Forever)
				locktest.Check(t, err)
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Second) // a bubble keeps the timers of requests until their time, and no heartbeat is due yet
		used().check(t, n, usage{bytes: 2_600, goroutines: 0})
		time.Sleep(55 * time.Second)
		stub.mu.Lock()
		defer stub.mu.Unlock()
		if len(stub.last) != n || stub.longest > 33*time.Second {
			t.Errorf("%d locks, with at most %v between the writes of one, want %d and 30 s and a tenth", len(stub.last), stub.longest, n)
		}
	})
}

// TestWaiting checks what a waiter of a long queue costs: its caller's goroutine, and few requests besides those of its own turn. A part of the memory is the engine's.
func TestWaiting(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		n := locktest.Scaled(600, 100)
		c := newClient(t, table.Client("a"), table.Name(), queuelock.Config{Block: 1})
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		used := use()
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				locktest.Check(t, released(c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)))
			})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		used().check(t, n, usage{bytes: 27_000, goroutines: 1})
		before := table.Counts().Total().Sent
		locktest.Release(t, held)
		wg.Wait()
		turn := float64(table.Counts().Total().Sent-before) / float64(n)
		t.Logf("%.2f requests a turn", turn)
		if turn > 4.5 {
			t.Errorf("%.2f requests a turn", turn)
		}
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

// TestWaitingTogether checks what waiters of one client cost that wait in blocks: their callers' goroutines, few rows, and the
// heartbeats of these.
func TestWaitingTogether(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		n := locktest.Scaled(2_000, 200)
		c := newClient(t, table.Client("a"), table.Name(), queuelock.Config{Block: 1000})
		held := locktest.Acquire(t, c, waitpolicy.Forever)
		used, before := use(), table.Counts()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				_, err := c.Acquire(ctx, locktest.Order, waitpolicy.Forever)
				locktest.Is(t, err, context.Canceled)
			})
		}
		time.Sleep(time.Second)
		u := used()
		u.goroutines -= 4 // of the blocks
		u.check(t, n, usage{bytes: 3_500, goroutines: 1})
		if rows := table.Counts().Sub(before)["PutItem"].Sent; rows > 4 {
			t.Errorf("%d waiters put %d rows", n, rows)
		}
		before = table.Counts()
		time.Sleep(time.Minute)
		if beats := table.Counts().Sub(before)["UpdateItem"].Sent; beats > 60 {
			t.Errorf("%d heartbeats in a minute", beats)
		}
		cancel()
		wg.Wait()
		locktest.Release(t, held)
	}, queuelocktest.WithLatency(2*time.Millisecond))
}

func newClient(t *testing.T, db queuelock.DynamoDB, table string, cfg queuelock.Config) *queuelock.Client {
	cfg.Owner = "load"
	c := locktest.Must(queuelock.New(db, table, cfg))
	t.Cleanup(func() { locktest.Check(t, c.Close(context.Background())) })
	return c
}

// usage is the memory of the heap and of stacks, and the number of goroutines.
type usage struct{ bytes, stacks, goroutines int } // stacks are a part of the bytes

// check fails a test if each of n locks uses more. The race detector needs memory of its own.
func (u usage) check(t *testing.T, n int, most usage) {
	t.Helper()
	t.Logf("%d bytes each, of them %d of stacks, and %.2f goroutines", u.bytes/n, u.stacks/n, float64(u.goroutines)/float64(n))
	if locktest.Scaled(true, false) && u.bytes > n*most.bytes*3/2 || u.goroutines > n*most.goroutines {
		t.Errorf("%d locks use %d bytes and %d goroutines", n, u.bytes, u.goroutines)
	}
}

// crowd runs so many goroutines at once. The runtime keeps what it needs of them for later ones, which need no more memory then.
func crowd(n int) {
	var wg sync.WaitGroup
	end := make(chan struct{})
	for range n {
		wg.Go(func() { <-end })
	}
	close(end)
	wg.Wait()
}

// use returns a function that returns what is used more by then.
func use() func() usage {
	measure := func() usage {
		for range 5 { // each halves stacks that are hardly used
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return usage{int(m.HeapAlloc + m.StackInuse), int(m.StackInuse), runtime.NumGoroutine()}
	}
	before := measure()
	return func() usage {
		now := measure()
		return usage{now.bytes - before.bytes, now.stacks - before.stacks, now.goroutines - before.goroutines}
	}
}

// stub answers as a table would in which each lock is idle until it is taken. A test that uses
// it measures the library and the SDK's client alone.
type stub struct {
	mu      sync.Mutex
	last    map[string]time.Time // of the last write of each key
	longest time.Duration        // between two writes of one key
}

// client returns a client of the table.
func (s *stub) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://stub"), HTTPClient: s,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}

var entity = regexp.MustCompile(`"key-\d+"`)

// wrote records a write of the key in the body.
func (s *stub) wrote(body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := string(entity.Find(body)), time.Now()
	if last, ok := s.last[key]; ok {
		s.longest = max(s.longest, now.Sub(last))
	}
	s.last[key] = now
}

// taken finds the id and the entry that a TAKE puts into holders.
var taken = regexp.MustCompile(`\{"M":\{"([a-z0-9]+-\d+)":\{"M":\{[^{}]*(\{[^{}]*\}[^{}]*)*\}\}\}\}`)

const (
	grantedAnswer  = `{"Attributes":{"ticketNumber":{"N":"2"},"servingAfter":{"N":"1"},"granted":{"N":"1"},"holdMode":{"S":"exclusive"},"holders":`
	releasedAnswer = `{"Attributes":{"ticketNumber":{"N":"2"},"granted":{"N":"2"}}}`
)

func (s *stub) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := "{}"
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "UpdateItem") {
		s.wrote(body)
		if bytes.Contains(body, []byte("ALL_NEW")) {
			answer = releasedAnswer
		}
		if entry := taken.Find(body); entry != nil {
			answer = grantedAnswer + string(entry) + "}}"
		}
	}
	time.Sleep(20 * time.Millisecond)
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"stub"},
			"Date": {time.Now().UTC().Format(http.TimeFormat)},
		},
		Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)),
	}, nil
}
