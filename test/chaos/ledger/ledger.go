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
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
	N      int    // turns so far
	Token  uint64 // of the last one
	Writes int    // transactions applied
}

// Row is a turn that was written, or a probe.
type Row struct {
	ID     string
	Probe  bool
	Seq    int
	Token  uint64
	After  uint64
	Worker string
	Times  int
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
func (l Ledger) Read(ctx context.Context, db Reader) (Head, error) {
	out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.Table, Key: l.key(head), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Head{}, err
	}
	return decodeHead(out.Item)
}

// Turn is the writes of a turn that had read that head.
func (l Ledger) Turn(id string, read Head, token uint64, worker string) []types.TransactWriteItem {
	seq := read.N + 1
	return []types.TransactWriteItem{
		l.update(head, "SET n = :seq, #token = :token ADD writes :one", item{":seq": seq, ":token": token, ":one": 1}, "token"),
		l.update(turn+id, "SET seq = :seq, #token = :token, #after = :after, worker = :worker ADD times :one",
			item{":seq": seq, ":token": token, ":after": read.Token, ":worker": worker, ":one": 1}, "token", "after"),
	}
}

// Probe is a write that changes no turn.
func (l Ledger) Probe(id string, token uint64, worker string) []types.TransactWriteItem {
	return []types.TransactWriteItem{
		l.update(probe+id, "SET #token = :token, worker = :worker ADD times :one",
			item{":token": token, ":worker": worker, ":one": 1}, "token"),
	}
}

type item map[string]any

// update is an update without a condition. Names are those that DynamoDB
// reserves.
func (l Ledger) update(sk, expression string, values item, names ...string) types.TransactWriteItem {
	u := &types.Update{
		TableName: &l.Table, Key: l.key(sk), UpdateExpression: &expression,
		ExpressionAttributeValues: map[string]types.AttributeValue{},
	}
	for name, value := range values {
		if s, ok := value.(string); ok {
			u.ExpressionAttributeValues[name] = &types.AttributeValueMemberS{Value: s}
		} else {
			u.ExpressionAttributeValues[name] = &types.AttributeValueMemberN{Value: fmt.Sprint(value)}
		}
	}
	for _, name := range names {
		if u.ExpressionAttributeNames == nil {
			u.ExpressionAttributeNames = map[string]string{}
		}
		u.ExpressionAttributeNames["#"+name] = name
	}
	return types.TransactWriteItem{Update: u}
}

func (l Ledger) partition() string { return "ledger/" + l.Entity }

func (l Ledger) key(sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: l.partition()},
		"sk": &types.AttributeValueMemberS{Value: sk},
	}
}

// ReadAll reads a whole ledger, consistently.
func (l Ledger) ReadAll(ctx context.Context, db dynamodb.QueryAPIClient) (Contents, error) {
	var all Contents
	pages := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{
		TableName: &l.Table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: l.partition()}},
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

func (c *Contents) add(found map[string]types.AttributeValue) (err error) {
	sk := text(found, "sk")
	if sk == head {
		c.Head, err = decodeHead(found)
		return err
	}
	row := Row{Worker: text(found, "worker")}
	if row.ID, row.Probe = strings.CutPrefix(sk, probe); !row.Probe {
		row.ID = strings.TrimPrefix(sk, turn)
	}
	var seq, times uint64
	for name, into := range map[string]*uint64{"seq": &seq, "times": &times, "token": &row.Token, "after": &row.After} {
		if *into, err = number(found, name); err != nil {
			return err
		}
	}
	row.Seq, row.Times = int(seq), int(times)
	c.Rows = append(c.Rows, row)
	return nil
}

func decodeHead(found map[string]types.AttributeValue) (h Head, err error) {
	n, err := number(found, "n")
	if err != nil {
		return h, err
	}
	writes, err := number(found, "writes")
	if err != nil {
		return h, err
	}
	h.N, h.Writes = int(n), int(writes)
	h.Token, err = number(found, "token")
	return h, err
}

// number is zero where the attribute is missing.
func number(found map[string]types.AttributeValue, name string) (uint64, error) {
	n, ok := found[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, nil
	}
	v, err := strconv.ParseUint(n.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s of %s: %w", name, text(found, "sk"), err)
	}
	return v, nil
}

func text(found map[string]types.AttributeValue, name string) string {
	if s, ok := found[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
