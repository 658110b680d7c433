package payments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/optimistic"
)

// Optimistic charges without a lock. The state CHARGE_REQUESTED keeps other changes
// away from the intent during the charge. Unlike a lock it needs no heartbeat and no
// lease, and stays after a crash.
type Optimistic struct {
	store   Store
	gateway Gateway
	intents *optimistic.Table
}

// NewOptimistic returns an Optimistic. It makes no request.
func NewOptimistic(store Store, gateway Gateway) (*Optimistic, error) {
	intents, err := optimistic.New(store.DB, store.Table, "pk", optimistic.Config{SortKey: "sk"})
	if err != nil {
		return nil, err
	}
	return &Optimistic{store, gateway, intents}, nil
}

// RequestCharge lets the worker charge the intent with its present amount. nil says
// that the request is in the table, by this call or an earlier one, and the intent says
// how far it has come. Calling it again is safe.
//
// It writes the intent and a row of the outbox in one transaction, so a crash leaves
// both or none. It costs two requests.
func (o *Optimistic) RequestCharge(ctx context.Context, id string) (Intent, error) {
	return o.change(ctx, id, func(i Intent) (Intent, []types.TransactWriteItem, error) {
		if i.State != Created {
			return i, nil, nil
		}
		i.State = ChargeRequested
		row := types.TransactWriteItem{Put: &types.Put{TableName: &o.store.Table, Item: outboxKey(id)}}
		return i, []types.TransactWriteItem{row}, nil
	})
}

// ChangeAmount changes the amount of an intent whose charge has not been
// requested. Two requests.
func (o *Optimistic) ChangeAmount(ctx context.Context, id string, amount int64) (Intent, error) {
	return o.change(ctx, id, func(i Intent) (Intent, []types.TransactWriteItem, error) {
		if i.State != Created {
			return i, nil, fmt.Errorf("%w: intent %s is %s", ErrTooLate, id, i.State)
		}
		i.Amount = amount
		return i, nil, nil
	})
}

// Work is one pass of the worker. It settles the rows of the outbox one after another,
// and returns how many. Failed rows remain for the next pass, and the error joins their
// errors. Call it in a loop, or for each event of the table's stream.
//
// Several workers may settle one row. The gateway takes the money once, because all of
// them use the intent's key.
func (o *Optimistic) Work(ctx context.Context) (settled int, err error) {
	rows := dynamodb.NewQueryPaginator(o.store.DB, &dynamodb.QueryInput{
		TableName: &o.store.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :outbox"),
		ExpressionAttributeValues: attributes{":outbox": text("outbox")},
	})
	var failed []error
	for rows.HasMorePages() {
		page, err := rows.NextPage(ctx)
		if err != nil {
			return settled, errors.Join(append(failed, err)...)
		}
		for _, row := range page.Items {
			id, _ := row["sk"].(*types.AttributeValueMemberS)
			if err := o.settle(ctx, id.Value); err != nil {
				failed = append(failed, fmt.Errorf("intent %s: %w", id.Value, err))
				continue
			}
			settled++
		}
	}
	return settled, errors.Join(failed...)
}

// settle charges one intent and writes the outcome.
func (o *Optimistic) settle(ctx context.Context, id string) error {
	intent, err := o.store.Load(ctx, id)
	if err != nil || intent.State != ChargeRequested {
		return err // another worker was first
	}
	// From here on no client changes the amount until it is settled.
	outcome, err := charge(ctx, o.gateway, intent)
	if err != nil {
		return err
	}
	_, err = o.change(ctx, id, func(i Intent) (Intent, []types.TransactWriteItem, error) {
		if i.State != ChargeRequested {
			return i, nil, nil
		}
		row := types.TransactWriteItem{Delete: &types.Delete{TableName: &o.store.Table, Key: outboxKey(id)}}
		return i.settled(outcome), []types.TransactWriteItem{row}, nil
	})
	return err
}

func outboxKey(id string) attributes { return attributes{"pk": text("outbox"), "sk": text(id)} }

// change loads an intent, and saves the result of decide together with the other items,
// all or none, only if no other client has saved the intent meanwhile. Otherwise it
// begins again. It writes nothing if decide changes nothing.
func (o *Optimistic) change(ctx context.Context, id string, decide func(Intent) (Intent, []types.TransactWriteItem, error)) (Intent, error) {
	const attempts = 10
	for n := 1; ; n++ {
		item, err := o.intents.Load(ctx, intentKey(id))
		if errors.Is(err, optimistic.ErrNotFound) {
			return Intent{}, fmt.Errorf("%w: %s", ErrNotFound, id)
		}
		if err != nil {
			return Intent{}, err
		}
		before, err := decode(item.Attributes)
		if err != nil {
			return Intent{}, err
		}
		after, others, err := decide(before)
		if err != nil || after == before {
			return after, err
		}
		item.Attributes = maps.Clone(item.Attributes)
		after.into(item.Attributes)
		save, saved, err := o.intents.SaveItem(item)
		if err != nil {
			return Intent{}, err
		}
		_, err = o.store.DB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: append([]types.TransactWriteItem{save}, others...),
		})
		var cancelled *types.TransactionCanceledException
		switch err = o.intents.Outcome(err, 0, saved); {
		case err == nil:
			return after, nil
		case !errors.As(err, &cancelled), n == attempts:
			return Intent{}, err
		}
		// Another client has saved it, or is about to.
		select {
		case <-time.After(time.Duration(n) * 20 * time.Millisecond):
		case <-ctx.Done():
			return Intent{}, errors.Join(ctx.Err(), err)
		}
	}
}
