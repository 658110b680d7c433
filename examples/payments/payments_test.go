package payments_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/examples/payments"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

const paymentsTable = "payments"

// world is a DynamoDB with the table of payments and that of locks, a gateway, and an intent of 100.
type world struct {
	t       *testing.T
	table   *queuelocktest.Table
	gateway *gateway
}

// process is one of many hosts, with a network of its own.
type process struct {
	net         *queuelocktest.Client
	store       payments.Store
	pessimistic *payments.Pessimistic
	optimistic  *payments.Optimistic
}

func newWorld(t *testing.T) *world {
	w := &world{t, queuelocktest.NewTable(t, queuelocktest.WithLatency(2*time.Millisecond)), &gateway{charges: map[string]payments.Outcome{}}}
	attribute := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS}
	}
	p := w.process("the first")
	if _, err := p.net.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String(paymentsTable), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("pk"), attribute("sk")},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Create(t.Context(), "7", 100); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) process(name string) *process {
	w.t.Helper()
	net := w.table.Client(name)
	locks, err := queuelock.New(net, w.table.Name(), queuelock.Config{Owner: name})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = locks.Close(context.Background()) }) // fails for a partitioned process
	p := &process{net: net, store: payments.Store{DB: net.Client, Table: paymentsTable}}
	p.pessimistic = &payments.Pessimistic{Store: p.store, Gateway: w.gateway, Locks: locks, Wait: waitpolicy.Forever}
	if p.optimistic, err = payments.NewOptimistic(p.store, w.gateway); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// charge is the whole way of each kind: of the optimistic one, the request and a pass of the worker.
var charge = map[string]func(*process, context.Context) (payments.Intent, error){
	"pessimistic": func(p *process, ctx context.Context) (payments.Intent, error) { return p.pessimistic.Charge(ctx, "7") },
	"optimistic": func(p *process, ctx context.Context) (payments.Intent, error) {
		if _, err := p.optimistic.RequestCharge(ctx, "7"); err != nil {
			return payments.Intent{}, err
		}
		if _, err := p.optimistic.Work(ctx); err != nil {
			return payments.Intent{}, err
		}
		return p.store.Load(ctx, "7")
	},
}

var changeAmount = map[string]func(*process, context.Context, int64) (payments.Intent, error){
	"pessimistic": func(p *process, ctx context.Context, amount int64) (payments.Intent, error) {
		return p.pessimistic.ChangeAmount(ctx, "7", amount)
	},
	"optimistic": func(p *process, ctx context.Context, amount int64) (payments.Intent, error) {
		return p.optimistic.ChangeAmount(ctx, "7", amount)
	},
}

// both runs a test of each kind, in a bubble of its own.
func both(t *testing.T, f func(t *testing.T, kind string, w *world)) {
	for kind := range charge {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, kind, newWorld(t)) })
		})
	}
}

// settled checks the intent, and that the gateway has taken that amount, once.
func (w *world) settled(want int64) {
	w.t.Helper()
	intent, err := w.process("at the end").store.Load(w.t.Context(), "7")
	if err != nil {
		w.t.Fatal(err)
	}
	if intent.State != payments.Charged || intent.Amount != want || intent.Charge == "" {
		w.t.Errorf("the intent is %+v, want %d charged", intent, want)
	}
	if times, taken := w.gateway.taken(); times != 1 || taken != want {
		w.t.Errorf("the gateway took %d in %d charges, want %d in one", taken, times, want)
	}
}

// gateway takes the money when a request arrives, and answers later.
type gateway struct {
	latency time.Duration
	arrives func(call int)                      // if not nil, before the money is taken
	taking  func(ctx context.Context, call int) // if not nil, after it was taken, and before the answer
	decline string

	mu      sync.Mutex
	calls   int
	charges map[string]payments.Outcome // by key
}

func (g *gateway) Charge(ctx context.Context, key string, amount int64) (payments.Outcome, error) {
	g.mu.Lock()
	g.calls++
	call := g.calls
	g.mu.Unlock()
	if g.arrives != nil {
		g.arrives(call)
	}
	outcome, err := g.take(key, amount)
	if g.taking != nil {
		g.taking(ctx, call)
	}
	select {
	case <-time.After(g.latency):
		return outcome, err
	case <-ctx.Done():
		return payments.Outcome{}, ctx.Err() // the money was taken all the same
	}
}

