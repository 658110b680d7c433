package embedded

import (
	"strings"
	"testing"
	"time"
)

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
