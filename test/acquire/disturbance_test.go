package acquire_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/once"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// disturbed is the way to a table, on which requests fail.
type disturbed struct {
	dynamodb.HTTPClient
	by atomic.Pointer[disturbance] // nil: by nothing
}

// disturbance answers a request, or fails.
type disturbance struct {
	name   string
	answer func(*http.Request) (*http.Response, error)
}

func (d *disturbed) Do(r *http.Request) (*http.Response, error) {
	if by := d.by.Load(); by != nil {
		return by.answer(r)
	}
	return d.HTTPClient.Do(r)
}

// through makes the requests of a client go that way.
func (d *disturbed) through(o *dynamodb.Options) { d.HTTPClient, o.HTTPClient = o.HTTPClient, d }

// begin disturbs requests for so long.
func (d *disturbed) begin(by disturbance, lasts time.Duration) {
	d.by.Store(&by)
	time.AfterFunc(lasts, func() { d.by.Store(nil) })
}

func dialing(name string, err error) disturbance {
	return disturbance{name, func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}}
}

func answering(name string, status int, header, body string) disturbance {
	return disturbance{name, func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {header}}, Body: io.NopCloser(bytes.NewBufferString(body)), ContentLength: int64(len(body)),
		}, nil
	}}
}

func refusing(code string, status int) disturbance {
	return answering(code, status, "application/x-amz-json-1.0", fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected"}`, code))
}

// disturbances are what a wait, a lock and a release outlive.
var disturbances = []disturbance{
	dialing("no such host", &net.DNSError{Err: "no such host", Name: "dynamodb.example", IsNotFound: true}),
	dialing("DNS is down", &net.DNSError{Err: "server misbehaving", Name: "dynamodb.example", IsTemporary: true}),
	dialing("refused", os.NewSyscallError("connect", syscall.ECONNREFUSED)),
	dialing("reset", os.NewSyscallError("read", syscall.ECONNRESET)),
	dialing("unreachable", os.NewSyscallError("connect", syscall.EHOSTUNREACH)),
	dialing("no descriptor", os.NewSyscallError("socket", syscall.EMFILE)),
	dialing("no port", os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)),
	dialing("a certificate", x509.UnknownAuthorityError{}),
	{"GOAWAY", func(*http.Request) (*http.Response, error) {
		return nil, errors.New("http2: server sent GOAWAY and closed the connection")
	}},
	{"end of file", func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }},
	{"silence", func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }},
	refusing("InternalServerError", 500), refusing("ServiceUnavailable", 503),
	refusing("ThrottlingException", 400), refusing("ProvisionedThroughputExceededException", 400), refusing("RequestLimitExceeded", 400),
	refusing("TransactionConflictException", 400), refusing("ReplicatedWriteConflictException", 400),
	refusing("ExpiredTokenException", 400), refusing("ExpiredToken", 403), refusing("UnrecognizedClientException", 400),
	refusing("RequestExpired", 400), refusing("InvalidSignatureException", 400), refusing("RequestTimeTooSkewed", 403),
	refusing("AccessDeniedException", 400), refusing("IncompleteSignature", 400), refusing("MissingAuthenticationToken", 403),
	refusing("LimitExceededException", 400), refusing("SomethingNewException", 400),
	answering("HTML with 403", 403, "text/html", "<html>Forbidden</html>"), answering("HTML with 404", 404, "text/html", "<html>Not found</html>"),
	answering("HTML with 502", 502, "text/html", "<html>Bad gateway</html>"), answering("HTML with 504", 504, "text/html", "<html>Timeout</html>"),
	answering("HTML with 200", 200, "text/html", "<html>Sign in</html>"), answering("broken JSON", 200, "application/x-amz-json-1.0", `{"Item":`),
	answering("no code", 400, "application/x-amz-json-1.0", `{}`),
}

// lasting end a wait at once.
var lasting = []disturbance{refusing("ResourceNotFoundException", 400), refusing("ValidationException", 400), refusing("UnknownOperationException", 400)}

// lengthOf is how long each disturbance lasts.
const lengthOf = 3 * time.Second

