package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// cleanLimit bounds the removal of the scratch items.
const cleanLimit = 30 * time.Second

// handOvers is how many locks are handed from one client to another.
const handOvers = 5

// Deep verifies on scratch items what the library assumes of the engine, and then the
// library itself, and calls report with each result. Returns an error if scratch items
// could not be removed.
func Deep(ctx context.Context, s Subject, report func(Result)) error {
	s, throttled := s.counting()
	defer throttled.report(report)
	d := &deep{Subject: s, entity: scratchEntity + "/" + strings.ToLower(rand.Text()[:12])}
	for _, check := range []struct {
		name   string
		run    func(context.Context) (string, error)
		advice string
	}{
		{"consistent reads", d.reads, "the library must not be used: a read must show each write that was answered before"},
		{"conditions", d.conditions, "the library must not be used: a write whose condition is false must change nothing"},
		{"returned items", d.returned, "the library does not work: a write must return its item (ReturnValues ALL_NEW)"},
		{"refusals", d.refusals, "the library does not work: a refused write must return the item that is there (ReturnValuesOnConditionCheckFailure), as DynamoDB does since June 2023; update the local engine, or the proxy that removes it"},
		{"numbers", d.numbers, "the library must not be used: tickets need whole numbers of 17 digits"},
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

// deep has the scratch items of one run.
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

func number(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

// equals reports whether an attribute is that number.
func equals(v types.AttributeValue, text string) bool {
	n, ok := v.(*types.AttributeValueMemberN)
	return ok && n.Value == text
}

// update sends SET n = value, if the condition holds.
func (d *deep) update(ctx context.Context, name, set, condition string, values map[string]types.AttributeValue) (map[string]types.AttributeValue, error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &d.Table, Key: d.key(name), UpdateExpression: &set, ExpressionAttributeValues: values,
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	out, err := d.DB.UpdateItem(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

func (d *deep) get(ctx context.Context, name string) (map[string]types.AttributeValue, error) {
	out, err := d.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &d.Table, Key: d.key(name), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// reads writes and reads in turn.
func (d *deep) reads(ctx context.Context) (string, error) {
	const times = 20
	for i := range times {
		if _, err := d.update(ctx, "reads", "SET n = :n", "", map[string]types.AttributeValue{":n": number(i)}); err != nil {
			return "", err
		}
		item, err := d.get(ctx, "reads")
		if err != nil {
			return "", err
		}
		if !equals(item["n"], fmt.Sprint(i)) {
			return "", fmt.Errorf("a consistent read after write %d did not show it", i)
		}
	}
	return fmt.Sprintf("%d of %d showed the write before", times, times), nil
}

// conditions checks that a write is made if its condition holds, and only then.
func (d *deep) conditions(ctx context.Context) (string, error) {
	if _, err := d.update(ctx, "conditions", "SET n = :n, m = :m", "attribute_not_exists(n)", map[string]types.AttributeValue{
		":n": number(1), ":m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"a": number(1)}},
	}); err != nil {
		return "", err
	}
	forms := []struct {
		condition string
		values    map[string]types.AttributeValue
		holds     bool
	}{
		{"attribute_not_exists(n)", nil, false},
		{"n = :one AND attribute_exists(m.a)", map[string]types.AttributeValue{":one": number(1)}, true},
		{"n > :one", map[string]types.AttributeValue{":one": number(1)}, false},
		{"size(m) = :one", map[string]types.AttributeValue{":one": number(1)}, true},
		{"size(m) > :one OR NOT attribute_exists(m.a)", map[string]types.AttributeValue{":one": number(1)}, false},
		{"attribute_not_exists(m.b) AND n <= :one", map[string]types.AttributeValue{":one": number(1)}, true},
	}
	for _, form := range forms {
		values := map[string]types.AttributeValue{":x": number(0)}
		for name, v := range form.values {
			values[name] = v
		}
		_, err := d.update(ctx, "conditions", "SET x = :x", form.condition, values)
		switch {
		case err == nil && !form.holds:
			return "", fmt.Errorf("%s is false, and the write was made", form.condition)
		case form.holds && err != nil:
			return "", fmt.Errorf("%s: %w", form.condition, err)
		case err != nil && !refused(err):
			return "", err
		}
	}
	return fmt.Sprintf("%d forms", len(forms)), nil
}

// returned checks the items that writes return.
func (d *deep) returned(ctx context.Context) (string, error) {
	item, err := d.update(ctx, "returned", "SET n = if_not_exists(n, if_not_exists(o, :z)) + :one, w = :one", "", map[string]types.AttributeValue{":z": number(4), ":one": number(1)})
	if err != nil {
		return "", err
	}
	if !equals(item["n"], "5") || !equals(item["w"], "1") || item[d.PartitionKey] == nil {
		return "", errors.New("ALL_NEW did not return the item as it was written")
	}
	return "ALL_NEW", nil
}

// refusals checks that refused writes return the item that is there, and none where none is.
func (d *deep) refusals(ctx context.Context) (string, error) {
	if _, err := d.update(ctx, "refusals", "SET n = :n", "", map[string]types.AttributeValue{":n": number(5)}); err != nil {
		return "", err
	}
	for name, n := range map[string]string{"refusals": "5", "no refusals": ""} {
		_, err := d.update(ctx, name, "SET n = :z", "n = :z", map[string]types.AttributeValue{":z": number(4)})
		failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case !ok:
			return "", fmt.Errorf("a false condition: %v", err)
		case n != "" && failed.Item == nil:
			return "", errors.New("a refused write did not return the item that is there")
		case n != "" && !equals(failed.Item["n"], n), n == "" && failed.Item != nil:
			return "", fmt.Errorf("a refused write returned another item than the one that is there: %d attributes", len(failed.Item))
		}
	}
	return "they return the item", nil
}

// numbers checks that a counter of the size of tickets counts by one.
func (d *deep) numbers(ctx context.Context) (string, error) {
	values := map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "99999999999999998"}, ":one": number(1)}
	for _, want := range []string{"99999999999999999", "100000000000000000", "100000000000000001"} {
		item, err := d.update(ctx, "numbers", "SET n = if_not_exists(n, :n) + :one", "", values)
		if err != nil {
			return "", err
		}
		if !equals(item["n"], want) {
			return "", fmt.Errorf("a counter is not %s", want)
		}
	}
	return "exact above 10^17", nil
}

// queries checks the order of rows, and that pages are complete.
func (d *deep) queries(ctx context.Context) (string, error) {
	const rows = 12
	for i := range rows {
		if _, err := d.update(ctx, fmt.Sprintf("row/%020d", rows-i), "SET n = :n", "", map[string]types.AttributeValue{":n": number(rows - i)}); err != nil {
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
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		read++
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

// client returns a client of the library for the scratch queue.
func (d *deep) client(owner string) (*queuelock.Client, queuelock.Key, error) {
	c, err := queuelock.New(d.DB, d.Table, queuelock.Config{
		Owner: owner, Attributes: queuelock.Attributes{PartitionKey: d.PartitionKey, SortKey: d.SortKey, TTL: d.Expiration},
	})
	return c, queuelock.Key{Entity: d.entity}, err
}

// closing closes a client, and joins its error with that of the check.
func closing(ctx context.Context, c *queuelock.Client, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	return errors.Join(err, c.Close(ctx))
}

// locks takes a lock of each mode.
func (d *deep) locks(ctx context.Context) (found string, err error) {
	c, key, err := d.client("doctor")
	if err != nil {
		return "", err
	}
	defer func() { err = closing(ctx, c, err) }()
	modes := []struct {
		reason string
		opts   []queuelock.AcquireOption
	}{
		{"exclusive", nil},
		{"shared", []queuelock.AcquireOption{queuelock.Shared()}},
		{"permits", []queuelock.AcquireOption{queuelock.Permits(2)}},
		{"delay", []queuelock.AcquireOption{queuelock.LockDelay(time.Second)}},
		{"closed", []queuelock.AcquireOption{queuelock.FailClosed()}},
	}
	for _, mode := range modes {
		key.Reason = mode.reason
		for range 2 { // the first use of a queue, and the next
			lock, err := c.Acquire(ctx, key, waitpolicy.NoWait, mode.opts...)
			if err != nil {
				return "", fmt.Errorf("%s: %w", mode.reason, err)
			}
			err = errors.Join(lock.SetData(ctx, []byte("doctor")), lock.Release(ctx))
			if err != nil {
				return "", fmt.Errorf("%s: %w", mode.reason, err)
			}
		}
	}
	return fmt.Sprintf("%d modes", len(modes)), nil
}

// handOver hands a lock to a waiter, several times.
func (d *deep) handOver(ctx context.Context) (found string, err error) {
	a, key, err := d.client("doctor-a")
	if err != nil {
		return "", err
	}
	defer func() { err = closing(ctx, a, err) }()
	b, _, err := d.client("doctor-b")
	if err != nil {
		return "", err
	}
	defer func() { err = closing(ctx, b, err) }()
	key.Reason = "hand-over"
	var total time.Duration
	for range handOvers {
		took, err := once(ctx, a, b, key)
		if err != nil {
			return "", err
		}
		total += took
	}
	return fmt.Sprintf("%d, of %v on average", handOvers, (total / handOvers).Round(10*time.Microsecond)), nil
}

// once hands the lock from a to b, and returns the time from the release to the grant.
func once(ctx context.Context, a, b *queuelock.Client, key queuelock.Key) (time.Duration, error) {
	lock, err := a.Acquire(ctx, key, waitpolicy.For(cleanLimit))
	if err != nil {
		return 0, err
	}
	queued := make(chan struct{}, 1)
	type outcome struct {
		at  time.Time
		err error
	}
	served := make(chan outcome, 1)
	go func() {
		next, err := b.Acquire(ctx, key, waitpolicy.For(cleanLimit), queuelock.OnProgress(func(queuelock.Progress) {
			select {
			case queued <- struct{}{}:
			default:
			}
		}))
		at := time.Now()
		if err == nil {
			err = next.Release(ctx)
			if !lock.Ticket().Less(next.Ticket()) {
				err = errors.Join(err, errors.New("a later holder has no higher ticket"))
			}
		}
		served <- outcome{at, err}
	}()
	select {
	case <-queued:
	case got := <-served:
		return 0, errors.Join(fmt.Errorf("a waiter was served beside the holder, or failed: %v", got.err), lock.Release(ctx))
	}
	released := time.Now()
	if err := lock.Release(ctx); err != nil {
		return 0, err
	}
	got := <-served
	return max(0, got.at.Sub(released)), got.err
}

// fencing checks that a fenced write is refused after the release.
func (d *deep) fencing(ctx context.Context) (found string, err error) {
	c, key, err := d.client("doctor")
	if err != nil {
		return "", err
	}
	defer func() { err = closing(ctx, c, err) }()
	key.Reason = "fencing"
	lock, err := c.Acquire(ctx, key, waitpolicy.NoWait)
	if err != nil {
		return "", err
	}
	condition := lock.Condition()
	fenced := func() error {
		put := &types.Put{TableName: &d.Table, Item: d.key("fenced")}
		_, err := d.DB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{ConditionCheck: &condition}, {Put: put}}})
		return err
	}
	before := fenced()
	if err := lock.Release(ctx); err != nil {
		return "", err
	}
	after := fenced()
	switch canceled, ok := errors.AsType[*types.TransactionCanceledException](after); {
	case before != nil:
		return "", fmt.Errorf("a fenced write was refused while the lock was held: %w", before)
	case after == nil:
		return "", errors.New("a fenced write was made after the release")
	case !ok || aws.ToString(canceled.CancellationReasons[0].Code) != "ConditionalCheckFailed":
		return "", after
	}
	return "refused after the release", nil
}

// clean removes the scratch items.
func (d *deep) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	pages := dynamodb.NewQueryPaginator(d.DB, &dynamodb.QueryInput{
		TableName: &d.Table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"), ExpressionAttributeNames: d.names(),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: d.entity}},
	})
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
