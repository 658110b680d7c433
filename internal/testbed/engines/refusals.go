package engines

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// refusals is an HTTP client for an engine from before June 2023, which returns no item when the condition of a put,
// update or delete is false. It reads the item, and puts it into the answer. The item is read later than the refusal,
// so it may be another one by then, or be gone. The library would draw wrong conclusions from that, so only the test
// apparatus may do it.
type refusals struct{ engine aws.HTTPClient }

// attributes is an item, or a part of one, as it is sent.
type attributes = map[string]json.RawMessage

// Do sends the request, and completes its answer.
func (c refusals) Do(req *http.Request) (*http.Response, error) {
	switch _, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), "."); operation {
	case "PutItem", "UpdateItem", "DeleteItem":
	default:
		return c.engine.Do(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var in struct {
		TableName                           string
		Key, Item                           attributes
		ReturnValuesOnConditionCheckFailure string
	}
	unread := json.Unmarshal(body, &in)
	sent := req.Clone(req.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	response, err := c.engine.Do(sent)
	if err != nil || response.StatusCode != http.StatusBadRequest || unread != nil || in.ReturnValuesOnConditionCheckFailure != "ALL_OLD" {
		return response, err
	}

	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	var out attributes
	if json.Unmarshal(answer, &out) == nil && bytes.HasSuffix(out["__type"], []byte(`#ConditionalCheckFailedException"`)) && out["Item"] == nil {
		if in.Key == nil {
			if in.Key, err = c.keyOf(req, in.TableName, in.Item); err != nil {
				return nil, err
			}
		}
		var found struct{ Item json.RawMessage }
		if err := c.ask(req, "GetItem", map[string]any{"TableName": in.TableName, "Key": in.Key, "ConsistentRead": true}, &found); err != nil {
			return nil, err
		}
		if found.Item != nil {
			out["Item"] = found.Item
			if answer, err = json.Marshal(out); err != nil {
				return nil, err
			}
			response.Header.Del("X-Amz-Crc32") // of the answer as it was
			response.Header.Del("Content-Length")
			response.ContentLength = int64(len(answer))
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(answer))
	return response, nil
}

// keyOf returns the key of an item in the table.
func (c refusals) keyOf(req *http.Request, table string, item attributes) (attributes, error) {
	var described struct {
		Table struct {
			KeySchema []struct{ AttributeName string }
		}
	}
	err := c.ask(req, "DescribeTable", map[string]any{"TableName": table}, &described)
	key := attributes{}
	for _, k := range described.Table.KeySchema {
		key[k.AttributeName] = item[k.AttributeName]
	}
	return key, err
}

// ask sends another request with the headers of req, whose signature such an engine does not verify.
func (c refusals) ask(req *http.Request, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	asked := req.Clone(req.Context())
	version, _, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	asked.Header.Set("X-Amz-Target", version+"."+operation)
	asked.Header.Del("Content-Length")
	asked.Body, asked.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response, err := c.engine.Do(asked)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(out)
}
