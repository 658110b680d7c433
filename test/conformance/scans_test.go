package conformance

import (
	"sort"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Scan.html in the developer guide.
func TestScans(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		// scan follows every page, and returns the items of the check's own partition and the number of pages.
		scan := func(c *check, in dynamodb.ScanInput) (own []map[string]value, pages int) {
			in.TableName, in.ConsistentRead = &c.table, aws.Bool(true)
			for {
				out, err := c.db.Scan(c.ctx, &in)
				c.must(err)
				for _, it := range out.Items {
					if pk, ok := it["pk"].(*types.AttributeValueMemberS); ok && pk.Value == c.pk {
						own = append(own, it)
					}
				}
				pages++
				if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil || pages > 100 {
					return own, pages
				}
			}
		}
		sorted := func(items []map[string]value) []string {
			keys := sortKeys(items)
			sort.Strings(keys)
			return keys
		}

		s.check("AScanReturnsTheWholeTable", func(c *check) {
			want := []string{"a", "b", "c"}
			for _, sk := range want {
				c.given(sk, item{"v": str(sk)})
			}
			got, _ := scan(c, dynamodb.ScanInput{})
			c.same("the keys", sorted(got), want)
		})

		s.check("PagesByLimitHaveEveryItemOnce", func(c *check) {
			want := []string{"a", "b", "c", "d", "e"}
			for _, sk := range want {
				c.given(sk, item{})
			}
			got, pages := scan(c, dynamodb.ScanInput{Limit: aws.Int32(2)})
			c.same("the keys", sorted(got), want)
			if pages < 3 {
				c.Errorf("five items and a limit of 2: %d pages", pages)
			}
		})

		s.check("AScanKeepsSortKeysInOrderWithinAPartition", func(c *check) {
			for _, ticket := range []int{5, 1, 3} {
				c.given(rowKey(ticket), item{})
			}
			got, _ := scan(c, dynamodb.ScanInput{Limit: aws.Int32(2)})
			c.same("the keys", sortKeys(got), []string{rowKey(1), rowKey(3), rowKey(5)})
		})

		s.check("FiltersMayUseKeysAndProjectionsApply", func(c *check) {
			c.given("a", item{"v": n(1)})
			c.given("b", item{"v": n(2), "w": n(3)})
			got, _ := scan(c, dynamodb.ScanInput{
				FilterExpression: aws.String("pk = :pk AND v > :one"), ProjectionExpression: aws.String("pk, v"),
				ExpressionAttributeValues: item{":pk": str(c.pk), ":one": n(1)},
			})
			c.same("the items", got, []map[string]value{{"pk": str(c.pk), "v": n(2)}})
		})

		s.check("ACountHasNoItems", func(c *check) {
			c.given("a", item{})
			c.given("b", item{})
			out, err := c.db.Scan(c.ctx, &dynamodb.ScanInput{
				TableName: &c.table, Select: types.SelectCount, FilterExpression: aws.String("pk = :pk"),
				ExpressionAttributeValues: item{":pk": str(c.pk)}, ConsistentRead: aws.Bool(true),
			})
			c.must(err)
			c.same("Count", int(out.Count), 2)
			c.same("items", len(out.Items), 0)
			if out.ScannedCount < out.Count {
				c.Errorf("ScannedCount %d is less than Count %d", out.ScannedCount, out.Count)
			}
		})
	})
}
