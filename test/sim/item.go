package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// account is an item that carries its own lock: a number, to which each turn adds
// one to what it has read.
var account = map[string]types.AttributeValue{
	"pk": &types.AttributeValueMemberS{Value: "account-1"},
	"sk": &types.AttributeValueMemberS{Value: "balance"},
}

// turnAtItem locks the account, and writes it with the release.
func (n *node) turnAtItem(r *rand.Rand, owner string) {
	a := n.newAttempt(r, owner)
	ctx, cancel := context.WithTimeout(n.with(r), a.limit)
	defer cancel()
	n.add(n.name, "%s: LockItem, %v", owner, a)
	lock, err := n.client.LockItem(ctx, queuelock.ItemKey{Table: tableName, Key: account}, a.wait,
		queuelock.WithOwner(owner), queuelock.WithTTL(a.ttl), queuelock.CreateItem())
	if n.isDead() {
		return
	}
	if err != nil {
		n.add(n.name, "%s: %v", owner, err)
		n.did("refused")
		return
	}
	n.did("acquired")
	before := amount(lock.Item())
	n.add(n.name, "%s: holds the item with ticket %s and amount %d", owner, lock.Ticket(), before)
	n.sleep(r, exp(r, n.plan.Hold))
	n.waitOut(r.Float64())
	if n.isDead() {
		return
	}
	id, held := grantID{"account", lock.Ticket().String(), owner}, lock.Err() == nil
	value := fmt.Sprintf("%s=%d", owner, before+1)
	_, err = lock.UpdateAndRelease(n.with(r), addTo(before, value))
	n.add(n.name, "%s: writes %s and releases: %v", owner, value, err)
	switch said := n.judgeWrite("UpdateAndRelease", owner, value, err); {
	case n.isDead():
		return
	case said == saidMade:
		n.judgeRelease("UpdateAndRelease", owner, id, err, false)
		n.did("writes")
		return
	case said == saidNotMade:
		n.did("fenced")
	}
	held = held && lock.Err() == nil
	err = lock.Release(n.with(r))
	n.add(n.name, "%s: released: %v", owner, err)
	if held {
		n.judgeRelease("Release", owner, id, err, false)
	}
}

// addTo is the update that adds one to what was read, and logs it.
func addTo(before int, value string) expression.UpdateBuilder {
	log := expression.Name("log")
	return expression.Set(expression.Name("amount"), expression.Value(before+1)).
		Set(log, expression.ListAppend(expression.IfNotExists(log, expression.Value([]string{})), expression.Value([]string{value})))
}

func amount(item map[string]types.AttributeValue) int {
	value, ok := item["amount"].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(value.Value)
	if err != nil {
		panic(err) // only turnAtItem writes it
	}
	return n
}

// useItem reads and writes the item in the clear: after one quiet cycle by two
// requests.
func (w *world) useItem(ctx context.Context, c *queuelock.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 6*w.plan.TTL+time.Minute)
	defer cancel()
	for turn := range 2 {
		before := w.net.Counts("newcomer")
		lock, err := c.LockItem(ctx, queuelock.ItemKey{Table: tableName, Key: account}, waitpolicy.Forever, queuelock.CreateItem())
		if err != nil {
			return err
		}
		next := amount(lock.Item()) + 1
		if _, err := lock.UpdateAndRelease(ctx, addTo(next-1, fmt.Sprintf("newcomer=%d", next))); err != nil {
			return err
		}
		time.Sleep(time.Second) // for what runs in the background
		sent := 0
		for operation, tally := range w.net.Counts("newcomer") {
			sent += tally.Sent - before[operation].Sent
		}
		// A first heartbeat may have begun while the write was under way.
		if turn == 1 && sent > 3 {
			return fmt.Errorf("reading and writing it took %d requests, want 2, or 3 with a heartbeat", sent)
		}
	}
	return nil
}

// judgeItem looks at what is left of the account.
func (w *world) judgeItem(ctx context.Context) error {
	name := tableName
	consistent := true
	out, err := w.direct.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: account, ConsistentRead: &consistent})
	if err != nil {
		return err
	}
	if last := amount(out.Item); last != length(out.Item) {
		w.violate("the amount is %d after %d writes", last, length(out.Item))
	}
	for attribute := range out.Item {
		switch attribute {
		case "pk", "sk", "amount", "log", "lock_ticketNumber", "lock_granted", "lock_released", "lock_evicted":
		default:
			w.violate("the item was left with the attribute %s", attribute)
		}
	}
	return nil
}

// isRowOfItem says that an item of the table is a row of the account's queue.
func isRowOfItem(item map[string]types.AttributeValue) bool {
	pk, ok := item["pk"].(*types.AttributeValueMemberS)
	return ok && strings.HasPrefix(pk.Value, `item "`)
}
