package embedded

import (
	"strings"
	"testing"
)

const keyAB = `"TableName":"tab","Key":{"pk":{"S":"a"},"sk":{"S":"b"}}`

func put(t *testing.T, e *Engine, attributes string) {
	t.Helper()
	if attributes != "" {
		attributes = "," + attributes
	}
	ok(t, e, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"b"}`+attributes+`}}`)
}

func stored(t *testing.T, e *Engine) any {
	t.Helper()
	return ok(t, e, "GetItem", `{`+keyAB+`}`)["Item"]
}

// TestRefusedItems checks what test/conformance does not ask of all engines.
func TestRefusedItems(t *testing.T) {
	e := engine(t, Config{})
	refused(t, e, "PutItem", `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"b"},"x":{}}}`, "ValidationException", "Supplied AttributeValue is empty")
	refused(t, e, "UpdateItem", `{`+keyAB+`,"UpdateExpression":"SET y = :v","ExpressionAttributeValues":{":v":{"N":"x"}}}`, "ValidationException",
		"ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: x for key :v")
	for extra, want := range map[string]string{
		`"ConditionExpression":"x = :x","ExpressionAttributeValues":{}`:                                     "ExpressionAttributeValues must not be empty",
		`"ConditionExpression":"attribute_exists(x)","ExpressionAttributeValues":{":x":{"N":"1"}}`:          "Value provided in ExpressionAttributeValues unused in expressions: keys: {:x}",
		`"ConditionExpression":"attribute_exists(x)","ExpressionAttributeNames":{"#x":"x"}`:                 "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}",
		`"ConditionExpression":"attribute_exists(x)","ExpressionAttributeNames":{"x":"y"}`:                  `contains invalid key: Syntax error; key: "x"`,
		`"ConditionExpression":"x = :x","ExpressionAttributeValues":{":x":{"N":"1"}},"ReturnValues":"SOME"`: "enum value set",
	} {
		refused(t, e, "UpdateItem", `{`+keyAB+`,`+extra+`}`, "ValidationException", want)
	}
}

// Constraints.html in the developer guide: "Attributes" and "Expression
// parameters".
func TestNameLimits(t *testing.T) {
	e := engine(t, Config{})
	withName := func(name string) string {
		return `{` + keyAB + `,"UpdateExpression":"SET #n = :v","ExpressionAttributeNames":{"#n":"` + name + `"},"ExpressionAttributeValues":{":v":{"N":"1"}}}`
	}
	item := func(attribute string) string {
		return `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"b"},` + attribute + `}}`
	}
	long := strings.Repeat("n", 65536)

	t.Run("AcceptNamesOf65535Bytes", func(t *testing.T) {
		ok(t, e, "UpdateItem", withName(long[1:]))
		ok(t, e, "PutItem", item(`"`+long[1:]+`":{"N":"1"}`))
	})

	t.Run("RefuseEmptyAndLongerNamesAtEveryDepth", func(t *testing.T) {
		for name, want := range map[string]string{"": "Empty attribute name", long: "must be less than 65536 bytes"} {
			refused(t, e, "UpdateItem", withName(name), "ValidationException", want)
			refused(t, e, "PutItem", item(`"`+name+`":{"N":"1"}`), "ValidationException", want)
			refused(t, e, "PutItem", item(`"m":{"M":{"l":{"L":[{"M":{"`+name+`":{"N":"1"}}}]}}}`), "ValidationException", want)
			refused(t, e, "GetItem", `{`+keyAB+`,"ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"`+name+`"}}`, "ValidationException", want)
		}
	})

	t.Run("RefusePlaceholdersOf256Bytes", func(t *testing.T) {
		placeholder := func(bytes int) string {
			name, val := "#"+long[:bytes-1], ":"+long[:bytes-1]
			return `{` + keyAB + `,"UpdateExpression":"SET ` + name + ` = ` + val + `","ExpressionAttributeNames":{"` + name + `":"x"},"ExpressionAttributeValues":{"` + val + `":{"N":"1"}}}`
		}
		ok(t, e, "UpdateItem", placeholder(255))
		refused(t, e, "UpdateItem", placeholder(256), "ValidationException", "a key that is too long; size of key: 256")
	})

	t.Run("RefuseSubstitutionsAbove2MB", func(t *testing.T) {
		compare := func(bytes int) string {
			half := strings.Repeat("v", bytes/2)
			return `{` + keyAB + `,"UpdateExpression":"REMOVE x","ConditionExpression":"y <> :a AND y <> :b","ExpressionAttributeValues":{":a":{"S":"` + half + `"},":b":{"S":"` + half + `"}}}`
		}
		ok(t, e, "UpdateItem", compare(2<<20-4))
		refused(t, e, "UpdateItem", compare(2<<20-2), "ValidationException", "ExpressionAttributeValues exceeds max size")
	})
}

