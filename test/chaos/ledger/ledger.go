// Package ledger is what the workers of a chaos run write their turns into: a
// resource that the fence of a lock alone protects, and that shows when the fence
// did not hold. It is test apparatus.
//
// A ledger is one partition of the lock's own table. Its key begins with
// "ledger/", so it is none of the entities that are locked there.
//
//	sk            attributes
//	head          n: number of the last turn, set to what was read plus one
//	              token: of the last turn, set
//	              writes: how many transactions were applied, added to
//	turn/<id>     seq: its number; token; after: the token that was read
//	              worker; times: how often it was applied, added to
//	probe/<id>    token, worker, times, of a write that is to be refused
//
// A turn is read, then written, as in any program that trusts a lock: read n
// and the token, work, then in one transaction set n to what was read plus one
// and put the turn's row. No item has a condition of its own. So the fence
// alone keeps a turn out that another has overtaken, and where it does not,
//
//	two turns have one seq, and n is less than writes   a lost update
//	a later seq has a lower token                       a regression
//	times is 2                                          a transaction applied twice
//
// What it does not promise: that the engine recognises a ClientRequestToken.
// dynoxide keeps them in memory, and forgets them when it is restarted; then a
// repetition is applied again, as long as the fence holds.
package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/av"
)

const (
	head  = "head"
	turn  = "turn/"
	probe = "probe/"
)

// Ledger is the ledger of one entity.
type Ledger struct{ Table, Entity string }

// Head is what a turn reads before it begins.
type Head struct {
	N      int    `dynamodbav:"n"`      // turns so far
	Token  uint64 `dynamodbav:"token"`  // of the last one
	Writes int    `dynamodbav:"writes"` // transactions applied
}

// Row is a turn that was written, or a probe.
type Row struct {
	ID     string `dynamodbav:"sk"`
	Probe  bool   `dynamodbav:"-"`
	Seq    int    `dynamodbav:"seq"`
	Token  uint64 `dynamodbav:"token"`
	After  uint64 `dynamodbav:"after"`
	Worker string `dynamodbav:"worker"`
	Times  int    `dynamodbav:"times"`
}

// Contents is all of a ledger.
type Contents struct {
	Head Head
	Rows []Row
}

// Reader is what reading needs of an SDK client.
type Reader interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Read reads the head, consistently: one request. No head is the zero Head.
func (l Ledger) Read(ctx context.Context, db Reader) (h Head, err error) {
	out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.Table, Key: l.key(head), ConsistentRead: aws.Bool(true)})
	if err == nil {
		err = attributevalue.UnmarshalMap(out.Item, &h)
	}
	return h, err
}

// Turn is the writes of a turn that had read that head.
func (l Ledger) Turn(id string, read Head, token uint64, worker string) []types.TransactWriteItem {
	seq := read.N + 1
	return []types.TransactWriteItem{
		l.update(head, map[string]any{"n": seq, "token": token}, "writes"),
		l.update(turn+id, map[string]any{"seq": seq, "token": token, "after": read.Token, "worker": worker}, "times"),
	}
}

// Probe is a write that changes no turn.
func (l Ledger) Probe(id string, token uint64, worker string) []types.TransactWriteItem {
	return []types.TransactWriteItem{l.update(probe+id, map[string]any{"token": token, "worker": worker}, "times")}
}

// update sets attributes and counts, without a condition.
func (l Ledger) update(sk string, values map[string]any, counter string) types.TransactWriteItem {
	update := expression.Add(expression.Name(counter), expression.Value(1))
	for name, v := range values {
		update = update.Set(expression.Name(name), expression.Value(v))
	}
	e, err := expression.NewBuilder().WithUpdate(update).Build()
	if err != nil {
		panic(err) // only of names and values that it cannot have
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &l.Table, Key: l.key(sk), UpdateExpression: e.Update(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
	}}
}

func (l Ledger) partition() string { return "ledger/" + l.Entity }

func (l Ledger) key(sk string) av.Item { return av.Item{"pk": av.Str(l.partition()), "sk": av.Str(sk)} }

// ReadAll reads a whole ledger, consistently.
func (l Ledger) ReadAll(ctx context.Context, db dynamodb.QueryAPIClient) (Contents, error) {
	var all Contents
	pages := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{
		TableName: &l.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: av.Item{":pk": av.Str(l.partition())},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return all, err
		}
		for _, found := range page.Items {
			if err := all.add(found); err != nil {
				return all, fmt.Errorf("ledger of %s: %w", l.Entity, err)
			}
		}
	}
	return all, nil
}

func (c *Contents) add(found av.Item) error {
	if av.Text(found["sk"]) == head {
		return attributevalue.UnmarshalMap(found, &c.Head)
	}
	var row Row
	err := attributevalue.UnmarshalMap(found, &row)
	if row.ID, row.Probe = strings.CutPrefix(row.ID, probe); !row.Probe {
		row.ID = strings.TrimPrefix(row.ID, turn)
	}
	c.Rows = append(c.Rows, row)
	return err
}
