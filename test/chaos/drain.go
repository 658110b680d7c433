package chaos

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/test/chaos/ledger"
	"github.com/queuelock/queuelock/waitpolicy"
)

// slack is by how much a take-over may exceed the lease: the next in line looks
// up to a second apart, and DynamoDB's clock is known to a second at the worst.
const slack = 1500 * time.Millisecond

// drain looks at what is left in the table once all workers have gone: a
// newcomer must be served, and must be able to clean up, within a lease.
func (r *run) drain(ctx context.Context) error {
	if err := r.proxy.net.Settle(ctx); err != nil {
		return err
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	// Its own leases are of the usual length, and so is the time that its requests
	// have: with the workers' a busy machine would fail the run.
	newcomer, err := queuelock.New(client(r.proxy.url, transport), tableName, queuelock.Config{Owner: "newcomer"})
	if err != nil {
		return err
	}
	for _, entity := range r.History.Entities {
		// What the last duplicates have left may have a whole lease, and a
		// holder without an end is watched for one.
		wait := waitpolicy.For(r.History.TTL + slack)
		if err := newcomer.Do(ctx, queuelock.Key{Entity: entity}, wait, func(context.Context, *queuelock.Lock) error { return nil }); err != nil {
			r.Orphans = append(r.Orphans, fmt.Sprintf("%s: a newcomer was not served: %v", entity, err))
		}
	}
	deadline := time.Now().Add(max(r.History.TTL, r.WaiterTTL) + slack)
	for _, entity := range r.History.Entities {
		left, err := r.sweep(ctx, newcomer, entity, deadline)
		if err != nil {
			return err
		}
		for _, what := range left {
			r.Orphans = append(r.Orphans, entity+": "+what)
		}
	}
	if err := newcomer.Close(ctx); err != nil {
		return err
	}
	r.Ledgers = map[string]ledger.Contents{}
	for _, entity := range r.History.Entities {
		contents, err := ledger.Ledger{Table: tableName, Entity: entity}.ReadAll(ctx, r.engine.db)
		if err != nil {
			return err
		}
		r.Ledgers[entity] = contents
	}
	return nil
}

// sweep cleans a queue up until nothing is left but the record, or time is over. It returns what is left.
func (r *run) sweep(ctx context.Context, newcomer *queuelock.Client, entity string, deadline time.Time) (left []string, err error) {
	for key := (queuelock.Key{Entity: entity}); ; time.Sleep(50 * time.Millisecond) {
		if _, err := newcomer.Operator().Sweep(ctx, key); err != nil {
			return nil, err
		}
		state, err := newcomer.Viewer().Inspect(ctx, key)
		if err != nil {
			return nil, err
		}
		if len(state.Serving)+len(state.Waiting) > 0 && time.Now().Before(deadline) {
			continue
		}
		for _, h := range state.Serving {
			left = append(left, fmt.Sprintf("a holder is left: %+v", h))
		}
		for _, w := range state.Waiting {
			left = append(left, fmt.Sprintf("a row is left: %+v", w))
		}
		return left, nil
	}
}
