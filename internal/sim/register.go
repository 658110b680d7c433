package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
)

// A register is what a lock protects: an item with the token and the value of
// the last protected write.
const registerPrefix = "register of "

func registerKey(queue string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: registerPrefix + queue},
		"sk": &types.AttributeValueMemberS{Value: "value"},
	}
}

// patience is for how long a worker waits for an answer to its own requests.
const patience = 5 * time.Second

// next is the lock's next value for the register, and the write of it. Nothing
// in the write itself asks for order: that is the lock's part.
func (h *hold) next() (string, types.TransactWriteItem) {
	h.n++
	value := fmt.Sprintf("%s:%d", h.owner, h.n)
	return value, types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(tableName), Key: registerKey(name(h.key)),
		UpdateExpression:         aws.String("SET #token = :token, #value = :value ADD writes :one"),
		ExpressionAttributeNames: map[string]string{"#token": "token", "#value": "value"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":token": number(h.token), ":value": &types.AttributeValueMemberS{Value: value}, ":one": number("1"),
		},
	}}
}

// write makes a protected write by way of the lock.
func (h *hold) write(r *rand.Rand) {
	value, item := h.next()
	begun := h.now()
	err := h.lock.Transact(h.with(r), item)
	_, refused := err.(*queuelock.LostError) // and nothing else: no attempt is of unknown outcome
	h.wrote(value, begun, err, refused)
}

// writeStale makes a protected write after the lock's end, and does not ask
// the lock first.
func (h *hold) writeStale(r *rand.Rand) {
	h.stand(r.Float64())
	if h.isDead() {
		return
	}
	value, item := h.next()
	condition := h.lock.Condition()
	token := fmt.Sprintf("%016x", r.Uint64())
	begun := h.now()
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	_, err := h.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: &token, TransactItems: []types.TransactWriteItem{item, {ConditionCheck: &condition}},
	})
	canceled, answered := errors.AsType[*types.TransactionCanceledException](err)
	refused := answered && aws.ToString(canceled.CancellationReasons[1].Code) == "ConditionalCheckFailed"
	h.wrote(value, begun, err, refused)
}

// releaseWith writes and releases in one transaction. It reports whether the lock
// is released, or may be.
func (h *hold) releaseWith(ctx context.Context) bool {
	value, item := h.next()
	begun := h.now()
	held := h.beliefs.end(h)
	err := h.lock.ReleaseWith(ctx, item)
	_, refused := err.(*queuelock.LostError)
	_, unknown := errors.AsType[*queuelock.UnknownOutcomeError](err)
	h.add(h.name, "%s: released with %s: %v", h.owner, value, err)
	if err != nil && !refused && !unknown && h.lock.Err() == nil && !h.isDead() {
		if held {
			h.beliefs.begin(h)
		}
		return false // nothing was written, and it is still held
	}
	h.wrote(value, begun, err, refused)
	if !held {
		return true
	}
	op := operation{node: h.name, kind: opRelease, token: h.token, call: begun, ret: h.now()}
	if err != nil || h.isDead() {
		op.kind, op.call, op.ret = opEnd, h.endFrom(begun), never
	}
	h.visible.add(h.key, op)
	return true
}

// wrote takes the outcome of a write in.
func (h *hold) wrote(value string, begun int64, err error, refused bool) {
	op := operation{node: h.name, kind: opWrite, token: h.token, value: value, call: begun, ret: h.now()}
	switch {
	case h.isDead():
		op.kind, op.ret = opWriteUnknown, never
	case err == nil:
		h.tally.writes.Add(1)
	case refused:
		h.tally.fenced.Add(1)
		op.kind = opWriteRefused
	default:
		op.kind, op.ret = opWriteUnknown, never
	}
	h.add(h.name, "%s: writes %s: %v", h.owner, value, err)
	h.visible.add(h.key, op)
}

// read reads the register.
func (h *hold) read() {
	begun := h.now()
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	out, err := h.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(tableName), Key: registerKey(name(h.key)), ConsistentRead: aws.Bool(true),
	})
	if err != nil || h.isDead() {
		return
	}
	value := ""
	if s, ok := out.Item["value"].(*types.AttributeValueMemberS); ok {
		value = s.Value
	}
	h.visible.add(h.key, operation{node: h.name, kind: opRead, value: value, call: begun, ret: h.now()})
}

// watch is the engine behind the network. After a transaction it looks whether
// a register has changed, and if so, whether the lock was held.
func (w *world) watch(rw http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		w.audit.ServeHTTP(rw, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var t struct {
		TransactItems []struct {
			Update struct {
				Key                       map[string]struct{ S string }
				ExpressionAttributeValues map[string]struct{ N, S string }
			}
		}
	}
	if err := json.Unmarshal(body, &t); err != nil {
		panic(err)
	}
	written := t.TransactItems[0].Update
	queue := strings.TrimPrefix(written.Key["pk"].S, registerPrefix)
	before := w.audit.Holders(queue)
	w.audit.ServeHTTP(rw, r)
	value, token := written.ExpressionAttributeValues[":value"].S, written.ExpressionAttributeValues[":token"].N
	out, err := w.direct.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String(tableName), Key: registerKey(queue), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		w.violate("the register of %s cannot be read: %v", queue, err)
		return
	}
	writes, ok := out.Item["writes"].(*types.AttributeValueMemberN)
	if !ok {
		return
	}
	w.mu.Lock()
	committed, again := w.writes[queue] != writes.Value, w.values[value]
	w.writes[queue] = writes.Value
	w.values[value] = w.values[value] || committed
	w.mu.Unlock()
	if !committed {
		return
	}
	if again {
		w.violate("the protected write of %s was made twice", value)
	}
	// One that releases with its write is there before it alone.
	if tickets := append(before, w.audit.Holders(queue)...); !slices.Contains(tickets, token) {
		w.violate("a protected write with ticket %s committed while the record of %s serves tickets %q", token, queue, tickets)
	}
}
