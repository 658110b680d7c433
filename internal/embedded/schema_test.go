package embedded

import (
	"strings"
	"testing"
	"time"
)

// TestNewTable checks that a new table is active at once, and DescribeTable returns its
// schema.
func TestNewTable(t *testing.T) {
	e := New(Config{Now: func() time.Time { return epoch }})
	created := ok(t, e, "CreateTable", tableOf("tab", "N"))["TableDescription"].(object)
	described := ok(t, e, "DescribeTable", `{"TableName":"tab"}`)["Table"].(object)
	for _, d := range []object{created, described} {
		same(t, "status", d["TableStatus"], `"ACTIVE"`)
		same(t, "keys", d["KeySchema"], `[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]`)
		same(t, "types", d["AttributeDefinitions"], `[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}]`)
		same(t, "billing", d["BillingModeSummary"].(object)["BillingMode"], `"PAY_PER_REQUEST"`)
		same(t, "time", d["CreationDateTime"], `1777896000`)
	}
	refused(t, e, "CreateTable", tableOf("tab", "N"), "ResourceInUseException", "tab")
	deleted := ok(t, e, "DeleteTable", `{"TableName":"tab"}`)["TableDescription"].(object)
	same(t, "status", deleted["TableStatus"], `"DELETING"`)
	for _, field := range []string{"CreationDateTime", "KeySchema", "AttributeDefinitions"} {
		if deleted[field] != nil {
			t.Errorf("the description of a deleted table has %s", field)
		}
	}
	for _, operation := range []string{"DescribeTable", "DeleteTable", "DescribeTimeToLive"} {
		refused(t, e, operation, `{"TableName":"tab"}`, "ResourceNotFoundException", "Requested resource not found: Table: tab not found")
	}
	refused(t, e, "GetItem", `{"TableName":"tab","Key":{"pk":{"S":"a"}}}`, "ResourceNotFoundException", "Requested resource not found")
}

// TestRefusedSchemas checks that schemas that DynamoDB refuses are refused.
func TestRefusedSchemas(t *testing.T) {
	e := New(Config{})
	good := tableOf("tab", "S")
	for _, c := range []struct{ old, replacement, want string }{
		{`"tab"`, `"ab"`, "Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3"},
		{`"tab"`, `"a b c"`, "regular expression pattern"},
		{`"KeyType":"HASH"`, `"KeyType":"RANGE"`, "The first KeySchemaElement is not a HASH"},
		{`"KeyType":"RANGE"`, `"KeyType":"HASH"`, "The second KeySchemaElement is not a RANGE"},
		{`"KeyType":"RANGE"`, `"KeyType":"BOTH"`, "enum value set"},
		{`"AttributeType":"S"`, `"AttributeType":"SS"`, "enum value set: [B, N, S]"},
		{`{"AttributeName":"sk","KeyType":"RANGE"}`, `{"AttributeName":"pk","KeyType":"RANGE"}`, "have no definition"},
		{`{"AttributeName":"sk","KeyType":"RANGE"}`, `{"AttributeName":"x","KeyType":"RANGE"}`, "not defined in AttributeDefinitions"},
		{`,{"AttributeName":"sk","KeyType":"RANGE"}`, ``, "does not exactly match"},
		{`"BillingMode":"PAY_PER_REQUEST",`, ``, "must both be specified"},
		{`"PAY_PER_REQUEST"`, `"FREE"`, "enum value set"},
		{`"PAY_PER_REQUEST"`, `"PAY_PER_REQUEST","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`, "Neither ReadCapacityUnits"},
		{`"PAY_PER_REQUEST"`, `"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":1}`, "greater than or equal to 1"},
		{`"PAY_PER_REQUEST"`, `"PAY_PER_REQUEST","GlobalSecondaryIndexes":[{}]`, "does not support secondary indexes"},
	} {
		body := strings.Replace(good, c.old, c.replacement, 1)
		if body == good {
			t.Fatal(c.old)
		}
		refused(t, e, "CreateTable", body, "ValidationException", c.want)
	}
	ok(t, e, "CreateTable", strings.Replace(good, `"PAY_PER_REQUEST"`, `"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}`, 1))
}

// TestListTables checks that tables are listed by pages.
func TestListTables(t *testing.T) {
	e := New(Config{})
	for _, name := range []string{"ccc", "aaa", "bbb"} {
		ok(t, e, "CreateTable", tableOf(name, "S"))
	}
	same(t, "all", ok(t, e, "ListTables", `{}`), `{"TableNames":["aaa","bbb","ccc"]}`)
	same(t, "first", ok(t, e, "ListTables", `{"Limit":2}`), `{"TableNames":["aaa","bbb"],"LastEvaluatedTableName":"bbb"}`)
	same(t, "second", ok(t, e, "ListTables", `{"Limit":2,"ExclusiveStartTableName":"bbb"}`), `{"TableNames":["ccc"]}`)
}

// TestTimeToLive checks that the time to live is enabled once and disabled once.
func TestTimeToLive(t *testing.T) {
	e := engine(t, Config{})
	set := func(attribute, enabled string) string {
		return `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"` + attribute + `","Enabled":` + enabled + `}}`
	}
	same(t, "at first", ok(t, e, "DescribeTimeToLive", `{"TableName":"tab"}`), `{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`)
	refused(t, e, "UpdateTimeToLive", set("x", "false"), "ValidationException", "TimeToLive is already disabled")
	same(t, "answer", ok(t, e, "UpdateTimeToLive", set("x", "true")), `{"TimeToLiveSpecification":{"AttributeName":"x","Enabled":true}}`)
	same(t, "then", ok(t, e, "DescribeTimeToLive", `{"TableName":"tab"}`), `{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"x"}}`)
	refused(t, e, "UpdateTimeToLive", set("x", "true"), "ValidationException", "TimeToLive is already enabled")
	refused(t, e, "UpdateTimeToLive", set("y", "false"), "ValidationException", "different AttributeName")
	refused(t, e, "UpdateTimeToLive", set("", "false"), "ValidationException", "attributeName")
	ok(t, e, "UpdateTimeToLive", set("x", "false"))
}

// TestExpire checks that expired items are removed only on request.
func TestExpire(t *testing.T) {
	for _, expire := range []bool{false, true} {
		now := epoch
		e := engine(t, Config{Now: func() time.Time { return now }, ExpireItems: expire})
		ok(t, e, "UpdateTimeToLive", `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"x","Enabled":true}}`)
		for _, sk := range []string{`"due"},"x":{"N":"1777896060"}`, `"later"},"x":{"N":"1777999999"}`, `"text"},"x":{"S":"1"}`, `"ancient"},"x":{"N":"1"}`, `"none"}`} {
			ok(t, e, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":`+sk+`}}`)
		}
		now = now.Add(time.Minute)
		same(t, "at the very second", ok(t, e, "Scan", `{"TableName":"tab"}`)["Count"], `5`)
		now = now.Add(time.Second)
		want := `5`
		if expire {
			want = `4`
		}
		same(t, "later", ok(t, e, "Scan", `{"TableName":"tab"}`)["Count"], want)
	}
}
