package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/turns"
	"github.com/queuelock/queuelock/test/chaos/ledger"
)

const (
	// question is how often a turn's work asks whether the lock is held.
	question = 5 * time.Millisecond
	// readLimit and writeLimit bound a request of the worker's own, and a
	// protected write with its repetitions.
	readLimit  = 600 * time.Millisecond
	writeLimit = 3 * time.Second
	// staleTries is how often a write that must be refused is sent again when no answer
	// shows its outcome.
	staleTries = 4
	// failedCheck is the reason of an item whose condition was false.
	failedCheck = "ConditionalCheckFailed"
)

// turn is a turn under way.
type turn struct {
	*worker
	lock   *queuelock.Lock
	entity string
	token  uint64
	ledger ledger.Ledger
	sent   bool // a write of the turn's row was sent

	believed, doubted turns.Instant
	loss              error
}

// turn takes a turn and releases the lock.
func (w *worker) turn(ctx context.Context, lock *queuelock.Lock, entity string) error {
	t := &turn{worker: w, lock: lock, entity: entity, token: number(lock), ledger: ledger.Ledger{Table: w.Table, Entity: entity}}
	at := turns.Now()
	t.ask()
	t.post.Report(turns.Record{Kind: turns.Granted, At: at, Entity: entity, Ticket: t.lock.Ticket(), Believed: t.believed, Doubted: t.doubted})
	t.take(ctx)
	ended := turns.Record{Kind: turns.Ended, Entity: entity, Ticket: t.lock.Ticket(), Believed: t.believed, Doubted: t.doubted}
	if t.loss != nil {
		ended.Error = t.loss.Error()
	}
	t.post.Report(ended)
	released := turns.Record{Kind: turns.Released, Entity: entity, Ticket: t.lock.Ticket()}
	if err := lock.Release(context.WithoutCancel(ctx)); err != nil {
		released.Error, released.Odd = err.Error(), !errors.Is(err, queuelock.ErrLost) && odd(err)
	}
	t.post.Report(released)
	return nil
}

// take is what a turn does while it holds the lock.
func (t *turn) take(ctx context.Context) {
	read, known := t.read(ctx)
	work := time.NewTimer(t.LongestTurn/20 + t.upTo(t.LongestTurn-t.LongestTurn/20))
	defer work.Stop()
	look := time.NewTicker(question)
	defer look.Stop()
	for working := true; working && (t.Unfenced || t.ask()); {
		select {
		case <-look.C:
		case <-work.C:
			working = false
		case <-ctx.Done():
			working = false
		}
	}
	ctx = context.WithoutCancel(ctx)
	switch {
	case t.Unfenced:
		if known {
			t.bare(ctx, read)
		}
		return
	case known && t.ask():
		t.write(ctx, read)
	}
	if t.ask() {
		return
	}
	// The lock is lost, and says so. Transact must know it as well. A program
	// that had not asked would send its write now.
	if err := t.lock.Transact(ctx, t.ledger.Probe(rand.Text(), t.token, t.Name)...); !errors.Is(err, queuelock.ErrLost) {
		t.post.Report(turns.Record{Kind: turns.Wrote, Entity: t.entity, Ticket: t.lock.Ticket(), Error: fmt.Sprintf("Transact of a lost lock: %v", err), Odd: true})
	}
	for range staleTries {
		if t.stale(ctx, read, known) != turns.Unknown {
			return
		}
	}
}

// ask asks the lock whether it is held, as work under its context does. The instant is
// read before: the lock is held then, if it says so.
func (t *turn) ask() bool {
	at := turns.Now()
	err := t.lock.Context().Err()
	switch {
	case err == nil:
		t.believed = at
		return true
	case t.doubted == 0:
		t.doubted, t.loss = at, context.Cause(t.lock.Context())
	}
	return false
}

// read reads the ledger's head. A turn that cannot read does not write.
func (t *turn) read(ctx context.Context) (ledger.Head, bool) {
	for range 3 {
		bounded, cancel := context.WithTimeout(ctx, readLimit)
		head, err := t.ledger.Read(bounded, t.db)
		cancel()
		if err == nil {
			return head, true
		}
		if odd(err) {
			t.post.Report(turns.Record{Kind: turns.Wrote, Entity: t.entity, Ticket: t.lock.Ticket(), Error: "read the ledger: " + err.Error(), Odd: true})
		}
		if ctx.Err() != nil || !t.Unfenced && !t.ask() {
			break
		}
	}
	return ledger.Head{}, false
}

// write writes the turn, in the way that users of locks should.
func (t *turn) write(ctx context.Context, read ledger.Head) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	w := t.writing(turns.Write{Seq: read.N + 1})
	err := t.lock.Transact(ctx, t.ledger.Turn(w.ID, read, t.token, t.Name)...)
	w.Outcome = turns.Unknown
	switch err.(type) { // not wrapped: beside another error it does not say that nothing was written
	case nil:
		w.Outcome = turns.Applied
	case *queuelock.LostError:
		w.Outcome = turns.Refused
	}
	t.wrote(w, err)
}

// stale sends a write under the fence of a lock that is known to be lost, past
// the library, which would refuse it unsent. It is the turn's row where none
// was sent yet, so that it would spoil the ledger.
func (t *turn) stale(ctx context.Context, read ledger.Head, known bool) turns.Outcome {
	w := turns.Write{Stale: true, Probe: t.sent || !known, Seq: read.N + 1}
	if w.Probe {
		w.Seq = 0
	}
	w = t.writing(w)
	items := t.ledger.Probe(w.ID, t.token, t.Name)
	if !w.Probe {
		items = t.ledger.Turn(w.ID, read, t.token, t.Name)
	}
	check := t.lock.Condition()
	err := t.once(ctx, append(items, types.TransactWriteItem{ConditionCheck: &check}))
	w.Outcome = turns.Unknown
	if err == nil {
		w.Outcome = turns.Applied
	} else if canceled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		if n := len(canceled.CancellationReasons); n > 0 && aws.ToString(canceled.CancellationReasons[n-1].Code) == failedCheck {
			w.Outcome = turns.Refused
		}
	}
	t.wrote(w, err)
	return w.Outcome
}

// bare is the planted mistake: the turn's write without the fence.
func (t *turn) bare(ctx context.Context, read ledger.Head) {
	w := t.writing(turns.Write{Bare: true, Seq: read.N + 1})
	err := t.once(ctx, t.ledger.Turn(w.ID, read, t.token, t.Name))
	w.Outcome = turns.Unknown
	if err == nil {
		w.Outcome = turns.Applied
	}
	t.wrote(w, err)
}

// once sends a transaction without repetitions, so that a refusal is final.
func (t *turn) once(ctx context.Context, items []types.TransactWriteItem) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	_, err := t.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(rand.Text()), TransactItems: items,
	}, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	return err
}

func (t *turn) writing(w turns.Write) turns.Write {
	w.ID = rand.Text()
	t.sent = t.sent || !w.Probe
	t.post.Report(turns.Record{Kind: turns.Writing, Entity: t.entity, Ticket: t.lock.Ticket(), Write: &w})
	return w
}

func (t *turn) wrote(w turns.Write, err error) {
	r := turns.Record{Kind: turns.Wrote, Entity: t.entity, Ticket: t.lock.Ticket(), Write: &w}
	if err != nil {
		r.Error, r.Odd = err.Error(), odd(err)
	}
	t.post.Report(r)
}