// The figures are those that nubo-db/dynoxide measured on the service.
func TestUpdateSizeLimit(t *testing.T) {
	const keyBytes = 3 + 3 // pk, a; sk, b
	update := func(expression, value string, bytes int) (*Engine, string) {
		e := engine(t, Config{})
		// The size of n is 3, and that of l is 1+3+1+2, before and after the update.
		put(t, e, `"n":{"N":"1"},"l":{"L":[{"N":"1"}]},"x":{"S":"`+strings.Repeat("x", bytes-keyBytes-3-(1+3+1+2)-1)+`"}`)
		return e, `{` + keyAB + `,"UpdateExpression":"` + expression + `","ExpressionAttributeValues":{":v":` + value + `}}`
	}

	t.Run("CountsEachAction", func(t *testing.T) {
		for expression, overhead := range map[string]int{
			"SET n = :v":             3 + 19,
			"SET n = n + :v":         3 + 19 + 50,
			"SET l[0] = :v":          3 + 19 + 1,
			"SET n = :v REMOVE gone": 3 + 19 + 2,
			"SET n = :v, l[0] = :v":  3 + 19 + 19 + 1,
			"ADD n :v":               3 + 19,
		} {
			limit := maxItem - (overhead - keyBytes)
			e, body := update(expression, `{"N":"1"}`, limit)
			ok(t, e, "UpdateItem", body)
			e, body = update(expression, `{"N":"1"}`, limit+1)
			refused(t, e, "UpdateItem", body, "ValidationException", "Item size to update has exceeded the maximum allowed size")
		}
	})

	t.Run("IsThatOfTheItemInATransaction", func(t *testing.T) {
		e, body := update("SET n = :v", `{"N":"1"}`, maxItem)
		ok(t, e, "TransactWriteItems", `{"TransactItems":[{"Update":`+body+`}]}`)
	})
}

func TestPathsIntoKeys(t *testing.T) {
	e := engine(t, Config{})
	put(t, e, `"n":{"N":"1"}`)
	value := `,"ExpressionAttributeValues":{":v":{"S":"a"}}`
	for operation, bodies := range map[string][]string{
		"GetItem":      {keyAB + `,"ProjectionExpression":"n, sk.x"`},
		"BatchGetItem": {`"RequestItems":{"tab":{"Keys":[{"pk":{"S":"a"},"sk":{"S":"b"}}],"ProjectionExpression":"sk[0]"}}`},
		"UpdateItem": {
			keyAB + `,"UpdateExpression":"SET n = if_not_exists(sk.x, :v)"` + value,
			keyAB + `,"UpdateExpression":"REMOVE sk.x"`,
			keyAB + `,"UpdateExpression":"REMOVE n","ConditionExpression":"NOT size(sk.x) IN (:v)"` + value,
		},
		"DeleteItem":         {keyAB + `,"ConditionExpression":"attribute_not_exists(sk[1])"`},
		"Scan":               {`"TableName":"tab","FilterExpression":"begins_with(sk.x, :v)"` + value},
		"Query":              {`"TableName":"tab","KeyConditionExpression":"pk = :v","ProjectionExpression":"sk.x"` + value},
		"TransactWriteItems": {`"TransactItems":[{"ConditionCheck":{` + keyAB + `,"ConditionExpression":"attribute_exists(sk.x)"}}]`},
	} {
		for _, body := range bodies {
			refused(t, e, operation, `{`+body+`}`, "ValidationException", "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: sk")
		}
	}
}
