package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/story"
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

// next is the lock's next value for the register, and the write of it: the value
// that was read, and one more. Nothing in the write itself asks for order: that is
// the lock's part.
func (h *hold) next() (string, types.TransactWriteItem) {
	h.n++
	value := fmt.Sprintf("%s:%d=%d", h.owner, h.n, h.total+1)
	return value, types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(tableName), Key: registerKey(name(h.key)),
		UpdateExpression:         aws.String("SET #token = :token, #value = :value, #log = list_append(if_not_exists(#log, :none), :values)"),
		ExpressionAttributeNames: map[string]string{"#token": "token", "#value": "value", "#log": "log"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":token": number(h.token), ":value": &types.AttributeValueMemberS{Value: value},
			":none":   &types.AttributeValueMemberL{},
			":values": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: value}}},
		},
	}}
}

// write makes a protected write by way of the lock.
func (h *hold) write(r *rand.Rand) {
	if !h.reads() {
		return
	}
	value, item := h.next()
	begun := h.now()
	h.diary.do(h.key, h.owner, story.Transacts)
	err := h.lock.Transact(h.with(r), item)
	_, refused := err.(*queuelock.LostError) // and nothing else: no attempt is of unknown outcome
	h.took(h.judgeWrite("Transact", h.owner, value, err))
	h.wrote(value, begun, err, refused)
}

// reads reads the register before a write, unless the value is known. It reports
// whether it is.
func (h *hold) reads() bool {
	if !h.known {
		h.read()
	}
	return h.known
}

// took takes in what came of a write.
func (h *hold) took(said outcome) {
	switch said {
	case saidMade:
		h.total++
	case saidUnknown:
		h.known, h.doubt = false, true
	case saidNotMade:
		h.known = false
	}
}

// writeStale makes a protected write after the lock's end, and does not ask
// the lock first.
func (h *hold) writeStale(r *rand.Rand) {
	h.waitOut(r.Float64())
	if h.isDead() || !h.known {
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

// wrote takes the outcome of a write in.
func (h *hold) wrote(value string, begun int64, err error, refused bool) {
	op := operation{node: h.name, kind: opWrite, token: h.token, value: value, call: begun, ret: h.now()}
	switch {
	case h.isDead():
		op.kind, op.ret = opWriteUnknown, never
	case err == nil:
		h.did("writes")
	case refused:
		h.did("fenced")
		op.kind = opWriteRefused
	default:
		op.kind, op.ret = opWriteUnknown, never
	}
	h.add(h.name, "%s: writes %s: %v", h.owner, value, err)
	h.visible.add(h.key, op)
}

// read reads the register: by a plain read, which is all that is needed after a
// holder that has released the lock; and by a transaction where writes of an
// earlier holder, or of its own, may still become visible.
func (h *hold) read() {
	begun := h.now()
	read := h.readPlainly
	if h.doubt || h.lock.Unsettled() {
		read = h.readAll
	}
	item, err := read()
	if err != nil || h.isDead() {
		return
	}
	h.total, h.known, h.doubt = length(item), true, false
	h.visible.add(h.key, operation{node: h.name, kind: opRead, value: text(item["value"]), call: begun, ret: h.now()})
}

func (h *hold) readPlainly() (map[string]types.AttributeValue, error) {
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	out, err := h.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(tableName), Key: registerKey(name(h.key)), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// readAll reads what is visible of all transactions.
func (h *hold) readAll() (map[string]types.AttributeValue, error) {
	ctx, cancel := context.WithTimeout(h.with(h.chances("reads "+h.owner, h.now())), 4*patience)
	defer cancel()
	items, err := h.lock.Get(ctx, types.TransactGetItem{Get: &types.Get{TableName: aws.String(tableName), Key: registerKey(name(h.key))}})
	if err != nil {
		return nil, err
	}
	return items[0], nil
}
