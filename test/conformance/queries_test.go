package conformance

import (
	"fmt"
	"maps"
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
	return c.db.Query(c.ctx, c.queryInput(sortCondition, values, in))
}

func (c *check) queryInput(sortCondition string, values item, in func(*dynamodb.QueryInput)) *dynamodb.QueryInput {
	all := item{":pk": str(c.pk)}
	maps.Copy(all, values)
	input := &dynamodb.QueryInput{
		TableName: &c.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk" + sortCondition), ExpressionAttributeValues: all,
	}
	if in != nil {
		in(input)
	}
	return input
}

// pages follows the pages of a query of the check's own partition, and returns their sort keys as well.
func (c *check) pages(in func(*dynamodb.QueryInput)) (keys []string, all []*dynamodb.QueryOutput) {
	pages := dynamodb.NewQueryPaginator(c.db, c.queryInput("", nil, in))
	for pages.HasMorePages() && len(all) < 100 {
		page, err := pages.NextPage(c.ctx)
		c.must(err)
		keys, all = append(keys, sortKeys(page.Items)...), append(all, page)
	}
	return keys, all
}

// givenRows puts the rows of tickets from 0, and returns their sort keys.
func (c *check) givenRows(n int, attributes item) (keys []string) {
	for i := range n {
		c.given(rowKey(i), attributes)
		keys = append(keys, rowKey(i))
	}
	return keys
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
			rows := c.givenRows(7, nil)
			keys, pages := c.pages(func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(3) })
			c.same("items", keys, rows)
			if c.same("pages", len(pages), 3); len(pages) == 3 {
				c.same("the last key of the first", pages[0].LastEvaluatedKey, c.key(rowKey(2)))
				c.same("the last key of the second", pages[1].LastEvaluatedKey, c.key(rowKey(5)))
			}
		})

		s.check("APageThatTheLimitFillsHasALastKeyEvenAtTheEnd", func(c *check) {
			c.givenRows(3, nil)
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
			const size = 300 * 1024
			rows := c.givenRows(9, item{"filler": str(strings.Repeat("x", size))})
			// What is left out of the answer counts all the same.
			keys, pages := c.pages(func(in *dynamodb.QueryInput) { in.ProjectionExpression = aws.String("sk") })
			c.same("items", keys, rows)
			c.same("pages", len(pages), 3)
			for i, page := range pages {
				// A page ends with the item that reaches the limit, or with the one before it.
				if n := len(page.Items); n*size > 1<<20+size || n < 3 && i < len(pages)-1 {
					c.Errorf("page %d has %d items of %d bytes", i, n, size)
				}
			}
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
			c.givenRows(3, nil)
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
				c.invalid(errorOf(c.tryQuery(condition, used(condition, item{":b": str("b"), ":b2": str("b2")}), nil)), part)
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
				c.invalid(errorOf(c.tryQuery(condition, item{":s": str("")}, nil)), "empty string")
				c.invalid(errorOf(c.tryQuery(condition, item{":s": str(strings.Repeat("k", 1025))}, nil)), "1024 bytes")
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
	})
}
