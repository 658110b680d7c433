package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

const cleanLimit = 30 * time.Second

const handOvers = 5

// Deep verifies on scratch items what the library assumes of the engine, and then the
// library itself, and calls report with each result. Returns an error if scratch items
// could not be removed.
func Deep(ctx context.Context, s Subject, report func(Result)) error {
	s, throttled := s.counting()
	defer throttled.report(report)
	d := &deep{Subject: s, entity: scratchEntity + "/" + strings.ToLower(rand.Text()[:12])}
	form := func(condition string, refused bool) write {
		w := write{"conditions", "SET x = :x", condition, ":x=0 :one=1", "", refused}
		if !strings.Contains(condition, ":one") {
			w.values = ":x=0" // a value that no expression uses is an error
		}
		return w
	}
	count := func(want string) write {
		return write{"numbers", "SET n = if_not_exists(n, :n) + :one", "", ":n=99999999999999998 :one=1", want, false}
	}
	for _, check := range []struct {
		name   string
		run    func(context.Context) (string, error)
		advice string
	}{
		{"consistent reads", d.reads, "the library must not be used: a read must show each write that was answered before"},
		{"conditions", d.writes("6 forms",
			write{"conditions", "SET n = :n, m = :m", "attribute_not_exists(n)", ":n=1 :m=1", "", false},
			form("attribute_not_exists(n)", true),
			form("n = :one AND attribute_exists(m.a)", false),
			form("n > :one", true),
			form("size(m) = :one", false),
			form("size(m) > :one OR NOT attribute_exists(m.a)", true),
			form("attribute_not_exists(m.b) AND n <= :one", false),
		), "the library must not be used: a write whose condition is false must change nothing"},
		{"returned items", d.writes("ALL_NEW",
			write{"returned", "SET n = if_not_exists(n, if_not_exists(o, :z)) + :one, w = :one", "", ":z=4 :one=1", "n=5 w=1", false},
		), "the library does not work: a write must return its item (ReturnValues ALL_NEW)"},
		{"refusals", d.writes("they return the item",
			write{"refusals", "SET n = :n", "", ":n=5", "", false},
			write{"refusals", "SET n = :z", "n = :z", ":z=4", "n=5", true},
			write{"no refusals", "SET n = :z", "n = :z", ":z=4", none, true},
		), "the library does not work: a refused write must return the item that is there (ReturnValuesOnConditionCheckFailure), " +
			"as DynamoDB does since June 2023; update the local engine, or the proxy that removes it"},
		{"numbers", d.writes("exact above 10^17",
			count("n=99999999999999999"), count("n=100000000000000000"), count("n=100000000000000001"),
		), "the library must not be used: tickets need whole numbers of 17 digits"},
		{"queries", d.queries, "the library must not be used: rows must come in the order of their sort keys, on all pages"},
		{"transactions", d.transactions, "do not use Transact and Get"},
		{"locks", d.locks, "the library does not work on this table"},
		{"hand-over", d.handOver, "the library does not work on this table"},
		{"fencing", d.fencing, "the library must not be used for fenced writes"},
	} {
		found, err := check.run(ctx)
		if err != nil {
			report(Result{check.name, Failed, brief(err), check.advice})
			continue
		}
		report(Result{check.name, OK, found, ""})
	}
	return d.clean(ctx)
}

type deep struct {
	Subject
	entity string
}

func (d *deep) key(name string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		d.PartitionKey: &types.AttributeValueMemberS{Value: d.entity},
		d.SortKey:      &types.AttributeValueMemberS{Value: name},
	}
}

// write is an update of a scratch item, and what its answer must be.
type write struct {
	item, set, condition string
	values               string // "name=number …"; :m is a map with the number as "a"
	want                 string // of the item that is returned, likewise; empty: anything
	refused              bool   // the condition is false
}

// none is what a refused write returns where no item is.
const none = "none"

func number(n any) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

func equals(v types.AttributeValue, text string) bool {
	n, ok := v.(*types.AttributeValueMemberN)
	return ok && n.Value == text
}

// writes makes writes, and checks their answers.
func (d *deep) writes(found string, all ...write) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		for _, w := range all {
			if err := d.write(ctx, w); err != nil {
				return "", err
			}
		}
		return found, nil
	}
}

func (d *deep) write(ctx context.Context, w write) error {
	in := &dynamodb.UpdateItemInput{
		TableName: &d.Table, Key: d.key(w.item), UpdateExpression: &w.set, ExpressionAttributeValues: map[string]types.AttributeValue{},
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if w.condition != "" {
		in.ConditionExpression = &w.condition
	}
	for _, field := range strings.Fields(w.values) {
		name, value, _ := strings.Cut(field, "=")
		in.ExpressionAttributeValues[name] = number(value)
		if name == ":m" {
			in.ExpressionAttributeValues[name] = &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"a": number(value)}}
		}
	}
	var item map[string]types.AttributeValue
	out, err := d.DB.UpdateItem(ctx, in)
	failed, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case refused != w.refused && err == nil:
		return fmt.Errorf("%s is false, and the write was made", w.condition)
	case refused != w.refused || err != nil && !refused:
		return fmt.Errorf("%s: %w", cmp.Or(w.condition, w.set), err)
	case refused:
		item = failed.Item
	default:
		item = out.Attributes
	}
	if w.want == none && item != nil {
		return fmt.Errorf("a write without an item returned one of %d attributes", len(item))
	}
	for _, field := range strings.Fields(w.want) {
		if name, value, ok := strings.Cut(field, "="); ok && (!equals(item[name], value) || item[d.PartitionKey] == nil) {
			return fmt.Errorf("%s did not return the item with %s", cmp.Or(w.condition, w.set), field)
		}
	}
	return nil
}

