package httplock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/httplock"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestMain(m *testing.M) { os.Exit(engines.Main(m).Run()) }

// customer names the lock of a request. "/" needs none.
func customer(r *http.Request) (queuelock.Key, bool) {
	entity := strings.TrimPrefix(r.URL.Path, "/")
	return queuelock.Key{Entity: entity}, entity != ""
}

// request serves a request in this goroutine, and returns the answer.
func request(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil))
	return answer
}

// lasting is a handler that takes that long.
func lasting(d time.Duration) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(d) })
}

// order is the path of the key that locktest locks.
var order = "/" + locktest.Order.Entity

func TestRequests(t *testing.T) {
	locktest.InTable(t, "OfOneKeyTakeTurnsInOrder", func(t *testing.T, table *queuelocktest.Table) {
		var served []string
		running := 0
		work := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			served = append(served, r.URL.RawQuery)
			if running++; running > 1 {
				t.Errorf("%d requests ran at once", running)
			}
			time.Sleep(time.Second)
			running--
		})
		begun, done := time.Now(), make(chan int)
		for i := range 5 {
			locks, _ := locktest.Open(t, table, fmt.Sprint("web-", i), queuelock.Config{})
			h := httplock.New(locks, customer, time.Minute, httplock.Config{})(work)
			go func() { done <- request(t, h, order+"?"+strconv.Itoa(i)).Code }()
			synctest.Wait()
		}
		for range 5 {
			if code := <-done; code != http.StatusOK {
				t.Errorf("status %d", code)
			}
		}
		if strings.Join(served, "") != "01234" || time.Since(begun) < 5*time.Second {
			t.Errorf("served %v in %v", served, time.Since(begun))
		}
	})
	locktest.InTable(t, "OfTwoKeysRunAtOnce", func(t *testing.T, table *queuelocktest.Table) {
		locks, _ := locktest.Open(t, table, "a", queuelock.Config{})
		h := httplock.New(locks, customer, time.Minute, httplock.Config{})(lasting(time.Minute))
		begun, done := time.Now(), make(chan int)
		for _, path := range []string{"/anne", "/bert"} {
			go func() { done <- request(t, h, path).Code }()
		}
		if a, b := <-done, <-done; a != http.StatusOK || b != http.StatusOK || time.Since(begun) > 61*time.Second {
			t.Errorf("answers %d and %d, took %v", a, b, time.Since(begun))
		}
	})
	locktest.InTable(t, "WithoutKeyNeedNoLock", func(t *testing.T, table *queuelocktest.Table) {
		locks, db := locktest.Open(t, table, "a", queuelock.Config{})
		h := httplock.New(locks, customer, time.Minute, httplock.Config{})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if lock := httplock.FromContext(r.Context()); lock != nil {
				t.Errorf("has %s", lock)
			}
		}))
		if code := request(t, h, "/").Code; code != http.StatusOK || db.Counts().Total().Sent > 0 {
			t.Errorf("status %d after %d requests to the table", code, db.Counts().Total().Sent)
		}
	})
	locktest.InTable(t, "HaveTheirLocksWithTheOptions", func(t *testing.T, table *queuelocktest.Table) {
		locks, _ := locktest.Open(t, table, "a", queuelock.Config{})
		h := httplock.New(locks, customer, time.Minute, httplock.Config{Options: []queuelock.AcquireOption{queuelock.WithOwner("web")}})
		request(t, h(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			lock := httplock.FromContext(r.Context())
			state := locktest.Must(locks.Viewer().Inspect(r.Context(), locktest.Order))
			if lock.Err() != nil || len(state.Serving) != 1 || state.Serving[0].Ticket != lock.Ticket() || state.Serving[0].Owner != "web" {
				t.Errorf("%v, and the queue is %+v", lock, state.Serving)
			}
		})), order)
	})
}

func TestRefusals(t *testing.T) {
	const wait = 10 * time.Second
	for name, c := range map[string]struct {
		path    string
		prepare func(t *testing.T, locks *queuelock.Client, db *queuelocktest.Client)
		status  int
		retry   []string // one of them
		is      error
	}{
		"BusyLockOfUnknownLength": {prepare: hold(0), status: http.StatusConflict, retry: []string{"1"}, is: queuelock.ErrNotAcquired},
		// After a turn of a minute, the present one has lasted for the wait.
		"BusyLockOfKnownLength": {prepare: hold(time.Minute), status: http.StatusConflict, retry: []string{"50", "51"}, is: queuelock.ErrNotAcquired},
		"SilentTable": {prepare: func(_ *testing.T, _ *queuelock.Client, db *queuelocktest.Client) { db.Partition() },
			status: http.StatusServiceUnavailable, retry: []string{"1"}, is: queuelock.ErrUnavailable},
		"ClosedClient": {prepare: func(t *testing.T, locks *queuelock.Client, _ *queuelocktest.Client) { _ = locks.Close(t.Context()) },
			status: http.StatusServiceUnavailable, retry: []string{"1"}, is: queuelock.ErrClosed},
		"InvalidKey": {path: "/" + strings.Repeat("x", 3000), status: http.StatusInternalServerError, retry: []string{""}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			locks, db := locktest.Open(t, table, "web", queuelock.Config{})
			if c.prepare != nil {
				c.prepare(t, locks, db)
			}
			if c.path == "" {
				c.path = order
			}
			var refused, reported error
			h := httplock.New(locks, customer, wait, httplock.Config{
				OnError: func(_ *http.Request, err error) { reported = err },
				Refuse: func(w http.ResponseWriter, _ *http.Request, status int, err error) {
					refused = err
					w.WriteHeader(status)
				},
			})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") }))
			begun := time.Now()
			answer := request(t, h, c.path)
			retry := answer.Header().Get("Retry-After")
			if answer.Code != c.status || !strings.Contains(" "+strings.Join(c.retry, " ")+" ", " "+retry+" ") {
				t.Errorf("status %d, Retry-After %q, want %d and one of %q", answer.Code, retry, c.status, c.retry)
			}
			if reported == nil || refused != reported || c.is != nil && !errors.Is(reported, c.is) {
				t.Errorf("refused because of %v, reported %v", refused, reported)
			}
			if took := time.Since(begun); took > wait+5*time.Second {
				t.Errorf("refused after %v", took)
			}
			db.Heal()
			answer = request(t, httplock.New(locks, customer, 0, httplock.Config{})(lasting(0)), c.path)
			if body := answer.Body.String(); answer.Code != http.StatusOK && body != http.StatusText(answer.Code)+"\n" {
				t.Errorf("by default the answer is %d %q", answer.Code, body)
			}
		})
	}
}

