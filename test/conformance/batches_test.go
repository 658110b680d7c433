package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// API_BatchWriteItem.html in the API reference.
func TestBatches(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		write := func(c *check, table string, requests ...types.WriteRequest) (*dynamodb.BatchWriteItemOutput, error) {
			return c.db.BatchWriteItem(c.ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{table: requests},
			})
		}
		put := func(it item) types.WriteRequest { return types.WriteRequest{PutRequest: &types.PutRequest{Item: it}} }
		del := func(key item) types.WriteRequest {
			return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}}
		}

		s.check("PutsAndDeletesAreAppliedAndNothingIsLeft", func(c *check) {
			c.given("old", item{"a": n(1)})
			c.given("replaced", item{"a": n(1)})
			out, err := write(c, c.table,
				put(c.with("new", item{"a": n(2)})), put(c.with("replaced", item{"b": n(3)})), del(c.key("old")), del(c.key("absent")))
			c.must(err)
			c.same("unprocessed", len(out.UnprocessedItems), 0)
			c.holds("new", item{"a": n(2)})
			c.holds("replaced", item{"b": n(3)})
			c.holds("old", nil)
		})

		s.check("TwentyFiveAreAcceptedAndOneMoreIsRefused", func(c *check) {
			var requests []types.WriteRequest
			for i := range 25 {
				requests = append(requests, put(c.with(rowKey(i), nil)))
			}
			_, err := write(c, c.table, requests...)
			c.must(err)
			c.holds(rowKey(24), item{})
			_, err = write(c, c.table, append(requests, put(c.with(rowKey(25), nil)))...)
			c.invalid(err)
			c.holds(rowKey(25), nil)
		})

		s.check("OneKeyTwiceIsRefused", func(c *check) {
			_, err := write(c, c.table, put(c.with("x", nil)), del(c.key("x")))
			c.invalid(err, "Provided list of item keys contains duplicates")
			c.holds("x", nil)
		})

		s.check("AWrongKeyRefusesTheWholeBatch", func(c *check) {
			_, err := write(c, c.table, put(c.with("x", nil)), del(item{"pk": str(c.pk)}))
			c.invalid(err, "The provided key element does not match the schema")
			c.holds("x", nil)
		})

		s.check("AnUnknownTableIsRefused", func(c *check) {
			_, err := write(c, newTableName(), put(c.with("x", nil)))
			c.notFound("BatchWriteItem", err)
		})
	})
}
