package embedded

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var epoch = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// engine makes an engine with a table "tab" of string keys pk and sk.
func engine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return epoch }
	}
	e := New(cfg)
	ok(t, e, "CreateTable", tableOf("tab", "S"))
	return e
}

func tableOf(name, sortKind string) string {
	return fmt.Sprintf(`{"TableName":%q,"BillingMode":"PAY_PER_REQUEST",
		"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
		"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":%q}]}`, name, sortKind)
}

func send(e *Engine, operation, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", target+operation)
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

// object is a JSON object of a response.
type object = map[string]any

func ok(t testing.TB, e *Engine, operation, body string) object {
	t.Helper()
	w := send(e, operation, body)
	var out object
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s %s: %d %s", operation, body, w.Code, w.Body)
	}
	return out
}

// refused sends a request that must fail with the kind of error and a message
// that contains the text.
func refused(t testing.TB, e *Engine, operation, body, kind, text string) object {
	t.Helper()
	w := send(e, operation, body)
	var out object
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	message, _ := out["message"].(string)
	if m, ok := out["Message"].(string); ok {
		message = m
	}
	if got, _ := out["__type"].(string); w.Code != http.StatusBadRequest || !strings.HasSuffix(got, "#"+kind) || !strings.Contains(message, text) {
		t.Errorf("%s %s: %d %s\nwant %s: %s", operation, body, w.Code, w.Body, kind, text)
	}
	return out
}

func same(t testing.TB, what string, got any, want string) {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("%s: got  %v\nwant %v", what, got, wanted)
	}
}

// TestHeaders checks that responses have the headers of the protocol.
func TestHeaders(t *testing.T) {
	e := engine(t, Config{})
	for operation, code := range map[string]int{"ListTables": 200, "Nonsense": 400} {
		w := send(e, operation, "{}")
		if w.Code != code {
			t.Errorf("%s: %d", operation, w.Code)
		}
		for name, want := range map[string]string{
			"Content-Type":   "application/x-amz-json-1.0",
			"Content-Length": strconv.Itoa(w.Body.Len()),
			"X-Amz-Crc32":    strconv.FormatUint(uint64(crc32.ChecksumIEEE(w.Body.Bytes())), 10),
			"Date":           "Mon, 04 May 2026 12:00:00 GMT",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", operation, name, got, want)
			}
		}
	}
}

// TestOlderEngine checks that an older engine sends no date.
func TestOlderEngine(t *testing.T) {
	server := httptest.NewServer(New(Config{OmitDate: true}))
	defer server.Close()
	r, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target+"ListTables")
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, sent := resp.Header["Date"]; sent || resp.StatusCode != http.StatusOK {
		t.Errorf("%d, Date %q", resp.StatusCode, got)
	}
}

func TestMalformedRequests(t *testing.T) {
	e := engine(t, Config{})
	refused(t, e, "ListTables", "null", "SerializationException", "")
	for _, body := range []string{"", "{", "[]", `"x"`, `{"TableName":1}`, `{"TableName":"tab","Key":[]}`, `{"TableName":"tab","Key":{"pk":"x"}}`, `{"TableName":"tab","Key":{"pk":{"S":1}}}`} {
		refused(t, e, "GetItem", body, "SerializationException", "")
	}
	for _, operation := range []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "DescribeTable"} {
		refused(t, e, operation, "{}", "ValidationException", "")
	}
	if w := send(e, "ListTables", strings.Repeat(" ", maxBody+1)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body above the limit: %d %s", w.Code, w.Body)
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, &http.Request{Method: http.MethodPost, Header: http.Header{"X-Amz-Target": {target + "ListTables"}}})
	if w.Code != http.StatusBadRequest {
		t.Errorf("no body: %d", w.Code)
	}
}

// TestLegacyParameters checks that parameters from before expressions are refused, and
// not ignored.
func TestLegacyParameters(t *testing.T) {
	e := engine(t, Config{})
	key := `"TableName":"tab","Key":{"pk":{"S":"a"},"sk":{"S":"b"}}`
	refused(t, e, "DeleteItem", `{`+key+`,"Expected":{"x":{"Exists":false}}}`, "ValidationException", "Expected")
	refused(t, e, "UpdateItem", `{`+key+`,"AttributeUpdates":{}}`, "ValidationException", "AttributeUpdates")
	refused(t, e, "GetItem", `{`+key+`,"AttributesToGet":["x"]}`, "ValidationException", "AttributesToGet")
	refused(t, e, "Query", `{"TableName":"tab","KeyConditions":{}}`, "ValidationException", "KeyConditions")
	refused(t, e, "Scan", `{"TableName":"tab","ScanFilter":{}}`, "ValidationException", "ScanFilter")
}

