package serving

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/table"
)

// ErrRefused reports that the condition of a write was false. The record that refused
// it is returned too. Look for the caller's own id in it first.
var ErrRefused = errors.New("refused by the serving record")

// Entry is what a grant writes for its holder.
type Entry struct {
	ID    string
	Owner string
	Mode  Mode
	Since time.Time // on DynamoDB's clock; zero if unknown
	Lease lease.Lease
	Data  []byte // for display; left out if empty
}

func (e Entry) item() table.Item {
	item := table.Item{table.AttrOwner: table.String(e.Owner)}
	e.Lease.Fill(item)
	table.SetTime(item, table.AttrSince, e.Since)
	if e.Mode.Shared {
		item[table.AttrMode] = table.String(ModeShared)
	}
	if len(e.Data) > 0 {
		item[table.AttrData] = &types.AttributeValueMemberB{Value: e.Data}
	}
	return item
}

// Get reads the record consistently.
func Get(ctx context.Context, q table.Queue) (Record, error) {
	item, err := q.Record().Get(ctx, q.RecordKey())
	if err != nil {
		return Record{}, err
	}
	return Decode(q, item)
}

// write sends one conditional update of the record. It returns the record as it is
// afterwards, or the record that refused the update.
func write(ctx context.Context, q table.Queue, update expression.UpdateBuilder, condition expression.ConditionBuilder, opts ...table.Option) (Record, error) {
	item, err := q.Record().Update(ctx, q.RecordKey(), update, condition, opts...)
	return written(ctx, q, item, err)
}

// written returns the record that a write has returned, or that refused it. A write
// that was applied succeeds even if the rest of the record is malformed.
func written(ctx context.Context, q table.Queue, item table.Item, err error) (Record, error) {
	if refused, ok := errors.AsType[*table.Refused](err); ok {
		item, err := refused.Read(ctx)
		if err != nil {
			return Record{}, err
		}
		rec, err := Decode(q, item)
		if err != nil {
			return Record{}, table.NotApplied(err)
		}
		return rec, ErrRefused
	} else if err != nil {
		return Record{}, err
	}
	rec, problem := Decode(q, item)
	if problem != nil {
		return Record{Exists: true, Item: homeItem(q, item), Problem: problem}, nil
	}
	return rec, nil
}

// grant is write for a request that puts an entry into the record. The caller must be
// able to read what was granted, so a malformed record is an error.
func grant(ctx context.Context, q table.Queue, update expression.UpdateBuilder, condition expression.ConditionBuilder) (Record, error) {
	rec, err := write(ctx, q, update, condition, table.Once())
	if err == nil && rec.Problem != nil {
		return Record{}, rec.Problem
	}
	return rec, err
}
