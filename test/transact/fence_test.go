package transact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

func TestAProtectedWriteIsMadeOnceWhileTheLockIsHeld(t *testing.T) {
	for name, fault := range map[string]queuelocktest.Fault{
		"no fault":             queuelocktest.DelayRequest(0),
		"request lost":         queuelocktest.LoseRequest().Times(2),
		"response lost":        queuelocktest.LoseResponse().Times(2),
		"response never comes": queuelocktest.SwallowResponse().Times(1),
		"throttled":            queuelocktest.Refuse(queuelocktest.Throttling).Times(5),
		"arrives twice":        queuelocktest.Duplicate(time.Second),
		"conflict":             queuelocktest.Refuse(queuelocktest.TransactionConflict).Times(3),
	} {
		locktest.InBubble(t, name, func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, db := locktest.Open(t, table, "c", queuelock.Config{})
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			db.Inject(fault.Of("TransactWriteItems"))
			if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
				t.Fatal(err)
			}
			if err := table.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := locktest.Balance(table); got != "1" {
				t.Errorf("the account holds %s after one deposit", got)
			}
			locktest.Release(t, lock)
		})
	}
}

func TestAProtectedWriteIsOneRequest(t *testing.T) {
	locktest.InBubble(t, "budget", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		spent := locktest.Cost(table, func() {
			if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
				t.Error(err)
			}
		})
		// Two write units for each kilobyte of each item.
		// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
		if spent.Sent != 1 || spent.WriteUnits != 4 {
			t.Errorf("it took %d requests and %v write units, want 1 and 4", spent.Sent, spent.WriteUnits)
		}
		locktest.Release(t, lock)
	})
}

func TestAProtectedWriteOfALostLockIsRefused(t *testing.T) {
	locktest.InBubble(t, "evicted", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "stalled", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		other, _ := locktest.Open(t, table, "other", queuelock.Config{})
		if _, err := other.Inspect(t.Context(), locktest.Order); err != nil {
			t.Fatal(err) // it knows DynamoDB's clock from now on
		}
		condition := lock.Condition()
		db.Partition()
		taken := locktest.Acquire(t, other, waitpolicy.Forever)
		db.Heal()

		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		if !errors.Is(err, queuelock.ErrLost) {
			t.Errorf("a write of a lost lock gave %v", err)
		}
		// One that does not ask the lock first is refused by the table.
		_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{locktest.Deposit(table, nil), {ConditionCheck: &condition}},
		})
		canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if !ok || aws.ToString(canceled.CancellationReasons[1].Code) != "ConditionalCheckFailed" {
			t.Errorf("the check of a lost lock let a transaction pass, or failed otherwise: %v", err)
		}
		if got := locktest.Balance(table); got != "0" {
			t.Errorf("%s deposits were made without the lock", got)
		}
		if err := taken.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "1" {
			t.Errorf("the holder's own write gave %v, and the account holds %s", err, locktest.Balance(table))
		}
		locktest.Release(t, taken)
		if err := taken.Transact(t.Context(), locktest.Deposit(table, nil)); !errors.Is(err, queuelock.ErrReleased) {
			t.Errorf("a write after the release gave %v", err)
		}
	})
	locktest.InBubble(t, "evicted, and does not know yet", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		// An operator takes the lock away.
		if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(table.Name()), Key: lock.Condition().Key,
			UpdateExpression:          aws.String("SET holders = :nobody"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":nobody": &types.AttributeValueMemberM{}},
		}); err != nil {
			t.Fatal(err)
		}
		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		if lost, ok := errors.AsType[*queuelock.LostError](err); !ok || lost.Cause != queuelock.Evicted {
			t.Errorf("the write gave %v, want a LostError: evicted", err)
		}
		if lock.Context().Err() == nil || !errors.Is(context.Cause(lock.Context()), queuelock.ErrLost) {
			t.Error("the lock's context goes on after the record has said that it is lost")
		}
		if locktest.Balance(table) != "0" {
			t.Error("the write was made")
		}
	})
}