// TestWaitOutlivesDisturbances checks that a client which had an answer keeps its place in each kind of wait.
func TestWaitOutlivesDisturbances(t *testing.T) {
	acquiring := func(opts ...queuelock.AcquireOption) func(*testing.T, *queuelocktest.Table, *queuelock.Client) error {
		return func(t *testing.T, _ *queuelocktest.Table, c *queuelock.Client) error {
			return released(c.Acquire(t.Context(), locktest.Order, waitpolicy.For(24*time.Hour), opts...))
		}
	}
	order := queuelock.ItemKey{}
	for _, wait := range locktest.Some([]struct {
		name  string
		holds func(*testing.T, *queuelocktest.Table, *queuelock.Client) (release func(context.Context) error)
		waits func(*testing.T, *queuelocktest.Table, *queuelock.Client) error
	}{
		{"Acquire", nil, acquiring()},
		{"MaxWaiters", nil, acquiring(queuelock.MaxWaiters(3))},
		{"Shared", nil, acquiring(queuelock.Shared())},
		{"Permits", func(t *testing.T, _ *queuelocktest.Table, c *queuelock.Client) func(context.Context) error {
			lock := locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.Permits(2))
			locktest.Acquire(t, c, waitpolicy.NoWait, queuelock.Permits(2))
			return lock.Release
		}, acquiring(queuelock.Permits(2))},
		{"Do", nil, func(t *testing.T, _ *queuelocktest.Table, c *queuelock.Client) error {
			return c.Do(t.Context(), locktest.Order, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error { return nil })
		}},
		{"AcquireAll", nil, func(t *testing.T, _ *queuelocktest.Table, c *queuelock.Client) error {
			return released(c.AcquireAll(t.Context(), []queuelock.Key{{Entity: "another"}, locktest.Order}, waitpolicy.Forever))
		}},
		{"LockItem", func(t *testing.T, table *queuelocktest.Table, c *queuelock.Client) func(context.Context) error {
			u, key, _ := locktest.NewOrder(t, table)
			order = u.Key(key)
			return locktest.LockItem(t, c, order, waitpolicy.NoWait).Release
		}, func(t *testing.T, _ *queuelocktest.Table, c *queuelock.Client) error {
			return released(c.LockItem(t.Context(), order, waitpolicy.Forever))
		}},
		{"once", nil, func(t *testing.T, _ *queuelocktest.Table, c *queuelock.Client) error {
			_, err := once.Do(t.Context(), c, locktest.Order, time.Hour, func(context.Context, *queuelock.Lock) ([]byte, error) { return []byte("1"), nil })
			return err
		}},
		{"Resume", nil, func(t *testing.T, table *queuelocktest.Table, c *queuelock.Client) error {
			old, network := locktest.Open(t, table, "old", queuelock.Config{})
			place := queueToDie(t, old)
			network.Partition()
			return released(c.Resume(t.Context(), place, waitpolicy.Forever))
		}},
	}) {
		for _, block := range []int{1, 16} {
			locktest.InBubble(t, fmt.Sprintf("%s, blocks of %d", wait.name, block), func(t *testing.T) {
				table, way := locktest.Watched(t), &disturbed{}
				holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
				var release func(context.Context) error
				if wait.holds != nil {
					release = wait.holds(t, table, holder)
				} else {
					release = locktest.Acquire(t, holder, waitpolicy.NoWait).Release
				}
				c := locktest.Must(queuelock.New(table.Client("waiter", way.through), table.Name(), queuelock.Config{Block: block}))
				defer func() { locktest.Check(t, c.Close(context.Background())) }()
				done := locktest.Background(func() (any, error) { return nil, wait.waits(t, table, c) })
				time.Sleep(time.Minute)
				first := func() (ticket string) {
					if state := locktest.Must(holder.Viewer().Inspect(t.Context(), locktest.Order)); len(state.Waiting) > 0 {
						ticket = state.Waiting[0].Ticket.String()
					}
					return ticket
				}
				place := first()
				for _, d := range disturbances {
					way.begin(d, lengthOf)
					time.Sleep(time.Minute)
					select {
					case got := <-done:
						t.Fatalf("%s ended the wait: %v", d.name, got.Err)
					default:
					}
				}
				if now := first(); now != place {
					t.Errorf("it waits with ticket %s, and began with %s", now, place)
				}
				locktest.OK(t, release(t.Context()))
				if got := locktest.Within(t, wait.name, time.Minute, done); got.Err != nil {
					t.Error(got.Err)
				}
			})
		}
	}
}