func (g *gateway) take(key string, amount int64) (payments.Outcome, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if earlier, ok := g.charges[key]; ok {
		if earlier.Amount != amount {
			return payments.Outcome{}, payments.ErrKeyUsed
		}
		return earlier, nil
	}
	g.charges[key] = payments.Outcome{Charge: fmt.Sprint("ch_", len(g.charges)+1), Amount: amount, Declined: g.decline}
	return g.charges[key], nil
}

func (g *gateway) Find(_ context.Context, key string) (payments.Outcome, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	outcome, ok := g.charges[key]
	return outcome, ok, nil
}

// taken is in how many charges it took how much.
func (g *gateway) taken() (charges int, sum int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.charges {
		if c.Declined == "" {
			charges++
			sum += c.Amount
		}
	}
	return charges, sum
}

// TestTwoCharges checks that two concurrent charges call the gateway once.
func TestTwoCharges(t *testing.T) {
	both(t, func(t *testing.T, kind string, w *world) {
		w.gateway.latency = 30 * time.Second
		var wg sync.WaitGroup
		for _, p := range []*process{w.process("a"), w.process("b")} {
			ask, want := p.pessimistic.Charge, payments.Charged
			if kind == "optimistic" {
				ask, want = p.optimistic.RequestCharge, payments.ChargeRequested
			}
			wg.Go(func() {
				if intent, err := ask(t.Context(), "7"); err != nil || intent.State != want {
					t.Errorf("%+v: %v", intent, err)
				}
			})
		}
		wg.Wait()
		if kind == "optimistic" {
			worker := w.process("worker")
			for _, want := range []int{1, 0} {
				if n, err := worker.optimistic.Work(t.Context()); n != want || err != nil {
					t.Errorf("a pass settled %d: %v, want %d", n, err, want)
				}
			}
		}
		w.settled(100)
		if w.gateway.calls != 1 {
			t.Errorf("the gateway was called %d times", w.gateway.calls)
		}
	})
}

// TestCrashDuringCharge checks that a crash during a charge is recovered from without a second charge. The process
// crashes after the money was taken and before anything is written.
func TestCrashDuringCharge(t *testing.T) {
	both(t, func(t *testing.T, kind string, w *world) {
		a, b := w.process("a"), w.process("b")
		w.gateway.taking = func(ctx context.Context, call int) { a.net.Partition() }
		ctx, die := context.WithCancel(t.Context())
		w.gateway.latency = time.Second
		go func() {
			<-time.After(500 * time.Millisecond)
			die()
		}()
		if intent, err := charge[kind](a, ctx); err == nil {
			t.Fatalf("a crashed process returns %+v", intent)
		}
		if intent, err := b.store.Load(t.Context(), "7"); err != nil || intent.State == payments.Charged {
			t.Fatalf("%+v: %v", intent, err)
		}

		begun := time.Now()
		intent, err := charge[kind](b, t.Context())
		if err != nil || intent.State != payments.Charged {
			t.Fatalf("%+v: %v", intent, err)
		}
		if took := time.Since(begun); took > 65*time.Second || kind == "optimistic" && took > time.Second {
			t.Errorf("the recovery took %v", took)
		}
		w.settled(100)
		if w.gateway.calls != 1 {
			t.Errorf("the gateway was called %d times to charge", w.gateway.calls)
		}
	})
}

// TestAmountAfterLostRecord checks that an amount is not changed after a charge whose
// record was lost. The next process wants to change the amount.
func TestAmountAfterLostRecord(t *testing.T) {
	both(t, func(t *testing.T, kind string, w *world) {
		a, b := w.process("a"), w.process("b")
		w.gateway.taking = func(context.Context, int) { a.net.Partition() }
		if intent, err := charge[kind](a, t.Context()); err == nil {
			t.Fatalf("a partitioned process returns %+v", intent)
		}
		if intent, err := changeAmount[kind](b, t.Context(), 200); !errors.Is(err, payments.ErrTooLate) {
			t.Errorf("%+v: %v, want that it is too late", intent, err)
		}
		if _, err := charge[kind](b, t.Context()); err != nil {
			t.Error(err)
		}
		w.settled(100)
	})
}