func TestAProtectedWriteFailsByTheCallersOwnCondition(t *testing.T) {
	locktest.InBubble(t, "own condition", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		spent := locktest.Cost(table, func() {
			err := lock.Transact(t.Context(), locktest.Deposit(table, aws.String("attribute_exists(pk)")))
			canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
			if !ok || aws.ToString(canceled.CancellationReasons[0].Code) != "ConditionalCheckFailed" || errors.Is(err, queuelock.ErrLost) {
				t.Errorf("got %v, want the caller's own condition", err)
			}
		})
		if spent.Sent != 1 {
			t.Errorf("a write that can never succeed was sent %d times", spent.Sent)
		}
		if err := lock.Err(); err != nil {
			t.Errorf("the lock has ended by it: %v", err)
		}
		locktest.Release(t, lock)
	})
}

func TestAProtectedWriteEndsWithItsContextAndWithTheLock(t *testing.T) {
	locktest.InBubble(t, "context", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.SwallowRequest().Of("TransactWriteItems"))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		begun := time.Now()
		err := lock.Transact(ctx, locktest.Deposit(table, nil))
		// The table was asked: it was not made, and never will be.
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error, and no unknown outcome", err)
		}
		if took := time.Since(begun); took != 20*time.Second {
			t.Errorf("it ended %v after it began, its context after 20s", took)
		}
		synctest.Wait()
		db.Partition()
		begun = time.Now()
		if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err == nil || lock.Err() == nil {
			t.Errorf("got %v, want an error once the lease has ended", err)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("it went on for %v with a lease of a minute", took)
		}
	})
}

func TestAProtectedWriteOfUnknownOutcomeIsNeverCalledLost(t *testing.T) {
	locktest.InBubble(t, "it was made", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{TTL: 10 * time.Second})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").Times(1))
		db.Inject(queuelocktest.LoseRequest())
		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err)
		if !ok || errors.Is(err, queuelock.ErrLost) || !errors.Is(unknown.End, queuelock.ErrLost) {
			t.Errorf("got %v, which is ErrLost: %v", err, errors.Is(err, queuelock.ErrLost))
		}
		locktest.Says(t, err, "order-7", "not known", "lock lost")
		if locktest.Balance(table) != "1" {
			t.Error("the write was to be made")
		}
	})
	locktest.InBubble(t, "a throttle proves nothing", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{TTL: 10 * time.Second})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.Refuse(queuelocktest.Throttling))
		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		if unknown, ok := errors.AsType[*queuelock.UnknownOutcomeError](err); !ok || !errors.Is(unknown.End, queuelock.ErrLost) {
			t.Errorf("got %v", err)
		}
	})
	locktest.InBubble(t, "no rights", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		denied := db.Inject(queuelocktest.Refuse(queuelocktest.AccessDenied).Of("TransactWriteItems"))
		err := lock.Transact(t.Context(), locktest.Deposit(table, nil))
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown || denied.Fired() != 1 {
			t.Errorf("got %v after %d requests", err, denied.Fired())
		}
		locktest.Says(t, err, "AccessDenied")
		locktest.Release(t, lock)
	})
}

// DynamoDB forgets a transaction's token after ten minutes. A repetition is then
// refused by its number, and known to have been made.
func TestTransactToken(t *testing.T) {
	for _, older := range []bool{false, true} {
		locktest.InBubble(t, fmt.Sprintf("MadeOnceAfterItWasForgotten/older engine %v", older), func(t *testing.T) {
			var opts []queuelocktest.Option
			if older {
				opts = append(opts, queuelocktest.WithoutFailedItem())
			}
			table := queuelocktest.NewTable(t, opts...)
			c, db := locktest.Open(t, table, "c", queuelock.Config{TTL: 2 * time.Hour})
			lock := locktest.Acquire(t, c, waitpolicy.NoWait)
			db.Inject(queuelocktest.LoseResponse().Of("TransactWriteItems").Times(1))
			out := db.Inject(queuelocktest.LoseRequest().Of("TransactWriteItems"))
			time.AfterFunc(20*time.Minute, out.Remove)
			begun := time.Now()
			if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil || time.Since(begun) < 20*time.Minute {
				t.Errorf("after %v: %v", time.Since(begun), err)
			}
			if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
				t.Errorf("the next: %v", err)
			}
			locktest.Release(t, lock)
			if locktest.Balance(table) != "2" {
				t.Errorf("the account holds %s", locktest.Balance(table))
			}
		})
	}
	locktest.InBubble(t, "NewAfterACancellation", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		tokens := map[any]bool{}
		db.Inject(queuelocktest.DelayRequest(0).Of("TransactWriteItems").Where(func(r queuelocktest.Request) bool {
			tokens[r.Body["ClientRequestToken"]] = true
			return false
		}))
		db.Inject(queuelocktest.Refuse(queuelocktest.TransactionConflict).Of("TransactWriteItems").Times(2))
		if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
			t.Fatal(err)
		}
		if len(tokens) != 3 {
			t.Errorf("three attempts had %d tokens", len(tokens))
		}
	})
}