// FuzzServeHTTP: whatever the body says, there is an answer, and never one that
// blames the server.
func FuzzServeHTTP(f *testing.F) {
	names := make([]string, 0, len(operations))
	for name := range operations {
		names = append(names, name)
	}
	key := `"TableName":"tab","Key":{"pk":{"S":"a"},"sk":{"S":"b"}}`
	for operation, body := range map[string]string{
		"CreateTable":        tableOf("another", "N"),
		"ListTables":         `{"Limit":1,"ExclusiveStartTableName":"a"}`,
		"UpdateTimeToLive":   `{"TableName":"tab","TimeToLiveSpecification":{"AttributeName":"expiresAt","Enabled":true}}`,
		"PutItem":            `{"TableName":"tab","Item":{"pk":{"S":"a"},"sk":{"S":"b"},"m":{"M":{"l":{"L":[{"NULL":true}]}}}},"ReturnValues":"ALL_OLD"}`,
		"GetItem":            `{` + key + `,"ProjectionExpression":"m.l[0]","ReturnConsumedCapacity":"INDEXES"}`,
		"UpdateItem":         `{` + key + `,"UpdateExpression":"SET n = if_not_exists(n, :z) + :o REMOVE m.l[0]","ExpressionAttributeValues":{":z":{"N":"0"},":o":{"N":"1"}},"ReturnValues":"UPDATED_NEW"}`,
		"DeleteItem":         `{` + key + `,"ConditionExpression":"attribute_exists(#n)","ExpressionAttributeNames":{"#n":"n"},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		"Query":              `{"TableName":"tab","KeyConditionExpression":"pk = :p AND begins_with(sk, :s)","ExpressionAttributeValues":{":p":{"S":"a"},":s":{"S":"b"}},"Limit":1,"ScanIndexForward":false,"ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"S":"bc"}}}`,
		"Scan":               `{"TableName":"tab","Segment":0,"TotalSegments":3,"FilterExpression":"size(sk) > :n","ExpressionAttributeValues":{":n":{"N":"0"}},"Select":"COUNT"}`,
		"BatchWriteItem":     `{"RequestItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"x"},"sk":{"S":"y"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"x"},"sk":{"S":"z"}}}}]}}`,
		"BatchGetItem":       `{"RequestItems":{"tab":{"Keys":[{"pk":{"S":"x"},"sk":{"S":"y"}}]}}}`,
		"TransactWriteItems": `{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"x"},"sk":{"S":"y"}}}},{"ConditionCheck":{` + key + `,"ConditionExpression":"attribute_exists(pk)"}}],"ClientRequestToken":"t"}`,
		"TransactGetItems":   `{"TransactItems":[{"Get":{` + key + `}}]}`,
		"DescribeTable":      `{"TableName":"arn:aws:dynamodb:x:0:table/tab"}`,
		"DescribeTimeToLive": `{"TableName":"tab"}`,
	} {
		f.Add(operation, body)
	}
	f.Fuzz(func(t *testing.T, operation, body string) {
		e := engine(t, Config{ExpireItems: true})
		for _, op := range append(names, operation) {
			w := send(e, op, body)
			if w.Code != http.StatusOK && w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %s: %d %s", op, body, w.Code, w.Body)
			}
		}
	})
}

func TestUnsupportedFeatures(t *testing.T) {
	t.Run("AreNamedInTheMessage", func(t *testing.T) {
		e := engine(t, Config{})
		for _, operation := range []string{"UpdateTable", "TagResource", "ExecuteStatement", "DescribeContinuousBackups"} {
			refused(t, e, operation, `{"TableName":"tab"}`, "UnknownOperationException", "in-memory engine does not support the operation "+operation)
		}
		index := `[{"IndexName":"by-other","KeySchema":[{"AttributeName":"other","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]`
		for _, kind := range []string{"GlobalSecondaryIndexes", "LocalSecondaryIndexes"} {
			body := strings.Replace(tableOf("indexed", "S"), `"AttributeDefinitions":[`, `"`+kind+`":`+index+`,"AttributeDefinitions":[{"AttributeName":"other","AttributeType":"S"},`, 1)
			refused(t, e, "CreateTable", body, "ValidationException", "in-memory engine does not support secondary indexes")
		}
		stream := strings.Replace(tableOf("streamed", "S"), `"KeySchema"`, `"StreamSpecification":{"StreamEnabled":true},"KeySchema"`, 1)
		refused(t, e, "CreateTable", stream, "ValidationException", "in-memory engine does not support streams")
		refused(t, e, "PutItem", `{"TableName":"tab","Item":{},"Expected":{}}`, "ValidationException", "in-memory engine does not support the legacy parameter Expected")
	})

	t.Run("AreNamedWhenTheTargetIsOfAnotherService", func(t *testing.T) {
		e := engine(t, Config{})
		for header, want := range map[string]string{
			"DynamoDBStreams_20120810.ListStreams": "the operation DynamoDBStreams_20120810.ListStreams",
			"":                                     "a request without an X-Amz-Target header",
		} {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
			r.Header.Set("X-Amz-Target", header)
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%q: %d %s", header, w.Code, w.Body)
			}
		}
	})
}

