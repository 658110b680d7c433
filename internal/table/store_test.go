package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

var layout = table.Layout{Table: "queuelock", PK: "pk", SK: "sk", TTL: "expiresAt"}

const timeout = 5 * time.Second

func queueOn(db table.DynamoDB) table.Queue {
	return table.NewStore(db, layout, timeout).Queue("e", "lock", nil)
}

// retriesAtOnce lets the SDK try again as it does, without its pauses: they may
// be longer than the bound on a call.
func retriesAtOnce(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
		r.RateLimiter = ratelimit.None
		r.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

var (
	onTrue  = expression.NewBuilder().WithCondition(expression.Name("never").AttributeNotExists())
	onFalse = expression.NewBuilder().WithCondition(expression.Name("pk").AttributeNotExists().And(expression.Name("pk").AttributeExists()))
	setN    = expression.Set(expression.Name("n"), expression.Value(1))
	always  = table.Build(onTrue)
	never   = table.Build(onFalse)
)

// calls are all that a Store can do, each once.
func calls(q table.Queue) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"UpdateItem": func(ctx context.Context) error {
			_, err := q.Update(ctx, q.RecordKey(), table.Build(onTrue.WithUpdate(setN)), false)
			return err
		},
		"PutItem":    func(ctx context.Context) error { return q.Put(ctx, q.RecordKey(), always) },
		"DeleteItem": func(ctx context.Context) error { return q.Delete(ctx, q.RecordKey(), always) },
		"GetItem":    func(ctx context.Context) error { _, err := q.Get(ctx, q.RecordKey()); return err },
		"Query": func(ctx context.Context) error {
			_, _, err := q.Range(ctx, q.RecordSortKey(), q.SortKey(ticket.Max), nil)
			return err
		},
	}
}

// TestTransient checks that errors report whether a retry can help.
func TestTransient(t *testing.T) {
	for _, test := range []struct {
		name      string
		fault     queuelocktest.Fault
		transient bool
		applied   bool // may it have been, with the SDK's retries off
		timeout   bool
		renewable bool // by other credentials
	}{
		{"throttled", queuelocktest.Refuse(queuelocktest.Throttling), true, true, false, false},
		{"throughput exceeded", queuelocktest.Refuse(queuelocktest.ThroughputExceeded), true, true, false, false},
		{"request limit", queuelocktest.Refuse(queuelocktest.RequestLimit), true, true, false, false},
		{"500", queuelocktest.Refuse(queuelocktest.InternalError), true, true, false, false},
		{"503", queuelocktest.Refuse(queuelocktest.Unavailable), true, true, false, false},
		{"transaction conflict", queuelocktest.Refuse(queuelocktest.TransactionConflict), true, true, false, false},
		{"connection reset", queuelocktest.LoseRequest(), true, true, false, false},
		{"answer lost", queuelocktest.LoseResponse(), true, true, false, false},
		{"no answer", queuelocktest.SwallowRequest(), true, true, true, false},
		{"no answer to a write", queuelocktest.SwallowResponse(), true, true, true, false},
		{"access denied", queuelocktest.Refuse(queuelocktest.AccessDenied), false, false, false, false},
		{"validation", queuelocktest.Refuse("ValidationException"), false, false, false, false},
		{"write in another region", queuelocktest.Refuse("ReplicatedWriteConflictException"), true, true, false, false},
		{"expired credentials", queuelocktest.Refuse("ExpiredTokenException"), false, true, false, true},
		{"unknown credentials", queuelocktest.Refuse("UnrecognizedClientException"), false, true, false, true},
		{"unknown", queuelocktest.Refuse("SomethingNewException"), false, false, false, false},
	} {
		locktest.InTable(t, test.name, func(t *testing.T, tb *queuelocktest.Table) {
			q := queueOn(tb.Client("c", retriesAtOnce))
			for operation, call := range calls(q) {
				fault := tb.Inject(test.fault.Of(operation))
				start := time.Now()
				err := call(t.Context())
				fault.Remove()
				e, ok := errors.AsType[*table.Error](err)
				if !ok || e.Operation != operation || e.Table != "queuelock" || !strings.Contains(err.Error(), operation) {
					t.Fatalf("%s: got %v, want an Error that names operation and table", operation, err)
				}
				if got := table.Transient(err); got != test.transient {
					t.Errorf("%s: Transient(%v) is %v", operation, err, got)
				}
				if table.Transient(fmt.Errorf("wrapped: %w", err)) != test.transient {
					t.Errorf("%s: wrapped it is another", operation)
				}
				if got := table.Renewable(fmt.Errorf("wrapped: %w", err)); got != test.renewable {
					t.Errorf("%s: Renewable(%v) is %v", operation, err, got)
				}
				if got := table.Applied(err); got != test.applied {
					t.Errorf("%s: sent once, Applied(%v) is %v", operation, err, got)
				}
				if (e.Timeout > 0) != test.timeout || test.timeout && (time.Since(start) != timeout || e.Timeout != timeout || !strings.Contains(err.Error(), "no answer within 5s")) {
					t.Errorf("%s: after %v came %v", operation, time.Since(start), err)
				}
			}
		})
	}
}