// A transaction that its caller gave up arrives later: the table was asked, and
// it is refused.
func TestTransactGivenUp(t *testing.T) {
	locktest.InBubble(t, "NeverMadeOnceSettled", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		late := db.Inject(queuelocktest.HoldRequest().Of("TransactWriteItems").Times(1).LandingAnyway())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := lock.Transact(ctx, locktest.Deposit(table, nil))
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		late.Release()
		if err := table.Settle(t.Context()); err != nil || locktest.Balance(table) != "0" {
			t.Errorf("%v: it was made, although its caller was told otherwise", err)
		}
		if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "1" {
			t.Errorf("the next: %v", err)
		}
		locktest.Release(t, lock)
	})
	locktest.InBubble(t, "MadeOnceSettled", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		answer := db.Inject(queuelocktest.HoldResponse().Of("TransactWriteItems").Times(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lock.Transact(ctx, locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "1" {
			t.Errorf("got %v, and the account holds %s", err, locktest.Balance(table))
		}
		answer.Release()
		locktest.Release(t, lock)
	})
	locktest.InBubble(t, "CopyLandsBeforeTheRelease", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		again := db.Inject(queuelocktest.HoldDuplicate().Of("TransactWriteItems").Times(1))
		err := lock.Transact(t.Context(), locktest.Deposit(table, aws.String("attribute_exists(pk)")))
		if _, canceled := errors.AsType[*types.TransactionCanceledException](err); !canceled {
			t.Fatalf("got %v, want the caller's own condition", err)
		}
		if _, err := table.Client("other").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table.Name()), Item: locktest.Account()}); err != nil {
			t.Fatal(err)
		}
		again.Release()
		if err := table.Settle(t.Context()); err != nil || locktest.Balance(table) != "1" {
			t.Fatalf("%v: the account holds %s, the copy was to be made", err, locktest.Balance(table))
		}
		before := db.Counts()
		locktest.Release(t, lock)
		spent := db.Counts().Sub(before)
		if spent["TransactWriteItems"].Sent != 1 {
			t.Errorf("the release did not wait until the copy is visible: %+v", spent)
		}
		spent = db.Counts()
		lock = locktest.Acquire(t, c, waitpolicy.NoWait)
		if err := lock.Transact(t.Context(), locktest.Deposit(table, aws.String("attribute_not_exists(pk)"))); err == nil {
			t.Fatal("it was made")
		}
		locktest.Release(t, lock)
		if n := db.Counts().Sub(spent).Total().Sent; n != 3 {
			t.Errorf("a turn with a refused transaction took %d requests, want no more than before", n)
		}
	})
	locktest.InBubble(t, "SettledByTheNext", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		late := db.Inject(queuelocktest.HoldRequest().Of("TransactWriteItems").Times(1).LandingAnyway())
		db.Partition()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := lock.Transact(ctx, locktest.Deposit(table, nil))
		if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); !unknown {
			t.Errorf("got %v", err)
		}
		db.Heal()
		if err := lock.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil {
			t.Error(err)
		}
		late.Release()
		if err := table.Settle(t.Context()); err != nil || locktest.Balance(table) != "1" {
			t.Errorf("%v: the account holds %s", err, locktest.Balance(table))
		}
		locktest.Release(t, lock)
	})
}

func TestTransactSaysWhatIsWrongWithItsItems(t *testing.T) {
	locktest.InBubble(t, "items", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		spent := locktest.Cost(table, func() {
			for _, n := range []int{0, 100} {
				err := lock.Transact(t.Context(), make([]types.TransactWriteItem, n)...)
				if err == nil || !strings.Contains(err.Error(), "between 1 and 99") {
					t.Errorf("%d items gave %v", n, err)
				}
			}
		})
		if spent.Sent != 0 {
			t.Errorf("%d requests were sent", spent.Sent)
		}
		locktest.Release(t, lock)
	})
}

