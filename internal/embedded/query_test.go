package embedded

import (
	"fmt"
	"strings"
	"testing"
)

// numbered fills table "num", whose sort key is a number, with the partition
// "p" of the given sort keys; each item has v equal to its sort key.
func numbered(t *testing.T, e *Engine, keys ...string) {
	t.Helper()
	ok(t, e, "CreateTable", tableOf("num", "N"))
	for _, n := range keys {
		ok(t, e, "PutItem", fmt.Sprintf(`{"TableName":"num","Item":{"pk":{"S":"p"},"sk":{"N":%q},"v":{"N":%q}}}`, n, n))
	}
}

// sorts are the sort keys of a page.
func sorts(page object) string {
	var all []string
	for _, i := range page["Items"].([]any) {
		sk := i.(object)["sk"].(object)
		for _, v := range sk {
			all = append(all, v.(string))
		}
	}
	return strings.Join(all, " ")
}

func TestRefusedQueries(t *testing.T) {
	e := engine(t, Config{})
	numbered(t, e, "1")
	p, pa := `{":p":{"S":"p"}}`, `{":p":{"S":"p"},":a":{"N":"1"}}`
	for _, c := range []struct{ condition, values, extra, want string }{
		{"sk = :a", `{":a":{"N":"1"}}`, "", "Query condition missed key schema element: pk"},
		{"pk = :p AND v = :a", pa, "", "Query condition missed key schema element: sk"},
		{"pk > :p", p, "", "Query key condition not supported"},
		{"pk = :p AND sk <> :a", pa, "", "Invalid operator used in KeyConditionExpression: <>"},
		{"pk = :p OR sk = :a", pa, "", "Invalid operator used in KeyConditionExpression: OR"},
		{"pk = :p AND NOT sk = :a", pa, "", "Invalid operator used in KeyConditionExpression: NOT"},
		{"pk = :p AND sk IN (:a)", pa, "", "Invalid operator used in KeyConditionExpression: IN"},
		{"pk = :p AND attribute_exists(sk)", p, "", "Invalid operator used in KeyConditionExpression: attribute_exists"},
		{"pk = :p AND size(sk) = :a", pa, "", "KeyConditionExpressions cannot contain nested operations"},
		{"pk = :p AND sk.x = :a", pa, "", "KeyConditionExpressions cannot have conditions on nested attributes"},
		{"pk = :p AND pk = :p", p, "", "must only contain one condition per key"},
		{"pk = :p AND sk = :a AND v = :a", pa, "", "Conditions can be of length 1 or 2 only"},
		{"pk = sk", "null", "", "Multiple attribute names used in one condition"},
		{"pk = :p AND sk = :p", p, "", "Condition parameter type does not match schema type"},
		{"pk = :p", `{":p":{"S":""}}`, "", "cannot contain an empty string value"},
		{"pk = :p", pa, "", "unused in expressions: keys: {:a}"},
		{"pk = :p", pa, `"FilterExpression":"sk = :a"`, "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk"},
		{"pk = :p", p, `"ExclusiveStartKey":{"pk":{"S":"p"}}`, "The provided starting key is invalid"},
		{"pk = :p", p, `"ExclusiveStartKey":{"pk":{"S":"q"},"sk":{"N":"1"}}`, "outside query boundaries"},
		{"pk = :p AND sk > :a", pa, `"ExclusiveStartKey":{"pk":{"S":"p"},"sk":{"N":"1"}}`, "does not match the range key predicate"},
		{"pk = :p", p, `"Limit":0`, "greater than or equal to 1"},
		{"pk = :p", p, `"Select":"SPECIFIC_ATTRIBUTES"`, "Must specify the AttributesToGet or ProjectionExpression"},
		{"pk = :p", p, `"Select":"COUNT","ProjectionExpression":"sk"`, "Cannot specify the ProjectionExpression"},
		{"pk = :p", p, `"IndexName":"by-v"`, "The table does not have the specified index: by-v"},
	} {
		if c.extra != "" {
			c.extra = "," + c.extra
		}
		body := fmt.Sprintf(`{"TableName":"num","KeyConditionExpression":%q,"ExpressionAttributeValues":%s%s}`, c.condition, c.values, c.extra)
		refused(t, e, "Query", body, "ValidationException", c.want)
	}
}

// TestScan checks that segments and pages of a scan divide the table.
func TestScan(t *testing.T) {
	e := engine(t, Config{})
	const items = 60
	for i := range items {
		ok(t, e, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"p%d"},"sk":{"S":"%d"}}}`, i/3, i))
	}
	for _, segments := range []int{1, 4, 7} {
		seen := map[string]int{}
		for segment := range segments {
			start := ""
			for {
				page := ok(t, e, "Scan", fmt.Sprintf(`{"TableName":"tab","Segment":%d,"TotalSegments":%d,"Limit":4%s}`, segment, segments, start))
				for _, sk := range strings.Fields(sorts(page)) {
					seen[sk]++
				}
				last, more := page["LastEvaluatedKey"].(object)
				if !more {
					break
				}
				start = fmt.Sprintf(`,"ExclusiveStartKey":{"pk":{"S":%q},"sk":{"S":%q}}`, last["pk"].(object)["S"], last["sk"].(object)["S"])
			}
		}
		if len(seen) != items {
			t.Errorf("%d segments: %d items seen", segments, len(seen))
		}
		for sk, times := range seen {
			if times != 1 {
				t.Errorf("%d segments: %s seen %d times", segments, sk, times)
			}
		}
	}
	for extra, want := range map[string]string{
		`"Segment":0`: "TotalSegments parameter is required", `"TotalSegments":2`: "Segment parameter is required",
		`"Segment":2,"TotalSegments":2`: "zero-based", `"Segment":0,"TotalSegments":0`: "greater than or equal to 1",
		`"ExpressionAttributeNames":{"#x":"x"}`: "can only be specified when using expressions",
	} {
		refused(t, e, "Scan", `{"TableName":"tab",`+extra+`}`, "ValidationException", want)
	}
	if got := len(e.Items("tab")); got != items {
		t.Errorf("a snapshot of %d items", got)
	}
	if e.Items("none") != nil {
		t.Error("a snapshot of no table")
	}
}

// test_query_no_sort_key_exclusive_start_key of scylladb/scylla, which its
// authors compare with the service (test/alternator/test_query.py).
func TestStartKeyWithoutSortKey(t *testing.T) {
	e := New(Config{})
	ok(t, e, "CreateTable", strings.NewReplacer(`,{"AttributeName":"sk","KeyType":"RANGE"}`, ``, `,{"AttributeName":"sk","AttributeType":"S"}`, ``).Replace(tableOf("hash", "S")))
	ok(t, e, "PutItem", `{"TableName":"hash","Item":{"pk":{"S":"a"}}}`)
	page := ok(t, e, "Query", `{"TableName":"hash","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"Limit":1}`)
	same(t, "the page", any(page), `{"Count":1,"ScannedCount":1,"Items":[{"pk":{"S":"a"}}]}`)
	refused(t, e, "Query", `{"TableName":"hash","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"ExclusiveStartKey":{"pk":{"S":"a"}}}`,
		"ValidationException", "ExclusiveStartKey")
}