func (d *deep) reads(ctx context.Context) (string, error) {
	const times = 20
	for i := range times {
		if err := d.write(ctx, write{item: "reads", set: "SET n = :n", values: fmt.Sprint(":n=", i)}); err != nil {
			return "", err
		}
		out, err := d.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &d.Table, Key: d.key("reads"), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return "", err
		}
		if !equals(out.Item["n"], fmt.Sprint(i)) {
			return "", fmt.Errorf("a consistent read after write %d did not show it", i)
		}
	}
	return fmt.Sprintf("%d of %d showed the write before", times, times), nil
}

// queries checks the order of rows, and that pages are complete.
func (d *deep) queries(ctx context.Context) (string, error) {
	const rows = 12
	for n := rows; n > 0; n-- {
		if err := d.write(ctx, write{item: fmt.Sprintf("row/%020d", n), set: "SET n = :n", values: fmt.Sprint(":n=", n)}); err != nil {
			return "", err
		}
	}
	between := expression.KeyAnd(expression.Key(d.PartitionKey).Equal(expression.Value(d.entity)),
		expression.Key(d.SortKey).Between(expression.Value("row/"+strings.Repeat("0", 20)), expression.Value(fmt.Sprintf("row/%020d", rows-1))))
	e, err := expression.NewBuilder().WithKeyCondition(between).Build()
	if err != nil {
		return "", err
	}
	pages := dynamodb.NewQueryPaginator(d.DB, &dynamodb.QueryInput{
		TableName: &d.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(5),
		KeyConditionExpression: e.KeyCondition(), ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
	})
	next, read := 1, 0
	for ; pages.HasMorePages(); read++ {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, item := range page.Items {
			if !equals(item["n"], fmt.Sprint(next)) {
				return "", fmt.Errorf("row %d is missing, or out of order", next)
			}
			next++
		}
	}
	if next != rows {
		return "", fmt.Errorf("%d rows of %d were read", next-1, rows-1)
	}
	return fmt.Sprintf("%d rows in order, on %d pages", rows-1, read), nil
}

// transactions checks tokens, cancellation reasons, and that all or nothing is written.
func (d *deep) transactions(ctx context.Context) (string, error) {
	token := strings.ToLower(rand.Text())
	write := func(token string, n int, condition string) error {
		update := &types.Update{
			TableName: &d.Table, Key: d.key("a"), UpdateExpression: aws.String("SET n = if_not_exists(n, :z) + :n"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":z": number(0), ":n": number(n)},
		}
		check := &types.Update{
			TableName: &d.Table, Key: d.key("b"), UpdateExpression: aws.String("SET n = :n"), ConditionExpression: &condition,
			ExpressionAttributeValues:           map[string]types.AttributeValue{":n": number(n)},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
		_, err := d.DB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			ClientRequestToken: &token, TransactItems: []types.TransactWriteItem{{Update: update}, {Update: check}},
		})
		return err
	}
	for range 2 { // the second with a token that was used: it changes nothing
		if err := write(token, 1, "attribute_not_exists(x)"); err != nil {
			return "", err
		}
	}
	err := write(token, 2, "attribute_not_exists(x)")
	if _, mismatch := errors.AsType[*types.IdempotentParameterMismatchException](err); !mismatch {
		return "", fmt.Errorf("a token that was used with other items was not refused: %v", err)
	}
	err = write(strings.ToLower(rand.Text()), 4, "attribute_exists(x)")
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(canceled.CancellationReasons) != 2 || aws.ToString(canceled.CancellationReasons[1].Code) != "ConditionalCheckFailed" {
		return "", fmt.Errorf("a false condition did not cancel the transaction with its reason: %v", err)
	}
	if !equals(canceled.CancellationReasons[1].Item["n"], "1") {
		return "", errors.New("a false condition did not return the item that is there")
	}
	out, err := d.DB.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: &d.Table, Key: d.key("a")}}, {Get: &types.Get{TableName: &d.Table, Key: d.key("b")}},
	}})
	if err != nil {
		return "", err
	}
	if len(out.Responses) != 2 || !equals(out.Responses[0].Item["n"], "1") || !equals(out.Responses[1].Item["n"], "1") {
		return "", errors.New("a transaction was applied twice, or in part")
	}
	return "tokens, reasons, all or nothing", nil
}

