package sim

import (
	"context"
	"errors"
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
		n.tally.refused.Add(1)
		return
	}
	n.tally.acquired.Add(1)
	before := amount(lock.Item())
	n.add(n.name, "%s: holds the item with ticket %s and amount %d", owner, lock.Ticket(), before)
	n.sleep(r, exp(r, n.plan.Hold))
	n.stand(r.Float64())
	if n.isDead() {
		return
	}
	n.tryAdd(before+1, true)
	_, err = lock.UpdateAndRelease(n.with(r), expression.Set(expression.Name("amount"), expression.Value(before+1)))
	_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
	n.add(n.name, "%s: writes %d and releases: %v", owner, before+1, err)
	switch {
	case n.isDead():
		return
	case unknown: // it may have been made, or may yet be
		n.add(n.name, "%s: released: %v", owner, lock.Release(n.with(r)))
		return
	case err == nil:
		n.added(before + 1)
		n.tally.writes.Add(1)
		return
	}
	n.tryAdd(before+1, false)
	n.tally.fenced.Add(1)
	n.add(n.name, "%s: released: %v", owner, lock.Release(n.with(r)))
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

// tryAdd notes that the amount may be written by somebody, or, again, that it
// was not.
func (w *world) tryAdd(amount int, may bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if may {
		w.mayAdd[amount]++
	} else {
		w.mayAdd[amount]--
	}
}

// added notes that the amount was written: of all that read the same, one may
// write.
func (w *world) added(amount int) {
	w.mu.Lock()
	again := w.amounts[amount]
	w.amounts[amount] = true
	w.mu.Unlock()
	if again {
		w.violate("the amount %d was written by two: an update is lost", amount)
	}
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
		if _, err := lock.UpdateAndRelease(ctx, expression.Set(expression.Name("amount"), expression.Value(next))); err != nil {
			return err
		}
		w.added(next)
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

// judgeItem: each amount up to the last was written by one who said so, or by one
// who does not know.
func (w *world) judgeItem(ctx context.Context) error {
	name := tableName
	consistent := true
	out, err := w.direct.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: account, ConsistentRead: &consistent})
	if err != nil {
		return err
	}
	last := amount(out.Item)
	for n := 1; n <= last; n++ {
		if !w.amounts[n] && w.mayAdd[n] == 0 {
			w.violate("the amount %d was written by nobody", n)
		}
	}
	for n := range w.amounts {
		if n > last {
			w.violate("the amount %d was written, and the last is %d", n, last)
		}
	}
	for attribute := range out.Item {
		switch attribute {
		case "pk", "sk", "amount", "lock_ticketNumber", "lock_granted":
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