// TestEndOfContext checks that the end of the caller's own context is not transient.
func TestEndOfContext(t *testing.T) {
	locktest.InTable(t, "cancelled", func(t *testing.T, tb *queuelocktest.Table) {
		tb.Inject(queuelocktest.SwallowResponse())
		for operation, call := range calls(queueOn(tb.Client("c"))) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			start := time.Now()
			if err := call(ctx); !errors.Is(err, context.Canceled) || table.Transient(err) || !table.Applied(err) || time.Since(start) != time.Second {
				t.Errorf("%s: after %v came %v, transient: %v", operation, time.Since(start), err, table.Transient(err))
			}
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || table.Transient(err) {
				t.Errorf("%s: past the caller's deadline %v, transient: %v", operation, err, table.Transient(err))
			}
			cancel()
		}
	})
	if table.Transient(nil) || table.Transient(errors.New("x")) || table.Transient(&table.Refused{}) || table.Transient(&table.SchemaError{}) {
		t.Error("what is no failed request is transient")
	}
}

// TestRefusal checks that a refusal carries the item, if there is one, that it costs nothing more, and that nothing is applied.
func TestRefusal(t *testing.T) {
	locktest.InTable(t, "carries the item", func(t *testing.T, tb *queuelocktest.Table) {
		q := queueOn(tb.Client("c"))
		item := q.RecordKey()
		item["mark"] = clause.String("here")
		locktest.OK(t, q.Put(t.Context(), item, always))
		_, updated := q.Update(t.Context(), q.RecordKey(), table.Build(onFalse.WithUpdate(setN)), false)
		for name, err := range map[string]error{"update": updated, "put": q.Put(t.Context(), item, never), "delete": q.Delete(t.Context(), q.RecordKey(), never)} {
			refused, ok := errors.AsType[*table.Refused](err)
			if !ok || table.Transient(err) || table.Applied(err) || err.Error() == "" {
				t.Fatalf("%s: got %v, want a refusal", name, err)
			}
			if refused.Item["mark"] == nil {
				t.Errorf("%s: the refusal carries %v", name, refused.Item)
			}
		}
		got, err := q.Get(t.Context(), q.RecordKey())
		if err != nil || len(got) != 3 {
			t.Errorf("the item is %v, %v", got, err)
		}
		before := tb.Counts()
		refused, ok := errors.AsType[*table.Refused](q.Delete(t.Context(), q.Key("missing"), never))
		if sent := tb.Counts().Sub(before).Total().Sent; !ok || refused.Item != nil || sent != 1 {
			t.Errorf("of a missing item: %v after %d requests", refused, sent)
		}
	})
	if after := table.NotApplied(errors.New("the item cannot be read")); table.Applied(after) {
		t.Error("what went wrong after a refusal does not change it")
	}
	if !table.Applied(nil) {
		t.Error("a write that succeeded was not applied")
	}
}