// client lets f use a client of the library and the scratch queue of that reason, and closes it.
func (d *deep) client(ctx context.Context, reason string, f func(*queuelock.Client, queuelock.Key) error) error {
	c, err := queuelock.New(d.DB, d.Table, queuelock.Config{
		Owner: "doctor", Attributes: queuelock.Attributes{PartitionKey: d.PartitionKey, SortKey: d.SortKey, TTL: d.Expiration},
	})
	if err != nil {
		return err
	}
	err = f(c, queuelock.Key{Entity: d.entity, Reason: reason})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	return errors.Join(err, c.Close(ctx))
}

func (d *deep) locks(ctx context.Context) (string, error) {
	modes := map[string][]queuelock.AcquireOption{
		"exclusive": nil, "shared": {queuelock.Shared()}, "permits": {queuelock.Permits(2)}, "delay": {queuelock.LockDelay(time.Second)},
		"closed": {queuelock.FailClosed()},
	}
	return fmt.Sprintf("%d modes", len(modes)), d.client(ctx, "", func(c *queuelock.Client, key queuelock.Key) error {
		for reason, opts := range modes {
			key.Reason = reason
			for range 2 { // the first use of a queue, and the next
				lock, err := c.Acquire(ctx, key, waitpolicy.NoWait, opts...)
				if err == nil {
					err = errors.Join(lock.SetData(ctx, []byte("doctor")), lock.Release(ctx))
				}
				if err != nil {
					return fmt.Errorf("%s: %w", reason, err)
				}
			}
		}
		return nil
	})
}

func (d *deep) handOver(ctx context.Context) (string, error) {
	var total time.Duration
	err := d.client(ctx, "hand-over", func(a *queuelock.Client, key queuelock.Key) error {
		return d.client(ctx, "hand-over", func(b *queuelock.Client, _ queuelock.Key) error {
			for range handOvers {
				took, err := once(ctx, a, b, key)
				if err != nil {
					return err
				}
				total += took
			}
			return nil
		})
	})
	return fmt.Sprintf("%d, of %v on average", handOvers, (total / handOvers).Round(10*time.Microsecond)), err
}

// once hands the lock from a to b, and returns the time from the release to the grant.
func once(ctx context.Context, a, b *queuelock.Client, key queuelock.Key) (time.Duration, error) {
	lock, err := a.Acquire(ctx, key, waitpolicy.For(cleanLimit))
	if err != nil {
		return 0, err
	}
	queued, served := make(chan struct{}), make(chan error, 1)
	enqueued := sync.OnceFunc(func() { close(queued) })
	var granted time.Time
	go func() {
		next, err := b.Acquire(ctx, key, waitpolicy.For(cleanLimit), queuelock.OnProgress(func(queuelock.Progress) { enqueued() }))
		granted = time.Now()
		if err == nil {
			err = next.Release(ctx)
			if !lock.Ticket().Less(next.Ticket()) {
				err = errors.Join(err, errors.New("a later holder has no higher ticket"))
			}
		}
		served <- err
	}()
	select {
	case <-queued:
	case err := <-served:
		return 0, errors.Join(fmt.Errorf("a waiter was served beside the holder, or failed: %v", err), lock.Release(ctx))
	}
	released := time.Now()
	if err := lock.Release(ctx); err != nil {
		return 0, err
	}
	err = <-served
	return max(0, granted.Sub(released)), err
}

func (d *deep) fencing(ctx context.Context) (string, error) {
	return "refused after the release", d.client(ctx, "fencing", func(c *queuelock.Client, key queuelock.Key) error {
		lock, err := c.Acquire(ctx, key, waitpolicy.NoWait)
		if err != nil {
			return err
		}
		condition := lock.Condition()
		fenced := func() error {
			put := &types.Put{TableName: &d.Table, Item: d.key("fenced")}
			_, err := d.DB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
				TransactItems: []types.TransactWriteItem{{ConditionCheck: &condition}, {Put: put}},
			})
			return err
		}
		before := fenced()
		if err := lock.Release(ctx); err != nil {
			return err
		}
		after := fenced()
		switch canceled, ok := errors.AsType[*types.TransactionCanceledException](after); {
		case before != nil:
			return fmt.Errorf("a fenced write was refused while the lock was held: %w", before)
		case after == nil:
			return errors.New("a fenced write was made after the release")
		case !ok || aws.ToString(canceled.CancellationReasons[0].Code) != "ConditionalCheckFailed":
			return after
		}
		return nil
	})
}

func (d *deep) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	pages := dynamodb.NewQueryPaginator(d.DB, d.items(d.entity))
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("the scratch items with the partition key %q are left: %w", d.entity, err)
		}
		for _, item := range page.Items {
			key := map[string]types.AttributeValue{d.PartitionKey: item[d.PartitionKey], d.SortKey: item[d.SortKey]}
			if _, err := d.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &d.Table, Key: key}); err != nil {
				return fmt.Errorf("scratch items with the partition key %q are left: %w", d.entity, err)
			}
		}
	}
	return nil
}
