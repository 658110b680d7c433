package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// read-write-operations.html in the developer guide, "Capacity unit consumption". What a failed conditional write
// consumes (as much as one that succeeds) is in no response, so no check can see it.
func TestCapacity(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		// units wants the consumption that was reported to be that many units.
		units := func(c *check, what string, got *types.ConsumedCapacity, want float64) {
			if got == nil || got.CapacityUnits == nil {
				c.Errorf("%s: no capacity was reported", what)
				return
			}
			if *got.CapacityUnits != want {
				c.Errorf("%s: got %v units, want %v", what, *got.CapacityUnits, want)
			}
			c.same(what+": the table", aws.ToString(got.TableName), c.table)
		}
		const total = types.ReturnConsumedCapacityTotal
		kilobytes := func(kb float64) value { return str(strings.Repeat("x", int(kb*1024))) }

		put := func(c *check, sk string, attributes item) *types.ConsumedCapacity {
			out, err := c.db.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: c.with(sk, attributes), ReturnConsumedCapacity: total})
			c.must(err)
			return out.ConsumedCapacity
		}
		update := func(c *check, sk string, v value) *types.ConsumedCapacity {
			out, err := c.db.UpdateItem(c.ctx, &dynamodb.UpdateItemInput{
				TableName: &c.table, Key: c.key(sk), UpdateExpression: aws.String("SET a = :v"),
				ExpressionAttributeValues: item{":v": v}, ReturnConsumedCapacity: total,
			})
			c.must(err)
			return out.ConsumedCapacity
		}
		del := func(c *check, sk string) *types.ConsumedCapacity {
			out, err := c.db.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{TableName: &c.table, Key: c.key(sk), ReturnConsumedCapacity: total})
			c.must(err)
			return out.ConsumedCapacity
		}
		get := func(c *check, sk string, consistent bool) *types.ConsumedCapacity {
			out, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{
				TableName: &c.table, Key: c.key(sk), ConsistentRead: &consistent, ReturnConsumedCapacity: total,
			})
			c.must(err)
			return out.ConsumedCapacity
		}

		s.check("AWriteOfUpToAKilobyteConsumesOneUnit", func(c *check) {
			units(c, "a put", put(c, "x", item{"a": n(1)}), 1)
			units(c, "an update", update(c, "x", n(2)), 1)
			units(c, "a delete", del(c, "x"), 1)
			units(c, "a delete of nothing", del(c, "x"), 1)
			units(c, "an update of nothing", update(c, "y", n(2)), 1)
		})

		s.check("AWriteConsumesAUnitForEachKilobyteOfTheLargerItem", func(c *check) {
			units(c, "a put of 2.5 KB", put(c, "x", item{"a": kilobytes(2.5)}), 3)
			units(c, "a put of a small item over it", put(c, "x", item{"a": n(1)}), 3)
			units(c, "an update to 1.5 KB", update(c, "x", kilobytes(1.5)), 2)
			units(c, "an update of 1.5 KB to little", update(c, "x", n(1)), 2)
			put(c, "x", item{"a": kilobytes(3.5)})
			units(c, "a delete of 3.5 KB", del(c, "x"), 4)
		})

		s.check("AReadConsumesAUnitForFourKilobytesAndHalfIfNotConsistent", func(c *check) {
			put(c, "small", item{"a": n(1)})
			put(c, "large", item{"a": kilobytes(5)})
			units(c, "consistent", get(c, "small", true), 1)
			units(c, "eventual", get(c, "small", false), 0.5)
			units(c, "consistent, 5 KB", get(c, "large", true), 2)
			units(c, "eventual, 5 KB", get(c, "large", false), 1)
			units(c, "consistent, nothing there", get(c, "absent", true), 1)
			units(c, "eventual, nothing there", get(c, "absent", false), 0.5)
		})

		s.check("AQueryConsumesByTheSumOfWhatItReads", func(c *check) {
			query := func(in func(*dynamodb.QueryInput)) *types.ConsumedCapacity {
				return c.query("", nil, func(q *dynamodb.QueryInput) {
					q.ReturnConsumedCapacity = total
					if in != nil {
						in(q)
					}
				}).ConsumedCapacity
			}
			c.givenRows(20, item{"id": str("w"), "until": n(1_700_000_000)})
			units(c, "20 small rows", query(nil), 1)
			units(c, "20 small rows, eventual", query(func(q *dynamodb.QueryInput) { q.ConsistentRead = nil }), 0.5)
			units(c, "20 small rows, filtered away", c.query("", item{":no": str("no")}, func(q *dynamodb.QueryInput) {
				q.FilterExpression, q.ReturnConsumedCapacity = aws.String("id = :no"), total
			}).ConsumedCapacity, 1)
			put(c, "large", item{"a": kilobytes(7.5)})
			units(c, "and a large one", query(nil), 3)
			units(c, "the last few", query(func(q *dynamodb.QueryInput) { q.Limit, q.ScanIndexForward = aws.Int32(5), aws.Bool(false) }), 1)
		})

		s.check("AQueryOfNothingConsumesAUnit", func(c *check) {
			units(c, "of nothing", c.query("", nil, func(q *dynamodb.QueryInput) { q.ReturnConsumedCapacity = total }).ConsumedCapacity, 1)
		})

		s.check("ATransactionConsumesTwiceAsMuch", func(c *check) {
			put(c, "guard", item{"a": n(1)})
			out, err := c.db.TransactWriteItems(c.ctx, &dynamodb.TransactWriteItemsInput{
				ReturnConsumedCapacity: total,
				TransactItems:          []types.TransactWriteItem{c.putAction("x", item{"a": n(1)}, "", ""), c.checkAction("guard", "attribute_exists(a)")},
			})
			c.must(err)
			if len(out.ConsumedCapacity) != 1 {
				c.Fatalf("want the capacity of one table, got %v", out.ConsumedCapacity)
			}
			units(c, "a put and a condition check", &out.ConsumedCapacity[0], 4)
		})

		s.check("ABatchConsumesAsItsWritesWould", func(c *check) {
			out, err := c.db.BatchWriteItem(c.ctx, &dynamodb.BatchWriteItemInput{
				ReturnConsumedCapacity: total,
				RequestItems: map[string][]types.WriteRequest{c.table: {
					{PutRequest: &types.PutRequest{Item: c.with("x", item{"a": kilobytes(1.5)})}},
					{PutRequest: &types.PutRequest{Item: c.with("y", nil)}},
					{DeleteRequest: &types.DeleteRequest{Key: c.key("z")}},
				}},
			})
			c.must(err)
			if len(out.ConsumedCapacity) != 1 {
				c.Fatalf("want the capacity of one table, got %v", out.ConsumedCapacity)
			}
			units(c, "two puts and a delete", &out.ConsumedCapacity[0], 4)
		})

		s.check("CapacityIsReportedOnlyWhenAskedFor", func(c *check) {
			out, err := c.db.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: c.key("x")})
			c.must(err)
			if out.ConsumedCapacity != nil {
				c.Errorf("got %v", out.ConsumedCapacity)
			}
		})
	})
}