// A TAKE that arrives once more after the release puts its id into the record
// again, with the next ticket: the fence of the one that was released is not
// that of the ghost.
func TestAFenceIsOfItsTicketAndNotOfAGhost(t *testing.T) {
	locktest.InBubble(t, "a TAKE arrives again", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		locktest.Release(t, locktest.Acquire(t, c, waitpolicy.NoWait)) // the record is there
		again := db.Inject(queuelocktest.HoldDuplicate().Of("UpdateItem").Times(1))
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		condition := lock.Condition()
		locktest.Release(t, lock)
		again.Release()
		if err := table.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, holders := locktest.RowsAndHolders(t, c); holders != 1 {
			t.Fatalf("%d holders: the ghost of ticket %s was to be there", holders, lock.Ticket())
		}
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{locktest.Deposit(table, nil), {ConditionCheck: &condition}},
		})
		if _, canceled := errors.AsType[*types.TransactionCanceledException](err); !canceled || locktest.Balance(table) != "0" {
			t.Errorf("a write with a released lock's token gave %v, and the account holds %s", err, locktest.Balance(table))
		}
	})
}

// One attempt is on its way, the next is refused by the caller's own condition:
// the first may be made yet.
func TestAnUnknownOutcomeIsNoCancellation(t *testing.T) {
	locktest.InBubble(t, "it lands late", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, db := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		db.Inject(queuelocktest.LandLate(5 * time.Second).Of("TransactWriteItems").Times(1))
		err := lock.Transact(t.Context(), locktest.Deposit(table, aws.String("attribute_exists(pk)")))
		// The table was asked, and the first is refused when it arrives.
		_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
		_, canceled := errors.AsType[*types.TransactionCanceledException](err)
		if unknown || !canceled {
			t.Errorf("got %v, unknown: %v, cancelled: %v", err, unknown, canceled)
		}
		if err := table.Settle(t.Context()); err != nil || locktest.Balance(table) != "0" {
			t.Errorf("%v: the first was made", err)
		}
		locktest.Release(t, lock)
	})
	locktest.InBubble(t, "a table of the caller's that is not there", func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		c, _ := locktest.Open(t, table, "c", queuelock.Config{})
		lock := locktest.Acquire(t, c, waitpolicy.NoWait)
		item := locktest.Deposit(table, nil)
		item.Update.TableName = aws.String("ordres")
		err := lock.Transact(t.Context(), item)
		if _, schema := errors.AsType[*queuelock.TableError](err); err == nil || schema {
			t.Errorf("got %v, which blames the lock's table: %v", err, schema)
		}
		locktest.Release(t, lock)
	})
}

// Of a context that has ended the SDK client sends nothing, and its error is that
// of a request which had no answer.
func TestAnEndedContextIsNoUnknownOutcome(t *testing.T) {
	for name, end := range map[error]func(context.Context) (context.Context, context.CancelFunc){
		context.Canceled: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		},
		context.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 0) },
	} {
		locktest.InBubble(t, name.Error(), func(t *testing.T) {
			table := queuelocktest.NewTable(t)
			c, _ := locktest.Open(t, table, "c", locktest.SharedScope)
			both := locktest.AcquireAll(t, c, waitpolicy.NoWait, "x", "y")
			ctx, cancel := end(t.Context())
			defer cancel()
			for what, transact := range map[string]func(context.Context, ...types.TransactWriteItem) error{
				"Lock.Transact": both.All()[0].Transact, "Locks.Transact": both.Transact,
			} {
				var err error
				spent := locktest.Cost(table, func() { err = transact(ctx, locktest.Deposit(table, nil)) })
				if _, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err); unknown || !errors.Is(err, name) {
					t.Errorf("%s: %v", what, err)
				}
				locktest.Says(t, err, `queuelock: "x" (lock): transact: nothing was sent: `)
				if spent.Sent != 0 {
					t.Errorf("%s sent %d requests", what, spent.Sent)
				}
			}
			if err := both.Transact(t.Context(), locktest.Deposit(table, nil)); err != nil || locktest.Balance(table) != "1" {
				t.Errorf("afterwards: %v, and the account holds %s", err, locktest.Balance(table))
			}
			locktest.ReleaseAll(t, both)
		})
	}
}
