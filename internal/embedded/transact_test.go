package embedded

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

func at(sk string) string { return `"TableName":"tab","Key":{"pk":{"S":"a"},"sk":{"S":"` + sk + `"}}` }

func TestRefusedTransactions(t *testing.T) {
	e := engine(t, Config{})
	many := strings.Repeat(`{"Delete":{`+at("x")+`}},`, 101)
	for items, want := range map[string]string{
		``: "greater than or equal to 1", `{}`: "one of Check, Put, Update or Delete", many[:len(many)-1]: "less than or equal to 100",
		`{"Delete":{` + at("x") + `}},{"ConditionCheck":{` + at("x") + `,"ConditionExpression":"attribute_exists(pk)"}}`: "multiple operations on one item",
		`{"ConditionCheck":{` + at("x") + `}}`:                          "conditionExpression",
		`{"Update":{` + at("x") + `}}`:                                  "updateExpression",
		`{"Delete":{` + at("x") + `},"Update":{` + at("y") + `}}`:       "one of Check, Put, Update or Delete",
		`{"Delete":{` + at("x") + `,"ConditionExpression":"status=z"}}`: "reserved keyword: status",
	} {
		refused(t, e, "TransactWriteItems", `{"TransactItems":[`+items+`]}`, "ValidationException", want)
	}
	for items, want := range map[string]string{
		`{"Update":{` + at("x") + `,"UpdateExpression":"REMOVE pk"}}`: "part of the key",
		`{"Put":{"TableName":"tab","Item":{"pk":{"S":"a"}}}}`:         "Missing the key sk in the item",
		`{"Delete":{"TableName":"tab","Key":{"pk":{"S":"a"}}}}`:       "The provided key element does not match the schema",
	} {
		out := refused(t, e, "TransactWriteItems", `{"TransactItems":[{"Delete":{`+at("y")+`}},`+items+`]}`, "TransactionCanceledException", "[None, ValidationError]")
		reason := out["CancellationReasons"].([]any)[1].(object)
		if message, _ := reason["Message"].(string); !strings.Contains(message, want) {
			t.Errorf("%s: %v", items, reason)
		}
	}
	refused(t, e, "TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"nope","Key":{"pk":{"S":"a"}}}}]}`, "ResourceNotFoundException", "")
}

// TestClientRequestToken checks that a client request token identifies its request for
// ten minutes.
func TestClientRequestToken(t *testing.T) {
	now := epoch
	e := engine(t, Config{Now: func() time.Time { return now }})
	add := func(token, n string) string {
		return fmt.Sprintf(`{"TransactItems":[{"Update":{%s,"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":%q}}}}],"ClientRequestToken":%q,"ReturnConsumedCapacity":"TOTAL"}`, at("b"), n, token)
	}
	first := ok(t, e, "TransactWriteItems", add("token", "1"))
	same(t, "written", first["ConsumedCapacity"], `[{"TableName":"tab","CapacityUnits":2,"WriteCapacityUnits":2}]`)
	now = now.Add(10*time.Minute - 1)
	again := ok(t, e, "TransactWriteItems", add("token", "1"))
	same(t, "answered from memory", again["ConsumedCapacity"], `[{"TableName":"tab","CapacityUnits":2,"ReadCapacityUnits":2}]`)
	same(t, "once", stored(t, e).(object)["n"], `{"N":"1"}`)
	refused(t, e, "TransactWriteItems", add("token", "2"), "IdempotentParameterMismatchException", "do not match")
	ok(t, e, "TransactWriteItems", add("other", "1"))
	now = now.Add(1)
	ok(t, e, "TransactWriteItems", add("token", "1"))
	same(t, "and again", stored(t, e).(object)["n"], `{"N":"3"}`)
	refused(t, e, "TransactWriteItems", add(strings.Repeat("x", 37), "1"), "ValidationException", "less than or equal to 36")
}

// TestTransactGet checks that TransactGetItems returns its items in order.
func TestTransactGet(t *testing.T) {
	e := engine(t, Config{})
	put(t, e, `"n":{"N":"1"}`)
	out := ok(t, e, "TransactGetItems", `{"TransactItems":[{"Get":{`+at("none")+`}},{"Get":{`+at("b")+`,"ProjectionExpression":"n"}}],"ReturnConsumedCapacity":"TOTAL"}`)
	same(t, "answer", any(out), `{"Responses":[{},{"Item":{"n":{"N":"1"}}}],"ConsumedCapacity":[{"TableName":"tab","CapacityUnits":4,"ReadCapacityUnits":4}]}`)
}

func TestTransactionKeys(t *testing.T) {
	e := engine(t, Config{})
	write := func(entry string) string { return `{"TransactItems":[{"Delete":{` + at("y") + `}},` + entry + `]}` }
	get := func(key string) string {
		return `{"TransactItems":[{"Get":{` + at("y") + `}},{"Get":{"TableName":"tab","Key":` + key + `}}]}`
	}
	for _, test := range []struct{ name, operation, body string }{
		{"Delete", "TransactWriteItems", write(`{"Delete":{` + at("") + `}}`)},
		{"Update", "TransactWriteItems", write(`{"Update":{` + at("") + `,"UpdateExpression":"REMOVE x"}}`)},
		{"ConditionCheck", "TransactWriteItems", write(`{"ConditionCheck":{` + at("") + `,"ConditionExpression":"attribute_exists(x)"}}`)},
		{"Put", "TransactWriteItems", write(`{"Put":{"TableName":"tab","Item":{"pk":{"S":""},"sk":{"S":"x"}}}}`)},
		{"Get", "TransactGetItems", get(`{"pk":{"S":"a"},"sk":{"S":""}}`)},
	} {
		t.Run("RequestIsRefusedForEmptyKeyOf"+test.name, func(t *testing.T) {
			refused(t, e, test.operation, test.body, "ValidationException", "key attribute cannot contain an empty string value")
		})
	}
	for name, key := range map[string]string{
		"MissingAttribute": `{"pk":{"S":"a"}}`,
		"WrongType":        `{"pk":{"S":"a"},"sk":{"N":"1"}}`,
		"OtherAttribute":   `{"pk":{"S":"a"},"sk":{"S":"b"},"x":{"S":"c"}}`,
	} {
		t.Run("TransactGetItemsIsCancelledFor"+name, func(t *testing.T) {
			out := refused(t, e, "TransactGetItems", get(key), "TransactionCanceledException", "[None, ValidationError]")
			same(t, "reasons", out["CancellationReasons"], `[{"Code":"None"},{"Code":"ValidationError","Message":"The provided key element does not match the schema"}]`)
		})
	}
}

func TestTransactionSize(t *testing.T) {
	large := value.OfString(strings.Repeat("x", 390<<10))
	all := func(kind, rest string) string {
		var entries []string
		for i := range 11 {
			entries = append(entries, `{"`+kind+`":{`+at(fmt.Sprint(i))+rest+`}}`)
		}
		return `{"TransactItems":[` + strings.Join(entries, ",") + `]}`
	}
	e := engine(t, Config{})
	for i := range 11 { // not by requests: they take long to decode
		item := value.Item{"pk": value.OfString("a"), "sk": value.OfString(fmt.Sprint(i)), "x": large}
		tab := e.tables["tab"]
		tab.put(tab.keyOf(item), item)
	}
	t.Run("UpdatesOfMoreThan4MBAreRefused", func(t *testing.T) {
		refused(t, e, "TransactWriteItems", all("Update", `,"UpdateExpression":"SET n = x REMOVE x"`), "ValidationException", "exceed")
	})
	t.Run("DeletesOfMoreThan4MBAreMade", func(t *testing.T) {
		ok(t, e, "TransactWriteItems", all("Delete", ""))
		if got := len(e.Items("tab")); got != 0 {
			t.Errorf("%d items are left", got)
		}
	})
}