func TestHealthCheck(t *testing.T) {
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		engine(t, Config{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://table.test:8000"+path, nil))
		return w
	}

	t.Run("AnswersGetOfTheRoot", func(t *testing.T) {
		w := get("/")
		if w.Code != http.StatusOK || w.Body.String() != "healthy: table.test:8000 " {
			t.Errorf("%d %q", w.Code, w.Body)
		}
		if got := w.Header().Get("X-Amz-Crc32"); got != strconv.FormatUint(uint64(crc32.ChecksumIEEE(w.Body.Bytes())), 10) {
			t.Errorf("X-Amz-Crc32 is %s", got)
		}
	})

	t.Run("RefusesGetOfAnotherPath", func(t *testing.T) {
		if w := get("/index.html"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "the HTTP method GET") {
			t.Errorf("%d %q", w.Code, w.Body)
		}
	})
}

// The messages are those of nubo-db/dynamodb-conformance, whose authors compare
// their suite with the service.
func TestRefusals(t *testing.T) {
	t.Run("ReportSeveralParametersTogether", func(t *testing.T) {
		e := engine(t, Config{})
		refused(t, e, "PutItem", `{"TableName":"tab","Item":{},"ReturnValues":"A","ReturnConsumedCapacity":"B","ReturnItemCollectionMetrics":"C"}`, "ValidationException",
			"3 validation errors detected: Value 'B' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; Value 'C' at")
		refused(t, e, "Query", `{"TableName":"tab","Select":"A","ReturnConsumedCapacity":"B"}`, "ValidationException", "2 validation errors detected: ")
		refused(t, e, "Scan", `{"TableName":"tab","Select":"A"}`, "ValidationException", "1 validation error detected: Value 'A' at 'select'")
	})

	t.Run("NameTheTableFirst", func(t *testing.T) {
		e := engine(t, Config{})
		refused(t, e, "DeleteItem", `{"TableName":"x!","ReturnValues":"A"}`, "ValidationException", "Value 'x!' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern")
		refused(t, e, "GetItem", `{"TableName":"`+strings.Repeat("x", 256)+`","Key":{"pk":{"S":"a"}}}`, "ValidationException", "Member must have length less than or equal to 255")
		refused(t, e, "GetItem", `{"TableName":"x","Key":{"pk":{"S":"a"}}}`, "ResourceNotFoundException", "") // too short only for CreateTable
		refused(t, e, "CreateTable", `{}`, "ValidationException", "The parameter 'TableName' is required but was not present in the request")
		three := strings.Replace(tableOf("tab", "S"), `"KeySchema":[`, `"KeySchema":[{"AttributeName":"x","KeyType":"HASH"},`, 1)
		refused(t, e, "CreateTable", three, "ValidationException", "Value '[KeySchemaElement(attributeName=x, keyType=HASH), KeySchemaElement(attributeName=pk, keyType=HASH), ")
	})

	t.Run("NameTheLimitOfABatch", func(t *testing.T) {
		e := engine(t, Config{})
		refused(t, e, "BatchGetItem", `{"RequestItems":{}}`, "ValidationException", "The requestItems parameter is required for BatchGetItem")
		refused(t, e, "BatchWriteItem", `{"RequestItems":{}}`, "ValidationException", "The requestItems parameter is required for BatchWriteItem")
		keys := strings.Repeat(`{"pk":{"S":"a"}},`, 100) + `{"pk":{"S":"a"}}`
		refused(t, e, "BatchGetItem", `{"RequestItems":{"tab":{"Keys":[`+keys+`]}}}`, "ValidationException", "Value at 'RequestItems.tab.member.Keys' failed to satisfy constraint")
		refused(t, e, "Query", `{"TableName":"tab","Limit":0}`, "ValidationException", "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1")
	})
}

func TestDocumentationListsEachOperation(t *testing.T) {
	text, err := os.ReadFile("../../queuelocktest/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name := range operations {
		if !regexp.MustCompile(`\b` + name + `\b`).Match(text) {
			t.Errorf("queuelocktest/doc.go does not list %s", name)
		}
	}
}
