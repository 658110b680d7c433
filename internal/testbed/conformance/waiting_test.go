package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// ENQUEUE, the heartbeat and sweep of a row, and LOOK.
func TestWaiting(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		s.check("EnqueueWritesARowOnceAndOnlyItsOwnerRenewsIt", func(c *check) {
			row := item{"id": str("w"), "beat": n(0), "until": n(1000), "expiresAt": n(10)}
			_, err := c.put(rowKey(7), row, op{condition: "attribute_not_exists(pk)"})
			c.must(err)
			_, err = c.put(rowKey(7), item{"id": str("thief")}, op{condition: "attribute_not_exists(pk)"})
			c.refusedByCondition(err)

			renew := func(id string) error {
				_, err := c.update(rowKey(7), op{
					update: rowHeartbeat, condition: rowHeartbeatIf, names: map[string]string{"#until": "until"},
					values: item{":one": n(1), ":until": n(2000), ":id": str(id)},
				})
				return err
			}
			c.refusedByCondition(renew("thief"))
			c.must(renew("w"))
			row["beat"], row["until"] = n(1), n(2000)
			c.holds(rowKey(7), row)

			_, err = c.delete(rowKey(7), op{condition: "beat = :seen", values: item{":seen": n(0)}})
			c.refusedByCondition(err)
			_, err = c.delete(rowKey(7), op{condition: "beat = :seen", values: item{":seen": n(1)}})
			c.must(err)
			c.refusedByCondition(renew("w"))
			c.holds(rowKey(7), nil) // a refused heartbeat never revives the row
		})

		s.check("LookReadsTheRecordFirstAndThenTheRowsInTicketOrder", func(c *check) {
			c.given("lock", item{})                                // sorts before the reason's items
			c.given("lock/x", item{})                              // and this after all of them
			c.given("other/"+fmt.Sprintf("%038d", 1), item{})      // another reason
			c.given(rowKey(0), item{"ticketNumber": n(2_000_000)}) // the record
			for _, ticket := range []int{1_000_000, 2, 10, 9} {
				c.given(rowKey(ticket), item{"ticket": n(ticket)})
			}
			out, err := c.db.Query(c.ctx, &dynamodb.QueryInput{
				TableName: &c.table, ConsistentRead: aws.Bool(true),
				KeyConditionExpression:    aws.String("pk = :pk AND sk BETWEEN :record AND :last"),
				ExpressionAttributeValues: item{":pk": str(c.pk), ":record": str(recordKey), ":last": str(rowKey(10))},
			})
			c.must(err)
			var got []value
			for _, it := range out.Items {
				got = append(got, it["sk"])
			}
			c.same("the sort keys", got, []value{str(rowKey(0)), str(rowKey(2)), str(rowKey(9)), str(rowKey(10))})
			c.same("the record", withoutKeys(out.Items[0]), item{"ticketNumber": n(2_000_000)})
			if out.LastEvaluatedKey != nil {
				c.Errorf("there are no more pages, but LastEvaluatedKey is %v", out.LastEvaluatedKey)
			}
		})
	})
}
