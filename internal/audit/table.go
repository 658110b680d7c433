package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

type item map[string]struct {
	S, N string
	BOOL bool
	M    item
}

// action is a write as it stands in a request, or in one of its parts.
type action struct {
	TableName string
	Key, Item item
}

// refresh reads again what a request may have changed: the items that it names
// and that may be a queue's, or else the whole table.
func (a *Audit) refresh(operation string, body []byte) {
	var write struct {
		action
		TransactItems []struct{ Put, Update, Delete *action }
	}
	if err := json.Unmarshal(body, &write); err != nil {
		panic(fmt.Sprintf("audit: %v: %s", err, body))
	}
	if operation == "BatchWriteItem" || len(a.items) == 0 {
		a.scan()
		return
	}
	actions := []*action{&write.action}
	for _, part := range write.TransactItems {
		actions = append(actions, part.Put, part.Update, part.Delete)
	}
	for _, act := range actions {
		if act == nil || act.TableName != a.table {
			continue
		}
		key := act.Key
		if key == nil {
			key = act.Item
		}
		if pk, sk := key["pk"].S, key["sk"].S; strings.Contains(sk, "/") {
			a.read(pk, sk)
		}
	}
}

// read reads an item.
func (a *Audit) read(pk, sk string) {
	var out struct{ Item item }
	a.ask("GetItem", fmt.Sprintf(`{"TableName":%s,"Key":{"pk":{"S":%s},"sk":{"S":%s}},"ConsistentRead":true}`, quoted(a.table), quoted(pk), quoted(sk)), &out)
	if out.Item == nil {
		delete(a.items, [2]string{pk, sk})
		return
	}
	a.items[[2]string{pk, sk}] = out.Item
}

// scan reads the whole table.
func (a *Audit) scan() {
	clear(a.items)
	for start := ""; ; {
		var page struct {
			Items            []item
			LastEvaluatedKey json.RawMessage
		}
		a.ask("Scan", fmt.Sprintf(`{"TableName":%q,"ConsistentRead":true%s}`, a.table, start), &page)
		for _, it := range page.Items {
			a.items[[2]string{it["pk"].S, it["sk"].S}] = it
		}
		if len(page.LastEvaluatedKey) == 0 {
			return
		}
		start = `,"ExclusiveStartKey":` + string(page.LastEvaluatedKey)
	}
}

// ask sends a request of the audit's own to the engine.
func (a *Audit) ask(operation, body string, out any) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	w := httptest.NewRecorder()
	a.engine.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil || w.Code != http.StatusOK {
		panic(fmt.Sprintf("audit: %s: status %d, %v: %s", operation, w.Code, err, w.Body))
	}
}

func quoted(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is always encodable
	}
	return text
}
