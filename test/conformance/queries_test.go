package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// query sends a Query for the check's own partition; in changes what is sent.
func (c *check) query(sortCondition string, values item, in func(*dynamodb.QueryInput)) *dynamodb.QueryOutput {
	out, err := c.tryQuery(sortCondition, values, in)
	c.must(err)
	return out
}

func (c *check) tryQuery(sortCondition string, values item, in func(*dynamodb.QueryInput)) (*dynamodb.QueryOutput, error) {
	all := item{":pk": str(c.pk)}
	for name, v := range values {
		all[name] = v
	}
	input := &dynamodb.QueryInput{
		TableName: &c.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk" + sortCondition), ExpressionAttributeValues: all,
	}
	if in != nil {
		in(input)
	}
	return c.db.Query(c.ctx, input)
}

// rowKey returns the sort key of a ticket's row.
func rowKey(ticket int) string { return fmt.Sprintf("lock/%038d", ticket) }

// sortKeys returns the sort keys of the items, in order.
func sortKeys(items []map[string]types.AttributeValue) []string {
	var all []string
	for _, it := range items {
		if sk, ok := it["sk"].(*types.AttributeValueMemberS); ok {
			all = append(all, sk.Value)
		}
	}
	return all
}

// Query.html, Query.KeyConditionExpressions.html, Query.Pagination.html and Query.FilterExpression.html in the developer
// guide.
func TestQueries(t *testing.T) {
	onEveryEngine(t, func(s *suite) {
		s.check("KeyConditionsSelectARange", func(c *check) {
			for _, sk := range []string{"a", "b", "b1", "b2", "c"} {
				c.given(sk, item{})
			}
			for condition, want := range map[string]string{
				"":                             "a b b1 b2 c",
				" AND sk = :b":                 "b",
				" AND sk < :b":                 "a",
				" AND sk <= :b":                "a b",
				" AND sk > :b":                 "b1 b2 c",
				" AND sk >= :b":                "b b1 b2 c",
				" AND sk BETWEEN :b AND :b2":   "b b1 b2",
				" AND begins_with(sk, :b)":     "b b1 b2",
				" AND (sk BETWEEN :b AND :b2)": "b b1 b2",
			} {
				out := c.query(condition, used(condition, item{":b": str("b"), ":b2": str("b2")}), nil)
				c.same(condition, strings.Join(sortKeys(out.Items), " "), want)
				c.same(condition+": Count", int(out.Count), len(strings.Fields(want)))
				c.same(condition+": ScannedCount", int(out.ScannedCount), len(strings.Fields(want)))
			}
		})

		// Query.KeyConditionExpressions.html lists begins_with beside the comparisons, which are of bytes.
		s.check("BeginsWithDistinguishesUpperAndLowerCase", func(c *check) {
			for _, sk := range []string{"A", "Ab", "a", "ab"} {
				c.given(sk, item{})
			}
			out := c.query(" AND begins_with(sk, :b)", item{":b": str("a")}, nil)
			c.same("of a", sortKeys(out.Items), []string{"a", "ab"})
			out = c.query(" AND begins_with(sk, :b)", item{":b": str("A")}, nil)
			c.same("of A", sortKeys(out.Items), []string{"A", "Ab"})
		})

		s.check("SortKeysAreOrderedByTheirBytes", func(c *check) {
			want := []string{"!", "/", "0", "10", "2", "A", "Z", "_", "a", "aa", "b", "é", "ﬀ", "🎟"}
			for _, sk := range []string{"🎟", "ﬀ", "é", "b", "aa", "a", "_", "Z", "A", "2", "10", "0", "/", "!"} {
				c.given(sk, item{})
			}
			c.same("upwards", sortKeys(c.query("", nil, nil).Items), want)
			down := c.query("", nil, func(in *dynamodb.QueryInput) { in.ScanIndexForward = aws.Bool(false); in.Limit = aws.Int32(2) })
			c.same("downwards", sortKeys(down.Items), []string{"🎟", "ﬀ"})
		})

		s.check("AnEmptyPartitionHasNoItemsAndNoFurtherPage", func(c *check) {
			out := c.query("", nil, nil)
			c.same("items", len(out.Items), 0)
			c.same("count", int(out.Count), 0)
			c.same("last key", len(out.LastEvaluatedKey), 0)
		})

		s.check("PagesByLimitHaveEveryItemOnce", func(c *check) {
			for i := range 7 {
				c.given(rowKey(i), item{})
			}
			var got []string
			var start item
			pages := 0
			for {
				out := c.query("", nil, func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(3); in.ExclusiveStartKey = start })
				got = append(got, sortKeys(out.Items)...)
				pages++
				if start = out.LastEvaluatedKey; start == nil || pages > 9 {
					break
				}
				c.same("the last key of a page", start, c.key(got[len(got)-1]))
			}
			c.same("pages", pages, 3)
			c.same("items", got, []string{rowKey(0), rowKey(1), rowKey(2), rowKey(3), rowKey(4), rowKey(5), rowKey(6)})
		})

		s.check("APageThatTheLimitFillsHasALastKeyEvenAtTheEnd", func(c *check) {
			for i := range 3 {
				c.given(rowKey(i), item{})
			}
			out := c.query("", nil, func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(3) })
			c.same("the last key", out.LastEvaluatedKey, c.key(rowKey(2)))
			out = c.query("", nil, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = out.LastEvaluatedKey })
			c.same("items after it", len(out.Items), 0)
			c.same("last key after it", len(out.LastEvaluatedKey), 0)
		})

		s.check("AStartKeyNeedNotExist", func(c *check) {
			for i := range 4 {
				c.given(rowKey(2*i), item{})
			}
			out := c.query("", nil, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = c.key(rowKey(3)) })
			c.same("upwards", sortKeys(out.Items), []string{rowKey(4), rowKey(6)})
			out = c.query("", nil, func(in *dynamodb.QueryInput) {
				in.ExclusiveStartKey, in.ScanIndexForward = c.key(rowKey(3)), aws.Bool(false)
			})
			c.same("downwards", sortKeys(out.Items), []string{rowKey(2), rowKey(0)})
		})

		s.check("PagesEndAtOneMegabyte", func(c *check) {
			const rows, size = 9, 300 * 1024
			filler := str(strings.Repeat("x", size))
			for i := range rows {
				c.given(rowKey(i), item{"filler": filler})
			}
			var got []string
			var start item
			pages := 0
			for {
				// What is left out of the answer counts all the same.
				out := c.query("", nil, func(in *dynamodb.QueryInput) {
					in.ExclusiveStartKey, in.ProjectionExpression = start, aws.String("sk")
				})
				got = append(got, sortKeys(out.Items)...)
				pages++
				// A page ends with the item that reaches the limit, or with the one before it.
				if len(out.Items)*size > 1<<20+size {
					c.Errorf("page %d has %d items of %d bytes", pages, len(out.Items), size)
				}
				if start = out.LastEvaluatedKey; start == nil || pages > rows {
					break
				}
				if len(out.Items) < 3 {
					c.Errorf("page %d has %d items of %d bytes", pages, len(out.Items), size)
				}
			}
			if pages != 3 {
				c.Errorf("%d rows of %d bytes came in %d pages", rows, size, pages)
			}
			var want []string
			for i := range rows {
				want = append(want, rowKey(i))
			}
			c.same("items", got, want)
		})

		s.check("AFilterIsAppliedAfterTheLimit", func(c *check) {
			for i := range 6 {
				c.given(rowKey(i), item{"i": n(i)})
			}
			out := c.query("", item{":four": n(4)}, func(in *dynamodb.QueryInput) {
				in.FilterExpression, in.Limit = aws.String("i >= :four"), aws.Int32(5)
			})
			c.same("items", sortKeys(out.Items), []string{rowKey(4)})
			c.same("Count", int(out.Count), 1)
			c.same("ScannedCount", int(out.ScannedCount), 5)
			c.same("the last key", out.LastEvaluatedKey, c.key(rowKey(4)))
		})

		s.check("ACountHasNoItems", func(c *check) {
			for i := range 3 {
				c.given(rowKey(i), item{})
			}
			out := c.query("", nil, func(in *dynamodb.QueryInput) { in.Select = types.SelectCount })
			c.same("Count", int(out.Count), 3)
			c.same("items", len(out.Items), 0)
		})

		s.check("AProjectionReturnsThePathsThatExist", func(c *check) {
			c.given("x", item{"a": n(1), "b": n(2), "m": object(item{"k": n(3), "l": n(4)}), "l": list(n(5), n(6), n(7))})
			out := c.query("", nil, func(in *dynamodb.QueryInput) {
				in.ProjectionExpression = aws.String("a, m.k, #l[2], #l[0], absent, m.absent")
				in.ExpressionAttributeNames = map[string]string{"#l": "l"}
			})
			want := item{"a": n(1), "m": object(item{"k": n(3)}), "l": list(n(5), n(7))}
			c.same("the item", out.Items, []map[string]value{want})

			got, err := c.db.GetItem(c.ctx, &dynamodb.GetItemInput{
				TableName: &c.table, Key: c.key("x"), ProjectionExpression: aws.String("m.k, a"),
			})
			c.must(err)
			c.same("GetItem", got.Item, item{"a": n(1), "m": object(item{"k": n(3)})})
		})

		s.check("KeyNamesMayBePlaceholders", func(c *check) {
			c.given("x", item{"a": n(1)})
			out, err := c.db.Query(c.ctx, &dynamodb.QueryInput{
				TableName: &c.table, KeyConditionExpression: aws.String("(#0 = :0) AND (#1 BETWEEN :1 AND :2)"),
				ExpressionAttributeNames:  map[string]string{"#0": "pk", "#1": "sk"},
				ExpressionAttributeValues: item{":0": str(c.pk), ":1": str("w"), ":2": str("y")},
			})
			c.must(err)
			c.same("items", sortKeys(out.Items), []string{"x"})
		})

		s.check("KeyConditionsThatAreNoRangeAreRefused", func(c *check) {
			for condition, part := range map[string]string{
				" AND sk <> :b":              "",
				" AND sk = :b OR sk = :b2":   "",
				" AND NOT sk = :b":           "",
				" AND sk IN (:b)":            "",
				" AND contains(sk, :b)":      "",
				" AND another = :b":          "Query condition missed key schema element",
				" AND sk = :b AND sk > :b":   "",
				" AND sk BETWEEN :b2 AND :b": "The BETWEEN operator requires upper bound to be greater than or equal to lower bound",
			} {
				_, err := c.tryQuery(condition, used(condition, item{":b": str("b"), ":b2": str("b2")}), nil)
				c.invalid(err, part)
			}
			_, err := c.db.Query(c.ctx, &dynamodb.QueryInput{
				TableName: &c.table, KeyConditionExpression: aws.String("sk = :b"), ExpressionAttributeValues: item{":b": str("b")},
			})
			c.invalid(err, "Query condition missed key schema element")
		})

		s.check("AKeyConditionOfAnotherTypeIsRefused", func(c *check) {
			_, err := c.tryQuery(" AND sk = :number", item{":number": n(1)}, nil)
			c.invalid(err, "Condition parameter type does not match schema type")
		})

		// Constraints.html: a sort key has 1 to 1,024 bytes.
		s.check("ASortKeyConditionHasTheLimitsOfASortKey", func(c *check) {
			for _, condition := range []string{" AND sk = :s", " AND begins_with(sk, :s)"} {
				_, err := c.tryQuery(condition, item{":s": str("")}, nil)
				c.invalid(err, "empty string")
				_, err = c.tryQuery(condition, item{":s": str(strings.Repeat("k", 1025))}, nil)
				c.invalid(err, "1024 bytes")
			}
		})

		s.check("AFilterOnAKeyIsRefused", func(c *check) {
			_, err := c.tryQuery("", item{":b": str("b")}, func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("sk > :b") })
			c.invalid(err, "Filter Expression can only contain non-primary key attributes")
		})

		s.check("ALimitBelowOneIsRefused", func(c *check) {
			_, err := c.tryQuery("", nil, func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(0) })
			c.invalid(err, "greater than or equal to 1")
		})

		s.check("ThePaginatorOfTheSdkFollowsEveryPage", func(c *check) {
			for i := range 5 {
				c.given(rowKey(i), item{})
			}
			pages := dynamodb.NewQueryPaginator(c.db, &dynamodb.QueryInput{
				TableName: &c.table, Limit: aws.Int32(2), ConsistentRead: aws.Bool(true),
				KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": str(c.pk)},
			})
			var got []string
			for pages.HasMorePages() {
				page, err := pages.NextPage(c.ctx)
				c.must(err)
				got = append(got, sortKeys(page.Items)...)
			}
			c.same("items", fmt.Sprint(len(got)), "5")
		})
	})
}
