package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// closeLimit bounds how long a worker waits for its last requests.
const closeLimit = 5 * time.Second

// worker is one process that takes turns.
type worker struct {
	Assignment
	witness *witness

	mu  sync.Mutex
	out *json.Encoder // guarded by mu
	err error         // guarded by mu; of the first record that could not be written
}

// Work is the life of a worker process: it reads its Assignment and the word to
// go from in, takes its turns, and writes Records to out. The parent's death
// closes in, and ends it. The error was reported as well.
func Work(ctx context.Context, db queuelock.DynamoDB, in io.Reader, out io.Writer) error {
	w := &worker{out: json.NewEncoder(out)}
	w.witness = &witness{db: db, report: w.report}
	err := w.work(ctx, in)
	if err != nil {
		w.report(Record{Kind: Failed, At: clock(), Error: err.Error()})
	}
	return err
}

// report writes a record; those of one process are in order.
func (w *worker) report(r Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Usage = w.witness.used()
	if err := w.out.Encode(r); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *worker) work(ctx context.Context, in io.Reader) (err error) {
	lines := bufio.NewReader(in)
	assignment, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(assignment, &w.Assignment)
	}
	if err != nil {
		return fmt.Errorf("read the assignment: %w", err)
	}
	client, err := queuelock.New(w.witness, w.Table, queuelock.Config{TTL: w.TTL, WaiterTTL: w.WaiterTTL, Owner: w.Owner})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		if err = errors.Join(err, client.Close(ctx)); err == nil {
			w.report(Record{Kind: Done, At: clock()})
		}
	}()
	w.report(Record{Kind: Ready, At: clock()})
	if _, err := lines.ReadString('\n'); err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		_, _ = lines.ReadByte() // nothing comes but the end
		cancel(errors.New("the demo has ended"))
	}()
	for round := w.First; round <= w.Last; round++ {
		if err := w.turn(ctx, client, round); err != nil {
			return err
		}
	}
	return nil
}

// turn is one round.
func (w *worker) turn(ctx context.Context, client *queuelock.Client, round int) error {
	w.report(Record{Kind: Asked, At: clock(), Round: round})
	lock, err := client.Acquire(ctx, queuelock.Key{Entity: w.Entity}, waitpolicy.Forever)
	if err != nil {
		return err
	}
	w.report(Record{Kind: Granted, At: clock(), Round: round, Ticket: lock.Ticket()})
	var over <-chan time.Time
	if round != w.Doomed {
		timer := time.NewTimer(w.Hold)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-lock.Done():
	case <-ctx.Done():
	}
	lost := lock.Err() != nil
	w.report(Record{Kind: Ended, At: clock(), Round: round, Ticket: lock.Ticket(), Lost: lost})
	if err := lock.Release(ctx); err != nil && !errors.Is(err, queuelock.ErrLost) {
		return err
	}
	w.report(Record{Kind: Released, At: clock(), Round: round, Ticket: lock.Ticket()})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
