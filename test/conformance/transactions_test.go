package conformance

import (
	"crypto/rand"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// cancelled wants err to be a cancelled transaction, and returns the reasons, one per action.
func (c *check) cancelled(err error) []types.CancellationReason {
	if err == nil {
		c.Fatalf("the transaction committed, but should have been cancelled")
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		c.Fatalf("want TransactionCanceledException, got: %v", err)
	}
	return cancelled.CancellationReasons
}

func codes(reasons []types.CancellationReason) []string {
	var all []string
	for _, r := range reasons {
		all = append(all, aws.ToString(r.Code))
	}
	return all
}

func (c *check) transact(token string, actions ...types.TransactWriteItem) error {
	_, err := c.db.TransactWriteItems(c.ctx, &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: optional(token), TransactItems: actions,
	})
	return err
}

func (c *check) putAction(sk string, attributes item, condition string, failed types.ReturnValuesOnConditionCheckFailure) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &c.table, Item: c.with(sk, attributes),
		ConditionExpression: optional(condition), ReturnValuesOnConditionCheckFailure: failed,
	}}
}

func (c *check) updateAction(sk, update, condition string, values item) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &c.table, Key: c.key(sk),
		UpdateExpression: &update, ConditionExpression: optional(condition), ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func (c *check) deleteAction(sk, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &c.table, Key: c.key(sk), ConditionExpression: optional(condition),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func (c *check) checkAction(sk, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &c.table, Key: c.key(sk), ConditionExpression: &condition,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// API_TransactWriteItems.html and API_TransactionCanceledException.html in the API reference;
// transaction-apis.html in the developer guide.
func TestTransactions(t *testing.T) {
	const none, allOld = "", types.ReturnValuesOnConditionCheckFailureAllOld

	onEveryEngine(t, func(s *suite) {
		s.check("AllFourActionsCommitTogether", func(c *check) {
			c.given("update", item{"a": n(1)})
			c.given("delete", item{"a": n(1)})
			c.given("check", item{"a": n(1)})
			c.must(c.transact("",
				c.putAction("put", item{"a": n(1)}, "attribute_not_exists(pk)", none),
				c.updateAction("update", "SET a = a + :one", "attribute_exists(pk)", item{":one": n(1)}),
				c.deleteAction("delete", "attribute_exists(pk)"),
				c.checkAction("check", "attribute_exists(a)"),
			))
			c.holds("put", item{"a": n(1)})
			c.holds("update", item{"a": n(2)})
			c.holds("delete", nil)
			c.holds("check", item{"a": n(1)})
		})

		s.check("OneFailedConditionUndoesAllAndEachActionHasItsReason", func(c *check) {
			c.given("update", item{"a": n(1)})
			c.given("there", item{"a": n(5)})
			err := c.transact("",
				c.updateAction("update", "SET a = a + :one", "", item{":one": n(1)}),
				c.putAction("there", item{"a": n(6)}, "attribute_not_exists(pk)", allOld),
				c.putAction("new", item{}, "", none),
				c.checkAction("absent", "attribute_exists(pk)"),
			)
			reasons := c.cancelled(err)
			c.same("the codes", codes(reasons), []string{"None", "ConditionalCheckFailed", "None", "ConditionalCheckFailed"})
			c.same("the item that refused", withoutKeys(reasons[1].Item), item{"a": n(5)})
			if len(reasons[3].Item) != 0 {
				c.Errorf("no item was there, but the reason carries %v", reasons[3].Item)
			}
			c.same("the message", aws.ToString(reasons[1].Message), "The conditional request failed")
			c.holds("update", item{"a": n(1)})
			c.holds("there", item{"a": n(5)})
			c.holds("new", nil)
		})

		s.check("EveryKindOfActionReturnsTheItemThatRefused", func(c *check) {
			was := item{"a": n(1), "m": object(item{"k": str("v")})}
			c.given("x", was)
			for kind, action := range map[string]types.TransactWriteItem{
				"put":    c.putAction("x", item{}, "attribute_not_exists(pk)", allOld),
				"update": c.updateAction("x", "SET a = :a", "attribute_not_exists(pk)", item{":a": n(2)}),
				"delete": c.deleteAction("x", "attribute_not_exists(pk)"),
				"check":  c.checkAction("x", "attribute_not_exists(pk)"),
			} {
				reasons := c.cancelled(c.transact("", action))
				c.same(kind, withoutKeys(reasons[0].Item), was)
			}
		})

		s.check("WithoutAllOldNoItemIsReturned", func(c *check) {
			c.given("x", item{"a": n(1)})
			reasons := c.cancelled(c.transact("", c.putAction("x", item{}, "attribute_not_exists(pk)", none)))
			if len(reasons[0].Item) != 0 {
				c.Errorf("it was not asked for, but the reason carries %v", reasons[0].Item)
			}
		})

		// The SDK writes the members of an attribute map in any order: the request is the same all the same.
		s.check("TheSameTokenAndRequestTakesEffectOnce", func(c *check) {
			token := rand.Text() // it is remembered for ten minutes, across tables
			c.given("x", item{"a": n(1)})
			row := item{"b": n(1), "c": n(2), "d": n(3), "e": n(4), "f": n(5), "g": n(6)}
			for range 12 {
				c.must(c.transact(token,
					c.updateAction("x", "SET a = a + :one", "", item{":one": n(1)}),
					c.putAction("row", row, "", none)))
			}
			c.holds("x", item{"a": n(2)})
			c.holds("row", row)
		})

		s.check("TheSameTokenWithAnotherRequestIsAMismatch", func(c *check) {
			token := rand.Text()
			c.must(c.transact(token, c.putAction("x", item{"a": n(1)}, "", none)))
			err := c.transact(token, c.putAction("x", item{"a": n(2)}, "", none))
			isA[*types.IdempotentParameterMismatchException](c, "another request", err)
			c.holds("x", item{"a": n(1)})
		})

		s.check("ACancelledTransactionMayBeTriedAgainWithItsToken", func(c *check) {
			token := rand.Text()
			action := c.putAction("x", item{"a": n(1)}, "", none)
			guard := c.checkAction("guard", "attribute_exists(pk)")
			c.cancelled(c.transact(token, action, guard))
			c.given("guard", item{})
			c.must(c.transact(token, action, guard))
			c.holds("x", item{"a": n(1)})
		})

		s.check("TwoActionsOnOneItemAreRefused", func(c *check) {
			err := c.transact("", c.checkAction("x", "attribute_not_exists(pk)"), c.putAction("x", item{}, "", none))
			c.invalid(err, "Transaction request cannot include multiple operations on one item")
		})

		s.check("AnUnknownTableIsRefused", func(c *check) {
			missing := newTableName()
			c.notFound("TransactWriteItems", c.transact("", types.TransactWriteItem{Put: &types.Put{TableName: &missing, Item: c.key("x")}}))
		})

		s.check("AnUpdateThatCannotBeComputedCancelsAll", func(c *check) {
			c.given("x", item{"a": str("not a number")})
			err := c.transact("",
				c.putAction("new", item{}, "", none),
				c.updateAction("x", "SET a = a + :one", "", item{":one": n(1)}))
			c.same("the codes", codes(c.cancelled(err)), []string{"None", "ValidationError"})
			c.holds("new", nil)
		})

		s.check("ABadConditionIsAValidationExceptionNotACancellation", func(c *check) {
			c.invalid(c.transact("", c.putAction("x", item{}, "a = :undefined", none)), ":undefined")
			c.invalid(c.transact("", c.putAction("x", item{}, "not a condition!", none)), "Syntax error")
			c.holds("x", nil)
		})

		s.check("AHundredActionsAreAcceptedAndOneMoreIsRefused", func(c *check) {
			var actions []types.TransactWriteItem
			for i := range 100 {
				actions = append(actions, c.deleteAction(rowKey(i), ""))
			}
			c.must(c.transact("", actions...))
			c.invalid(c.transact("", append(actions, c.deleteAction("more", ""))...), "less than or equal to 100")
		})
	})
}