// TestRepeat checks that the SDK repeats a write exactly if it may, of each kind, with conditions and without.
func TestRepeat(t *testing.T) {
	locktest.InTable(t, "repeat", func(t *testing.T, tb *queuelocktest.Table) {
		q := queueOn(tb.Client("c", retriesAtOnce))
		tb.Inject(queuelocktest.Refuse(queuelocktest.InternalError))
		set := []clause.Change{clause.At("n").Set(clause.V(clause.Int(1)))}
		for kind, send := range map[clause.Kind]func(table.Expressions) error{
			clause.Update: func(e table.Expressions) error { _, err := q.Update(t.Context(), q.RecordKey(), e, true); return err },
			clause.Put:    func(e table.Expressions) error { return q.Put(t.Context(), q.RecordKey(), e) },
			clause.Delete: func(e table.Expressions) error { return q.Delete(t.Context(), q.RecordKey(), e) },
		} {
			for repeat, want := range map[clause.Repeat]int{clause.Freely: 3, clause.BySender: 1} {
				for _, conds := range [][]clause.Cond{nil, {clause.Key.Absent()}} {
					before := tb.Counts()
					if err := send(q.Express(clause.Write{Kind: kind, Repeat: repeat, If: conds, Do: set}, q.Names())); err == nil {
						t.Error("no error")
					}
					if got := tb.Counts().Sub(before).Total().Sent; got != want {
						t.Errorf("kind %d, repeat %d, %d conditions: %d requests were sent, want %d", kind, repeat, len(conds), got, want)
					}
				}
			}
		}
	})
}

