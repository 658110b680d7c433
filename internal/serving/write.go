package serving

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// ErrRefused reports that the condition of a write was false. The record that refused
// it is returned too. Look for the caller's own id in it first.
var ErrRefused = errors.New("refused by the serving record")

// ErrLost is the ErrRefused of a write that will never be applied: the holder has lost the lock.
var ErrLost = fmt.Errorf("the lock is lost: %w", ErrRefused)

// ErrMade reports that a write was refused because what it does has been done: by an earlier attempt whose answer was
// lost, or by a later write of the same holder. The record is returned too.
var ErrMade = errors.New("made before, or outrun by a later write")

// Entry is what a grant writes for its holder.
type Entry struct {
	ID    string
	Owner string
	Mode  Mode
	Since time.Time // on DynamoDB's clock; zero if unknown
	Lease queue.Lease
	Data  []byte // for display; left out if empty
	Named bool   // a release of another client has granted it to a waiter by its row; the lease is the row's
}

func (e Entry) item() clause.Item {
	item := clause.Item{queue.AttrOwner: clause.String(e.Owner)}
	e.Lease.Fill(item)
	clause.SetTime(item, queue.AttrSince, e.Since)
	if e.Mode.Shared {
		item[queue.AttrMode] = clause.String(ModeShared)
	}
	if e.Named {
		item[queue.AttrNamed] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if len(e.Data) > 0 {
		item[queue.AttrData] = &types.AttributeValueMemberB{Value: e.Data}
	}
	return item
}

// claimed returns the entry with its ticket.
func (e Entry) claimed(t ticket.Number) types.AttributeValue {
	item := e.item()
	item[queue.AttrTicket] = t.Attribute()
	return clause.Map(item)
}

// Get reads the record consistently.
func Get(ctx context.Context, q table.Queue) (Record, error) {
	sent := time.Now()
	item, err := q.Record().Get(ctx, q.RecordKey())
	if err != nil {
		return Record{}, err
	}
	rec, err := Decode(q, item)
	return rec.Timed(sent), err
}

// send sends a write of the record.
func send(ctx context.Context, q table.Queue, w clause.Write) (Record, error) {
	return sendExpressions(ctx, q, q.Record().Express(w, q.Names()))
}

func sendExpressions(ctx context.Context, q table.Queue, e table.Expressions) (Record, error) {
	sent := time.Now()
	item, err := q.Record().Update(ctx, q.RecordKey(), e)
	rec, err := written(ctx, q, item, err)
	return rec.Timed(sent), err
}

// written returns the record that a write has returned, or that refused it. A write
// that was applied succeeds even if the rest of the record is malformed.
func written(ctx context.Context, q table.Queue, item clause.Item, err error) (Record, error) {
	refused, wasRefused := errors.AsType[*table.Refused](err)
	if wasRefused {
		item, err = refused.Item, nil
	}
	if err != nil {
		return Record{}, err
	}
	rec, problem := Decode(q, item)
	switch {
	case wasRefused && problem != nil:
		return Record{}, table.NotApplied(problem)
	case wasRefused && refused.Means == clause.Made:
		return rec, ErrMade
	case wasRefused && refused.Means == clause.Lost:
		return rec, ErrLost
	case wasRefused:
		return rec, ErrRefused
	case problem != nil:
		return Record{Exists: true, Item: rec.Item, Problem: problem}, nil
	}
	return rec, nil
}

// grant is send for a request that puts an entry into the record. The caller must be
// able to read what was granted, so a malformed record is an error.
func grant(ctx context.Context, q table.Queue, w clause.Write) (Record, error) {
	rec, err := send(ctx, q, w)
	if err == nil && rec.Problem != nil {
		return Record{}, rec.Problem
	}
	return rec, err
}