// TestLateCharge checks that a late charge is recorded with the amount that was taken. The limit of a lock: a process
// is paused right before it calls the gateway. When it wakes, another process has the lock and has changed the amount.
func TestLateCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.process("a"), w.process("b")
		stopped, wake := make(chan struct{}), make(chan struct{})
		w.gateway.arrives = func(call int) {
			if call == 1 {
				close(stopped)
				<-wake
			}
		}
		done := make(chan error)
		go func() {
			_, err := a.pessimistic.Charge(t.Context(), "7")
			done <- err
		}()
		<-stopped
		a.net.Partition() // its heartbeats stop as well
		if _, err := b.pessimistic.ChangeAmount(t.Context(), "7", 200); err != nil {
			t.Fatal(err)
		}
		close(wake)
		a.net.Heal()
		if err := <-done; err == nil {
			t.Error("a charge without the lock has succeeded")
		}
		intent, err := b.pessimistic.Charge(t.Context(), "7")
		if !errors.Is(err, payments.ErrOtherAmount) || intent.Amount != 100 {
			t.Errorf("%+v: %v, want that 100 were taken", intent, err)
		}
		w.settled(100)
	})
}

func TestDeclinedCard(t *testing.T) {
	both(t, func(t *testing.T, kind string, w *world) {
		w.gateway.decline = "no funds"
		p := w.process("a")
		for range 2 {
			intent, err := charge[kind](p, t.Context())
			if err != nil || intent.State != payments.ChargeFailed || intent.Reason != "no funds" {
				t.Errorf("%+v: %v", intent, err)
			}
		}
		if _, err := changeAmount[kind](p, t.Context(), 200); !errors.Is(err, payments.ErrTooLate) {
			t.Errorf("%v, want that it is too late", err)
		}
		if w.gateway.calls != 1 {
			t.Errorf("the gateway was called %d times", w.gateway.calls)
		}
	})
}

// TestChargedAmount checks that the charged amount is that of the intent. Charges and
// changes by many, over a network that loses requests and answers.
func TestChargedAmount(t *testing.T) {
	for seed := range uint64(5) {
		both(t, func(t *testing.T, kind string, w *world) {
			w.gateway.latency = 300 * time.Millisecond
			faults := []*queuelocktest.Injection{
				w.table.Inject(queuelocktest.LoseResponse().WithProbability(0.1, 3*seed)),
				w.table.Inject(queuelocktest.LoseRequest().WithProbability(0.1, 3*seed+1)),
				w.table.Inject(queuelocktest.Duplicate(50*time.Millisecond).WithProbability(0.1, 3*seed+2)),
			}
			var wg sync.WaitGroup
			for n := range 8 {
				p := w.process(fmt.Sprint("process-", n))
				wg.Go(func() {
					time.Sleep(time.Duration(n) * 10 * time.Millisecond)
					for err := errors.New("not yet"); err != nil && !errors.Is(err, payments.ErrTooLate); {
						if n%2 == 0 {
							_, err = changeAmount[kind](p, t.Context(), int64(200+n))
						} else {
							_, err = charge[kind](p, t.Context())
						}
					}
				})
			}
			wg.Wait()
			for _, fault := range faults {
				fault.Remove()
			}
			if err := w.table.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			intent, err := w.process("after it").store.Load(t.Context(), "7")
			if err != nil {
				t.Fatal(err)
			}
			w.settled(intent.Amount)
		})
	}
}

// Without failures and without waiters.
func TestRequestsOfACharge(t *testing.T) {
	for kind, want := range map[string]struct {
		requests int
		writes   float64
	}{
		"pessimistic": {2, 2},     // a locking read; an update that releases
		"optimistic":  {2 + 4, 8}, // a read, a transaction of two; a query, two reads, a transaction of two
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				p := w.process("a")
				if _, err := changeAmount[kind](p, t.Context(), 200); err != nil { // the first use costs more
					t.Fatal(err)
				}
				load := 0
				if kind == "optimistic" {
					load = 1 // charge looks at the outcome
				}
				before := w.table.Counts()
				if _, err := charge[kind](p, t.Context()); err != nil {
					t.Fatal(err)
				}
				spent := w.table.Counts().Sub(before).Total()
				if spent.Sent-load != want.requests || spent.WriteUnits != want.writes {
					t.Errorf("a charge took %d requests and %g write units, want %d and %g", spent.Sent-load, spent.WriteUnits, want.requests, want.writes)
				}
				w.settled(200)
			})
		})
	}
}

func TestMissingIntent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newWorld(t).process("a")
		_, charged := p.pessimistic.Charge(t.Context(), "8")
		_, requested := p.optimistic.RequestCharge(t.Context(), "8")
		for _, err := range []error{charged, requested} {
			if !errors.Is(err, payments.ErrNotFound) {
				t.Error(err)
			}
		}
	})
}