// TestDate has a proxy that answers with its own clock.
func TestDate(t *testing.T) {
	for name, g := range map[string]struct {
		ahead     time.Duration // of its clock
		unreached bool          // it answers by itself, with 503
		keepsID   bool
	}{
		"IsIgnoredOfAnAnswerWithoutRequestID": {ahead: 24 * time.Hour},
		"IsIgnoredOfAnErrorWithoutRequestID":  {ahead: 24 * time.Hour, unreached: true},
		"CountsWithARequestID":                {keepsID: true},
	} {
		locktest.InTable(t, name, func(t *testing.T, tb *queuelocktest.Table) {
			q := queueOn(tb.Client("c", retriesAtOnce, changed(func(answer *http.Response) {
				answer.Header.Set("Date", time.Now().Add(g.ahead).UTC().Format(http.TimeFormat))
				if !g.keepsID {
					answer.Header.Del("x-amzn-RequestId")
				}
				if g.unreached {
					answer.StatusCode = http.StatusServiceUnavailable
				}
			})))
			err := q.Put(t.Context(), q.RecordKey(), always)
			if (err != nil) != g.unreached {
				t.Fatal(err)
			}
			if _, _, ok := q.Clock().At(time.Now()); ok != g.keepsID {
				t.Errorf("the answer's date counts: %v, want %v", ok, g.keepsID)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	for name, test := range map[string]struct {
		reasons              []string
		retryable, undecided bool
	}{
		"Conflicts":                {[]string{"None", "TransactionConflict", "ReplicatedWriteConflict", "ThrottlingError"}, true, true},
		"ConflictAndRefusal":       {[]string{"TransactionConflict", table.ReasonFailed}, false, true},
		"ThrottleBesideRefusal":    {[]string{"ThrottlingError", table.ReasonFailed}, false, true},
		"RefusalBesideAnotherItem": {[]string{"None", table.ReasonFailed}, false, false},
		"None":                     {nil, false, false},
		"AnotherReason":            {[]string{"ItemCollectionSizeLimitExceeded"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := table.RetryableReasons(test.reasons); got != test.retryable {
				t.Errorf("RetryableReasons(%v) is %v", test.reasons, got)
			}
			if got := table.Undecided(test.reasons); got != test.undecided {
				t.Errorf("Undecided(%v) is %v", test.reasons, got)
			}
		})
	}
}

// TestRange checks that Range reads page by page, consistently.
func TestRange(t *testing.T) {
	locktest.InTable(t, "range", func(t *testing.T, tb *queuelocktest.Table) {
		q := queueOn(tb.Client("c"))
		const rows = 12
		for i := range rows {
			item := q.Key(q.SortKey(ticket.FromUint64(uint64(i))))
			item["ballast"] = clause.String(strings.Repeat("x", 300_000)) // 3.6 MB in all
			locktest.OK(t, q.Put(t.Context(), item, always))
		}
		eventual := tb.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("Query").Where(func(r queuelocktest.Request) bool {
			return r.Body["ConsistentRead"] != true
		}))
		before := tb.Counts()
		var items []clause.Item
		var err error
		for more, page := true, clause.Item(nil); more && err == nil; more = page != nil {
			var some []clause.Item
			some, page, err = q.Range(t.Context(), q.SortKey(ticket.FromUint64(1)), q.SortKey(ticket.FromUint64(rows-2)), page)
			items = append(items, some...)
		}
		if err != nil || len(items) != rows-2 || eventual.Fired() != 0 {
			t.Fatalf("read %d items, %v, %d eventually consistent", len(items), err, eventual.Fired())
		}
		for i, item := range items {
			if row := queue.DecodeRow(q.Items, item); row.Ticket != ticket.FromUint64(uint64(i+1)) {
				t.Errorf("item %d is of ticket %s", i, row.Ticket)
			}
		}
		if sent := tb.Counts().Sub(before)["Query"].Sent; sent < 3 {
			t.Errorf("%d queries were sent", sent)
		}
	})
}

// TestCreateFails checks that Create ends with its context and reports failures.
func TestCreateFails(t *testing.T) {
	for _, operation := range []string{"CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive"} {
		locktest.InTable(t, operation, func(t *testing.T, tb *queuelocktest.Table) {
			tb.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of(operation))
			if err := table.Create(t.Context(), tb.Client("c"), layout); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
				t.Errorf("got %v", err)
			}
		}, queuelocktest.WithoutTable())
	}
	locktest.InTable(t, "never active", func(t *testing.T, tb *queuelocktest.Table) {
		tb.Inject(queuelocktest.Refuse("ResourceNotFoundException").Of("DescribeTable"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		locktest.Is(t, table.Create(ctx, tb.Client("c"), layout), context.DeadlineExceeded)
	}, queuelocktest.WithoutTable())
}

// TestContextsEnd checks that the context of a request ends with it: after an answer, after a failure, and if the SDK client
// panics.
func TestContextsEnd(t *testing.T) {
	for name, with := range map[string]struct {
		fault  *queuelocktest.Fault
		panics bool
	}{"answered": {}, "failed": {fault: new(queuelocktest.Refuse(queuelocktest.AccessDenied))}, "panicked": {panics: true}} {
		locktest.InTable(t, name, func(t *testing.T, tb *queuelocktest.Table) {
			var last context.Context
			watch := func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (middleware.InitializeOutput, middleware.Metadata, error) {
				if last = ctx; with.panics {
					panic("out of order")
				}
				return next.HandleInitialize(ctx, in)
			}
			watched := func(o *dynamodb.Options) {
				o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
					return s.Initialize.Add(middleware.InitializeMiddlewareFunc("watch", watch), middleware.Before)
				})
			}
			q := queueOn(tb.Client("c", watched))
			if with.fault != nil {
				tb.Inject(*with.fault)
			}
			all := calls(q)
			all["Scan"] = func(ctx context.Context) error {
				_, _, _, err := q.Scan(ctx, table.Page{Segments: 1})
				return err
			}
			all["TransactGetItems"] = func(ctx context.Context) error {
				_, err := q.TransactGet(ctx, []types.TransactGetItem{{Get: &types.Get{TableName: aws.String(tb.Name()), Key: q.RecordKey()}}})
				return err
			}
			all["TransactWriteItems"] = func(ctx context.Context) error {
				return q.Transact(ctx, "token", []types.TransactWriteItem{{Delete: &types.Delete{TableName: aws.String(tb.Name()), Key: q.RecordKey()}}})
			}
			all["Date"] = queueOn(tb.Client("d", watched)).Date
			for operation, call := range all {
				last = nil
				func() {
					defer func() {
						if (recover() != nil) != with.panics {
							t.Errorf("%s: it panicked: %t", operation, !with.panics)
						}
					}()
					_ = call(t.Context())
				}()
				if last == nil || last.Err() == nil {
					t.Errorf("%s: its context has not ended", operation)
				}
			}
		})
	}
}