// hold returns a function that lets another client hold the lock until the end of the test,
// after a turn of that length.
func hold(before time.Duration) func(*testing.T, *queuelock.Client, *queuelocktest.Client) {
	return func(t *testing.T, locks *queuelock.Client, _ *queuelocktest.Client) {
		if before > 0 {
			lock := locktest.Acquire(t, locks, waitpolicy.NoWait)
			time.Sleep(before)
			locktest.Release(t, lock)
		}
		locktest.Acquire(t, locks, waitpolicy.NoWait)
	}
}

func TestEndOfRequest(t *testing.T) {
	open := func(t *testing.T) (*queuelock.Client, *queuelocktest.Client, func() bool) {
		table := queuelocktest.NewTable(t)
		locks, db := locktest.Open(t, table, "web", locktest.TenSeconds)
		other, _ := locktest.Open(t, table, "other", locktest.TenSeconds)
		return locks, db, func() bool { return locktest.Locked(t, other) }
	}
	locktest.InBubble(t, "ReleasesLockBeforeItReturns", func(t *testing.T) {
		locks, _, locked := open(t)
		request(t, httplock.New(locks, customer, 0, httplock.Config{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if !locked() {
				t.Error("not held by the handler")
			}
		})), order)
		if locked() {
			t.Error("held after the handler")
		}
	})
	locktest.InBubble(t, "ReleasesLockAfterPanic", func(t *testing.T) {
		locks, _, locked := open(t)
		defer func() {
			if got := recover(); got != http.ErrAbortHandler || locked() {
				t.Errorf("recovered %v; held: %v", got, locked())
			}
		}()
		request(t, httplock.New(locks, customer, 0, httplock.Config{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		})), order)
	})
	locktest.InBubble(t, "ComesWithLoss", func(t *testing.T) {
		locks, db, _ := open(t)
		var reported, cause error
		answer := request(t, httplock.New(locks, customer, 0, httplock.Config{
			OnError: func(_ *http.Request, err error) { reported = err },
		})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			db.Partition()
			<-r.Context().Done()
			cause = context.Cause(r.Context())
			w.WriteHeader(http.StatusGatewayTimeout)
		})), order)
		if !errors.Is(cause, queuelock.ErrLost) || !errors.Is(reported, queuelock.ErrLost) || answer.Code != http.StatusGatewayTimeout {
			t.Errorf("ended by %v, reported %v, status %d", cause, reported, answer.Code)
		}
	})
	locktest.InBubble(t, "WaitsForReleaseNoLongerThanRequestTimeout", func(t *testing.T) {
		locks, db, _ := open(t)
		var reported error
		var done time.Time
		answer := request(t, httplock.New(locks, customer, 0, httplock.Config{
			OnError: func(_ *http.Request, err error) { reported = err },
		})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			db.Partition()
			done = time.Now()
		})), order)
		if took := time.Since(done); took > time.Second || reported == nil || answer.Code != http.StatusOK {
			t.Errorf("the release took %v: %v, status %d", took, reported, answer.Code)
		}
	})
	locktest.InBubble(t, "LeavesQueueIfCallerHasLeft", func(t *testing.T) {
		locks, _, _ := open(t)
		lock := locktest.Acquire(t, locks, waitpolicy.NoWait)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		h := httplock.New(locks, customer, time.Hour, httplock.Config{})(lasting(0))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, order, nil))
		if rows, holders := locktest.RowsAndHolders(t, locks); rows != 0 || holders != 1 {
			t.Errorf("%d waiters, %d holders", rows, holders)
		}
		locktest.Release(t, lock)
	})
}

func TestNewRefuses(t *testing.T) {
	key := func(*http.Request) (queuelock.Key, bool) { return queuelock.Key{}, false }
	locks, err := queuelock.New(queuelocktest.NewTable(t).Client("c"), "queuelock", queuelock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, build := range map[string]func(){
		"NilClient":    func() { httplock.New(nil, key, 0, httplock.Config{}) },
		"NilKey":       func() { httplock.New(locks, nil, 0, httplock.Config{}) },
		"NegativeWait": func() { httplock.New(locks, key, -1, httplock.Config{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if v, ok := recover().(string); !ok || len(v) > 160 || v[:9] != "httplock:" {
					t.Errorf("it panics with %v", v)
				}
			}()
			build()
		})
	}
}
