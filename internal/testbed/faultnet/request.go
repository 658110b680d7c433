package faultnet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"

	"github.com/queuelock/queuelock/internal/testbed/fault"
)

// Request is one attempt of a client, decoded. Its Body is shared between all faults
// that look at it, and must not be written to.
type Request struct {
	Client    string         // the name of the connection
	Operation string         // "UpdateItem"
	Attempt   int            // 1 for the first try of a call, 2 for the SDK's first retry, …
	Body      map[string]any // the JSON body
}

// decode reads the request off the wire and returns its raw body beside it.
func decode(client string, req *http.Request) (Request, []byte, error) {
	var raw []byte
	if req.Body != nil {
		var err error
		raw, err = io.ReadAll(req.Body)
		if err = errors.Join(err, req.Body.Close()); err != nil {
			return Request{}, nil, fmt.Errorf("faultnet: read request: %w", err)
		}
	}
	r := Request{Client: client, Operation: fault.Operation(req.Header), Attempt: attempt(req.Header)}
	// A body that is no JSON object is the engine's to refuse.
	if json.Unmarshal(raw, &r.Body) != nil {
		r.Body = nil
	}
	return r, raw, nil
}

// attempt reads the SDK's own count, which it sends as "attempt=2; max=3".
func attempt(header http.Header) int {
	if found := attempts.FindStringSubmatch(header.Get("Amz-Sdk-Request")); found != nil {
		n, _ := strconv.Atoi(found[1]) // digits
		return n
	}
	return 1
}

var attempts = regexp.MustCompile(`attempt=(\d+)`)

// forEngine is the request as a server would see it.
func forEngine(req *http.Request, body []byte) *http.Request {
	r := req.Clone(req.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.RequestURI = r.URL.RequestURI()
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return r
}

// actions are the parts of the request which name an item or hold an
// expression: the body itself, or each member of a batch or a transaction.
func (r Request) actions() []map[string]any { return actionsIn(r.Body) }

func actionsIn(part any) (found []map[string]any) {
	switch part := part.(type) {
	case []any:
		for _, member := range part {
			found = append(found, actionsIn(member)...)
		}
	case map[string]any:
		if part["TableName"] != nil || part["Key"] != nil || part["Item"] != nil {
			return []map[string]any{part}
		}
		if keys, ok := part["Keys"].([]any); ok { // of a table of a BatchGetItem
			for _, key := range keys {
				found = append(found, map[string]any{"Key": key})
			}
			return found
		}
		for _, name := range sortedKeys(part) {
			found = append(found, actionsIn(part[name])...)
		}
	}
	return found
}

// Items are the items the request names, each as its Key or whole Item, in the
// order of the request. A Query or Scan names none.
func (r Request) Items() []map[string]any {
	items := []map[string]any{}
	for _, action := range r.actions() {
		for _, field := range []string{"Key", "Item"} {
			if item, ok := action[field].(map[string]any); ok {
				items = append(items, item)
			}
		}
	}
	return items
}
