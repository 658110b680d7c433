package embedded

import (
	"fmt"
	"slices"
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

// TestQuery checks that queries read the range in order.
func TestQuery(t *testing.T) {
	e := engine(t, Config{})
	numbered(t, e, "10", "3", "-5", "1", "1.5", "2")
	for condition, want := range map[string]string{
		"sk BETWEEN :a AND :b": "1 1.5 2 3", "sk > :a AND :p = pk": "1.5 2 3 10", "sk >= :b": "3 10", "sk < :b": "-5 1 1.5 2", "sk <= :a": "-5 1",
		"sk = :b": "3", ":a < sk": "1.5 2 3 10", "(sk = :a)": "1",
	} {
		if !strings.Contains(condition, "pk") {
			condition = "pk = :p AND " + condition
		}
		values := `{":p":{"S":"p"}`
		for name, v := range map[string]string{":a": "1", ":b": "3"} {
			if strings.Contains(condition, name) {
				values += fmt.Sprintf(`,%q:{"N":%q}`, name, v)
			}
		}
		query := fmt.Sprintf(`{"TableName":"num","KeyConditionExpression":%q,"ExpressionAttributeValues":%s}`, condition, values+"}")
		if got := sorts(ok(t, e, "Query", query+"")); got != want {
			t.Errorf("%s: %s, want %s", condition, got, want)
		}
		backward := strings.Fields(want)
		slices.Reverse(backward)
		if got := sorts(ok(t, e, "Query", strings.TrimSuffix(query, "}")+`,"ScanIndexForward":false}`)); got != strings.Join(backward, " ") {
			t.Errorf("%s backward: %s", condition, got)
		}
	}
	for _, sk := range []string{"a/1", "a/2", "b/1", "B"} {
		ok(t, e, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"p"},"sk":{"S":"`+sk+`"}}}`)
	}
	begins := `{"TableName":"tab","KeyConditionExpression":"pk = :p AND begins_with(sk, :s)","ExpressionAttributeValues":{":p":{"S":"p"},":s":{"S":"a/"}}}`
	if got := sorts(ok(t, e, "Query", begins)); got != "a/1 a/2" {
		t.Error(got)
	}
	all := `{"TableName":"tab","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"p"}}}`
	if got := sorts(ok(t, e, "Query", all)); got != "B a/1 a/2 b/1" {
		t.Errorf("strings are ordered by their bytes: %s", got)
	}
}

// TestPages checks that the pages together are the whole result.
func TestPages(t *testing.T) {
	e := engine(t, Config{})
	numbered(t, e, "1", "2", "3", "4", "5")
	for _, forward := range []bool{true, false} {
		for limit := 1; limit <= 6; limit++ {
			got, start, pages := "", "", 0
			for {
				page := ok(t, e, "Query", fmt.Sprintf(`{"TableName":"num","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"p"}},"ScanIndexForward":%v,"Limit":%d%s}`, forward, limit, start))
				got += sorts(page) + " "
				pages++
				last, more := page["LastEvaluatedKey"].(object)
				if !more {
					break
				}
				start = fmt.Sprintf(`,"ExclusiveStartKey":{"pk":{"S":"p"},"sk":{"N":%q}}`, last["sk"].(object)["N"])
			}
			want := "1 2 3 4 5"
			if !forward {
				want = "5 4 3 2 1"
			}
			// A page that the limit has filled has a key to go on from, even if
			// nothing follows.
			if strings.Join(strings.Fields(got), " ") != want || pages != 5/limit+1 {
				t.Errorf("limit %d, forward %v: %s in %d pages", limit, forward, got, pages)
			}
		}
	}
}

// TestFilter checks that a filter is applied after reading.
func TestFilter(t *testing.T) {
	e := engine(t, Config{})
	numbered(t, e, "1", "2", "3", "4", "5")
	page := ok(t, e, "Query", `{"TableName":"num","KeyConditionExpression":"pk = :p","FilterExpression":"v > :b","Limit":4,"ProjectionExpression":"v","ExpressionAttributeValues":{":p":{"S":"p"},":b":{"N":"3"}}}`)
	same(t, "page", any(page), `{"Count":1,"ScannedCount":4,"Items":[{"v":{"N":"4"}}],"LastEvaluatedKey":{"pk":{"S":"p"},"sk":{"N":"4"}}}`)
	count := ok(t, e, "Query", `{"TableName":"num","KeyConditionExpression":"pk = :p","Select":"COUNT","ExpressionAttributeValues":{":p":{"S":"p"}}}`)
	same(t, "count", any(count), `{"Count":5,"ScannedCount":5}`)
}

// TestPageLimit checks that a page ends before a megabyte and costs the capacity of the
// items that it read.
func TestPageLimit(t *testing.T) {
	e := engine(t, Config{})
	for i := range 5 {
		ok(t, e, "PutItem", fmt.Sprintf(`{"TableName":"tab","Item":{"pk":{"S":"p"},"sk":{"S":"%d"},"x":{"S":%q}}}`, i, strings.Repeat("x", 300*1024)))
	}
	query := `{"TableName":"tab","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"p"}},"ProjectionExpression":"sk","ReturnConsumedCapacity":"TOTAL","ConsistentRead":true`
	page := ok(t, e, "Query", query+`}`)
	if sorts(page) != "0 1 2" {
		t.Errorf("3 items of 300 KB fit: %s", sorts(page))
	}
	// 3 × (307200 + 7) bytes are 226 units of 4 KB, summed before rounding.
	same(t, "cost", page["ConsumedCapacity"], `{"TableName":"tab","CapacityUnits":226}`)
	page = ok(t, e, "Query", query+`,"ExclusiveStartKey":{"pk":{"S":"p"},"sk":{"S":"2"}}}`)
	if _, more := page["LastEvaluatedKey"]; more || sorts(page) != "3 4" {
		t.Errorf("the rest: %s, more %v", sorts(page), more)
	}
	nothing := strings.Replace(query, `{"S":"p"}`, `{"S":"q"}`, 1)
	same(t, "nothing", ok(t, e, "Query", nothing+`}`)["ConsumedCapacity"], `{"TableName":"tab","CapacityUnits":1}`)
}

// TestRefusedQueries checks that queries that DynamoDB refuses are refused.
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

func TestQueryKeyValues(t *testing.T) {
	e := engine(t, Config{})
	query := func(condition, pk, sk string) string {
		return `{"TableName":"tab","KeyConditionExpression":"pk = :p AND ` + condition + `","ExpressionAttributeValues":{":p":{"S":"` + pk + `"},":s":{"S":"` + sk + `"}}}`
	}
	long := strings.Repeat("k", 2049)

	t.Run("AreRefusedWhenEmpty", func(t *testing.T) {
		for _, condition := range []string{"sk = :s", "sk < :s", "begins_with(sk, :s)", "sk BETWEEN :s AND :s"} {
			refused(t, e, "Query", query(condition, "p", ""), "ValidationException", "cannot contain an empty string value. Key: sk")
		}
		refused(t, e, "Query", query("sk = :s", "", "s"), "ValidationException", "cannot contain an empty string value. Key: pk")
	})

	t.Run("AreRefusedAboveTheLimitsOfKeys", func(t *testing.T) {
		ok(t, e, "Query", query("sk = :s", long[1:], long[:1024]))
		refused(t, e, "Query", query("sk = :s", long, "s"), "ValidationException", "Size of hashkey has exceeded")
		refused(t, e, "Query", query("sk = :s", "p", long[:1025]), "ValidationException", "Aggregated size of all range keys")
	})
}

// test_query_no_sort_key_exclusive_start_key of scylladb/scylla, which its
// authors compare with the service (test/alternator/test_query.py).
func TestQueryStartKey(t *testing.T) {
	t.Run("IsNeitherReturnedNorAcceptedWithoutASortKey", func(t *testing.T) {
		e := New(Config{})
		ok(t, e, "CreateTable", strings.NewReplacer(`,{"AttributeName":"sk","KeyType":"RANGE"}`, ``, `,{"AttributeName":"sk","AttributeType":"S"}`, ``).Replace(tableOf("hash", "S")))
		ok(t, e, "PutItem", `{"TableName":"hash","Item":{"pk":{"S":"a"}}}`)
		page := ok(t, e, "Query", `{"TableName":"hash","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"Limit":1}`)
		same(t, "the page", any(page), `{"Count":1,"ScannedCount":1,"Items":[{"pk":{"S":"a"}}]}`)
		refused(t, e, "Query", `{"TableName":"hash","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"ExclusiveStartKey":{"pk":{"S":"a"}}}`,
			"ValidationException", "ExclusiveStartKey")
	})
}