// TestDisturbedHolder checks that a holder and a release outlive them.
func TestDisturbedHolder(t *testing.T) {
	for _, d := range disturbances {
		locktest.InBubble(t, d.name, func(t *testing.T) {
			table, way := locktest.Watched(t), &disturbed{}
			c := locktest.Must(queuelock.New(table.Client("holder", way.through), table.Name(), queuelock.Config{}))
			defer func() { locktest.Check(t, c.Close(context.Background())) }()
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			time.Sleep(time.Minute)
			way.begin(d, 25*time.Second) // a renewal, and those that repeat it
			time.Sleep(time.Minute)
			locktest.OK(t, lock.Err())
			way.begin(d, lengthOf)
			locktest.OK(t, lock.Release(t.Context()))
			if locktest.Locked(t, c) {
				t.Error("it is still locked")
			}
		})
	}
}

// TestLastingDisturbance checks what ends a wait: at once what no time changes, and after a TTL what lasts as long.
func TestLastingDisturbance(t *testing.T) {
	for _, d := range append(lasting, disturbances...) {
		locktest.InBubble(t, d.name, func(t *testing.T) {
			table, way := locktest.Watched(t), &disturbed{}
			holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
			locktest.Acquire(t, holder, waitpolicy.NoWait)
			c := locktest.Must(queuelock.New(table.Client("waiter", way.through), table.Name(), queuelock.Config{}))
			done := locktest.Background(func() (*queuelock.Lock, error) { return c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever) })
			time.Sleep(time.Minute)
			begun := time.Now()
			way.begin(d, time.Hour)
			err, least := (<-done).Err, 50*time.Second
			if slices.ContainsFunc(lasting, func(l disturbance) bool { return l.name == d.name }) {
				least = 0
			}
			took := time.Since(begun)
			if took < least || took > least+25*time.Second || errors.Is(err, queuelock.ErrUnavailable) != (least > 0) {
				t.Errorf("after %v: %v", took, err)
			}
			way.by.Store(nil)
			locktest.Check(t, c.Close(context.Background()))
		})
	}
}

// TestFirstRequestFailsFast checks that a client without an answer does not repeat what may never pass, and one that lacks an action
// neither.
func TestFirstRequestFailsFast(t *testing.T) {
	for _, d := range disturbances {
		locktest.InBubble(t, d.name, func(t *testing.T) {
			table, way := locktest.Watched(t), &disturbed{}
			c := locktest.Must(queuelock.New(table.Client("c", way.through), table.Name(), queuelock.Config{}))
			begun := time.Now()
			way.begin(d, 10*time.Minute)
			_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
			fast := time.Since(begun) < 2*time.Second
			if err == nil || fast == errors.Is(err, queuelock.ErrUnavailable) {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
			way.by.Store(nil)
			locktest.Check(t, c.Close(context.Background()))
		})
	}
	locktest.InWatched(t, "a right that was never there", func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		locktest.Acquire(t, holder, waitpolicy.NoWait)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("Query"))
		begun := time.Now()
		_, err := c.Acquire(t.Context(), locktest.Order, waitpolicy.Forever)
		if took := time.Since(begun); err == nil || took > 2*time.Second || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestForeignRightIsNotAwaited checks that a transaction is not repeated until the lock is lost because of a right that is missing,
// also after an answer to the same operation: it may be that of another table of the caller's.
func TestForeignRightIsNotAwaited(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		items := []types.TransactGetItem{{Get: &types.Get{TableName: aws.String(table.Name()), Key: locktest.RecordKey()}}}
		_, err := lock.Get(t.Context(), items...)
		locktest.OK(t, err)
		locktest.OK(t, lock.Transact(t.Context(), locktest.Deposit(table, nil)))
		db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("TransactGetItems", "TransactWriteItems"))
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = lock.Get(ctx, items...)
		locktest.Says(t, err, "AccessDenied")
		locktest.Says(t, lock.Transact(ctx, locktest.Deposit(table, nil)), "AccessDenied")
		if took := time.Since(begun); took > 2*time.Second || lock.Err() != nil {
			t.Errorf("after %v: %v", took, lock.Err())
		}
		locktest.Release(t, lock)
	})
}

func released[L interface{ Release(context.Context) error }](lock L, err error) error {
	if err != nil {
		return err
	}
	return lock.Release(context.Background())
}
