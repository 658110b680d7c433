package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/workload/turns"
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
	*caller
	plan   plan
	lock   *queuelock.Lock
	entity string
	token  uint64
	ledger ledger.Ledger
	sent   bool // a write of the turn's row was sent

	believed, doubted turns.Instant
	loss              error
}

// plan is when a turn writes.
type plan int

const (
	writes     plan = iota // while it holds the lock
	writesNot              // never, unless it loses the lock
	writesLate             // after it has released the lock
)

// turn takes a turn and releases the lock.
func (c *caller) turn(ctx context.Context, lock *queuelock.Lock, entity string) {
	t := &turn{caller: c, lock: lock, entity: entity, token: number(lock), ledger: ledger.Ledger{Table: c.Table, Entity: entity}}
	switch n := c.random.IntN(10); {
	case n < 2:
		t.plan = writesNot
	case n < 4:
		t.plan = writesLate
	}
	at := turns.Now()
	t.ask()
	t.report(turns.Record{Kind: turns.Granted, At: at, Entity: entity, Ticket: t.lock.Ticket(), Believed: t.believed, Doubted: t.doubted})
	late := t.take(ctx)
	ended := turns.Record{Kind: turns.Ended, Entity: entity, Ticket: t.lock.Ticket(), Believed: t.believed, Doubted: t.doubted}
	if t.loss != nil {
		ended.Error = t.loss.Error()
	}
	t.report(ended)
	released := turns.Record{Kind: turns.Released, Entity: entity, Ticket: t.lock.Ticket()}
	ctx = context.WithoutCancel(ctx)
	if err := lock.Release(ctx); err != nil {
		released.Error, released.Odd = err.Error(), !errors.Is(err, queuelock.ErrLost) && odd(err)
	}
	released.Followed = followed(lock)
	t.report(released)
	if late != nil {
		late(ctx, released.Followed)
	}
}

// followed reports whether the release has begun a later turn of the block: then no
// lock has this one's handle.
func followed(lock *queuelock.Lock) bool { return strings.Trim(lock.Handle().ID, "0") == "" }

// take is what a turn does while it holds the lock. It returns what the turn does after
// the release, or nil.
func (t *turn) take(ctx context.Context) (late func(ctx context.Context, followed bool)) {
	read, known := t.read(ctx)
	work := time.NewTimer(t.LongestTurn/20 + t.upTo(t.LongestTurn-t.LongestTurn/20))
	defer work.Stop()
	look := time.NewTicker(question)
	defer look.Stop()
	for working := true; working && (t.Mistake == Unfenced || t.ask()); {
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
	case t.Mistake == Unfenced:
		if known {
			t.bare(ctx, turns.Write{}, read)
		}
		return nil
	case known && t.plan == writes && t.ask():
		t.write(ctx, read)
	case known && t.plan == writesLate && t.ask():
		late = t.late(read)
	}
	if t.ask() {
		return late
	}
	// The lock is lost, and says so. Transact must know it as well. A program
	// that had not asked would send its write now.
	if err := t.lock.Transact(ctx, t.ledger.Probe(rand.Text(), t.token, t.Name)...); !errors.Is(err, queuelock.ErrLost) {
		t.report(turns.Record{Kind: turns.Wrote, Entity: t.entity, Ticket: t.lock.Ticket(), Error: fmt.Sprintf("Transact of a lost lock: %v", err), Odd: true})
	}
	for range staleTries {
		if t.stale(ctx, read, known) != turns.Unknown {
			break
		}
	}
	return nil
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
			t.report(turns.Record{Kind: turns.Wrote, Entity: t.entity, Ticket: t.lock.Ticket(), Error: "read the ledger: " + err.Error(), Odd: true})
		}
		if ctx.Err() != nil || t.Mistake != Unfenced && !t.ask() {
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
	return t.fenced(ctx, w, read, t.lock.Condition())
}

// late returns what sends the turn's write after the release, with the fence that the lock
// had before. In a later turn of the same block it must be refused as well.
func (t *turn) late(read ledger.Head) func(context.Context, bool) {
	check := t.lock.Condition()
	return func(ctx context.Context, followed bool) {
		sleep(ctx, t.upTo(t.LongestTurn)) // so that a later turn is under way
		w := turns.Write{Late: true, Seq: read.N + 1}
		switch {
		case t.Mistake != Late:
			t.fenced(ctx, w, read, check)
		case followed:
			t.bare(ctx, w, read)
		}
	}
}

// fenced sends a write with a condition that the lock has returned.
func (t *turn) fenced(ctx context.Context, w turns.Write, read ledger.Head, check types.ConditionCheck) turns.Outcome {
	w = t.writing(w)
	items := t.ledger.Probe(w.ID, t.token, t.Name)
	if !w.Probe {
		items = t.ledger.Turn(w.ID, read, t.token, t.Name)
	}
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

// bare is a planted mistake: the turn's write without the fence.
func (t *turn) bare(ctx context.Context, w turns.Write, read ledger.Head) {
	w.Bare, w.Seq = true, read.N+1
	w = t.writing(w)
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
	t.report(turns.Record{Kind: turns.Writing, Entity: t.entity, Ticket: t.lock.Ticket(), Write: &w})
	return w
}

func (t *turn) wrote(w turns.Write, err error) {
	r := turns.Record{Kind: turns.Wrote, Entity: t.entity, Ticket: t.lock.Ticket(), Write: &w}
	if err != nil {
		r.Error, r.Odd = err.Error(), odd(err)
	}
	t.report(r)
}
