package requests

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/machine"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// ErrRefused reports that the condition of a write was false. The record that refused
// it is returned too. Look for the caller's own id in it first.
var ErrRefused = errors.New("refused by the serving record")

// ErrLost is the ErrRefused of a write that will never be applied: the holder has lost the lock.
var ErrLost = fmt.Errorf("the lock is lost: %w", ErrRefused)

// ErrMade reports that a write was refused because what it does has been done: by an earlier attempt whose answer was
// lost, or by a later write of the same holder. The record is returned too.
var ErrMade = errors.New("made before, or outrun by a later write")

// Get reads the record consistently.
func Get(ctx context.Context, q table.Queue) (queue.Record, error) {
	sent := time.Now()
	item, err := q.Record().Get(ctx, q.RecordKey())
	if err != nil {
		return queue.Record{}, err
	}
	rec, err := queue.DecodeRecord(q.Items, item)
	return rec.Timed(sent, time.Now()), err
}

// Send sends a write of the record. It returns the record that it left or that refused it, what was learned of it, and
// the error unless it was applied.
func Send(ctx context.Context, q table.Queue, w clause.Write) (queue.Record, machine.Reply, error) {
	sent := time.Now()
	item, err := q.Record().Update(ctx, q.RecordKey(), q.Record().Express(w, q.Names()), false)
	rec, err := written(q, item, err)
	return rec.Timed(sent, time.Now()), ReplyOf(err), err
}

// SendBlind is Send for a write after which the record is not needed.
func SendBlind(ctx context.Context, q table.Queue, w clause.Write) (queue.Record, machine.Reply, error) {
	_, err := q.Record().Update(ctx, q.RecordKey(), q.Record().Express(w, q.Names()), true)
	if err == nil {
		return queue.Record{}, machine.ReplyApplied, nil
	}
	rec, err := written(q, nil, err)
	return rec, ReplyOf(err), err
}

// SendWith is Send for a write of a record on a user's item, and the user's own update of that item, on both
// conditions. users has an update, and may have a condition.
func SendWith(
	ctx context.Context, q table.Queue, w clause.Write, users expression.Expression,
) (queue.Record, machine.Reply, error) {
	sent := time.Now()
	item, err := q.Record().Update(ctx, q.RecordKey(), table.Join(q.Record().Express(w, q.Names()), users), false)
	rec, err := written(q, item, err)
	return rec.Timed(sent, time.Now()), ReplyOf(err), err
}

// ReplyOf returns what the error of a request says about it.
func ReplyOf(err error) machine.Reply {
	switch {
	case err == nil:
		return machine.ReplyApplied
	case errors.Is(err, ErrMade):
		return machine.ReplyMade
	case errors.Is(err, ErrLost):
		return machine.ReplyRefusedForGood
	case errors.Is(err, ErrRefused):
		return machine.ReplyRefused
	case table.Contradicted(err):
		return machine.ReplyContradicted
	case table.Applied(err):
		return machine.ReplyUnknown
	}
	return machine.ReplyFailed
}

// written returns the record that a write has returned, or that refused it. A write
// that was applied succeeds even if the rest of the record is malformed.
func written(q table.Queue, item clause.Item, err error) (queue.Record, error) {
	refused, wasRefused := errors.AsType[*table.Refused](err)
	if wasRefused {
		item, err = refused.Item, nil
	}
	if err != nil {
		return queue.Record{}, err
	}
	rec, problem := queue.DecodeRecord(q.Items, item)
	switch {
	case wasRefused && problem != nil:
		return queue.Record{}, table.NotApplied(problem)
	case wasRefused && refused.Means == clause.Made:
		return rec, ErrMade
	case wasRefused && refused.Means == clause.Lost:
		return rec, ErrLost
	case wasRefused:
		return rec, ErrRefused
	case problem != nil:
		return queue.Record{Exists: true, Item: rec.Item, Problem: problem}, nil
	}
	return rec, nil
}
