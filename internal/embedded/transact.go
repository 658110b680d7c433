package embedded

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/queuelock/queuelock/internal/embedded/expr"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

// The most that one transaction may carry, and how long a client request token
// stands for its request:
// docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const (
	maxTransaction      = 100
	maxTransactionBytes = 4 << 20
	tokenLife           = 10 * time.Minute
)

// transactionFactor is what an item costs in a transaction, compared with
// outside: it is prepared, and then committed.
const transactionFactor = 2

type transactWriteEntry struct {
	ConditionCheck, Put, Update, Delete *changeRequest
}

type transactWriteItemsRequest struct {
	TransactItems               []transactWriteEntry
	ClientRequestToken          string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

// tokenUse is a transaction that was accepted under a client request token.
type tokenUse struct {
	request string // digest of everything but the token, to notice another request
	ongoing bool   // not all of its items are visible yet
	until   time.Time
	reads   tally // what the answer to a repetition costs
}

// reason is why one item cancelled a transaction, or did not.
type reason struct {
	Code    string
	Message string     `json:",omitempty"`
	Item    value.Item `json:",omitempty"`
}

// transactWriteItems evaluates every entry against the items as they are, and
// stores all outcomes or none. A split transaction locks all items first, and is
// certain to commit from then on: Listing 4 of "Distributed Transactions at Scale
// in Amazon DynamoDB", usenix.org/conference/atc23/presentation/idziorek.
func (e *Engine) transactWriteItems(req *transactWriteItemsRequest) (any, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	digest := req.digest()
	if repeated, err := e.repeated(req, digest); repeated != nil || err != nil {
		return repeated, err
	}
	changes, err := e.prepareAll(req.TransactItems)
	if err != nil {
		return nil, err
	}
	outcomes, reads, writes, err := e.runAll(changes)
	if err != nil {
		return nil, err
	}
	answer := transactionAnswer(req.ReturnConsumedCapacity, "WriteCapacityUnits", writes)
	finish := func(ago time.Duration) {
		e.remember(req.ClientRequestToken, tokenUse{request: digest, reads: reads}, ago)
	}
	if delays := e.split(len(changes)); delays != nil {
		c := &commit{by: e.request, answer: answer, finish: finish}
		if req.ClientRequestToken != "" {
			e.tokens[req.ClientRequestToken] = tokenUse{request: digest, ongoing: true}
		}
		e.begin(c, changes, outcomes, delays)
		e.settle()
		return c, nil
	}
	for i, c := range changes {
		e.store(c, outcomes[i].after)
	}
	finish(0)
	return answer, nil
}

// check refuses a request by its form alone.
func (req *transactWriteItemsRequest) check() error {
	if err := checkCapacityMode(req.ReturnConsumedCapacity); err != nil {
		return err
	}
	switch {
	case len(req.TransactItems) == 0:
		return constraint("[]", "transactItems", "Member must have length greater than or equal to 1")
	case len(req.TransactItems) > maxTransaction:
		return invalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to %d", maxTransaction)
	case len(req.ClientRequestToken) > 36:
		return constraint(req.ClientRequestToken, "clientRequestToken", "Member must have length less than or equal to 36")
	}
	return nil
}

// runAll evaluates the changes of a transaction and stores none of them. It
// fails if one of them is refused, or if they are too large together.
func (e *Engine) runAll(changes []change) (outcomes []outcome, reads, writes tally, _ error) {
	outcomes = make([]outcome, len(changes))
	reasons := make([]reason, len(changes))
	bytes, cancelled := 0, false
	for i, c := range changes {
		o, err := outcome{}, c.fault
		switch {
		case err != nil:
		case e.locked[c.id()]:
			err = errConflict()
		default:
			o, err = e.run(c)
		}
		outcomes[i] = o
		if reasons[i] = reasonOf(err); err != nil {
			cancelled = true
		}
		if !c.delete { // the size of what is deleted does not matter
			bytes += max(o.before.Size(), o.after.Size())
		}
		writes.add(c.table.name, transactionFactor*o.cost)
		reads.add(c.table.name, transactionFactor*readCost(o.after.Size(), true))
	}
	switch {
	case cancelled:
		return nil, reads, writes, transactionCancelled(reasons)
	case bytes > maxTransactionBytes:
		return nil, reads, writes, invalid("Collection size exceeded: the items of a transaction may not exceed %d bytes together", maxTransactionBytes)
	}
	return outcomes, reads, writes, nil
}

func transactionAnswer(mode, kind string, costs tally) map[string]any {
	out := map[string]any{}
	costs.addTo(out, mode, func(mode, name string, cost float64) map[string]any {
		return consumedByTransaction(mode, name, kind, cost)
	})
	return out
}

// prepareAll checks the entries; what it refuses needs no look at any table.
func (e *Engine) prepareAll(entries []transactWriteEntry) ([]change, error) {
	changes := make([]change, len(entries))
	var used keySet
	for i, entry := range entries {
		c, err := e.prepareEntry(entry)
		if errors.As(err, new(schemaError)) {
			c.fault = err
			changes[i] = c
			continue
		}
		if err != nil {
			return nil, err
		}
		if !used.add(c.table, c.key) {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		changes[i] = c
	}
	return changes, nil
}

func (e *Engine) prepareEntry(entry transactWriteEntry) (change, error) {
	given := 0
	for _, r := range []*changeRequest{entry.ConditionCheck, entry.Put, entry.Update, entry.Delete} {
		if r != nil {
			given++
		}
	}
	if given != 1 {
		return change{}, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	switch {
	case entry.Put != nil:
		entry.Put.UpdateExpression = nil
		return e.preparePut(entry.Put)
	case entry.Update != nil:
		if entry.Update.UpdateExpression == nil {
			return change{}, absent("transactItems.member.update.updateExpression")
		}
		return e.prepareKeyed(entry.Update)
	case entry.Delete != nil:
		entry.Delete.UpdateExpression = nil
		c, err := e.prepareKeyed(entry.Delete)
		c.delete = true
		return c, err
	}
	if entry.ConditionCheck.ConditionExpression == nil {
		return change{}, absent("transactItems.member.conditionCheck.conditionExpression")
	}
	entry.ConditionCheck.UpdateExpression = nil
	return e.prepareKeyed(entry.ConditionCheck)
}

// writes reports whether the change is more than a condition check.
func (c change) writes() bool { return c.put != nil || c.update != nil || c.delete }

func reasonOf(err error) reason {
	var f *failure
	var refused expr.Error
	switch {
	case err == nil:
		return reason{Code: "None"}
	case errors.As(err, &f) && strings.HasSuffix(f.kind, "ConditionalCheckFailedException"):
		item, _ := f.fields["Item"].(value.Item)
		return reason{Code: "ConditionalCheckFailed", Message: f.message, Item: item}
	case errors.As(err, &f) && strings.HasSuffix(f.kind, "TransactionConflictException"):
		return reason{Code: "TransactionConflict", Message: f.message}
	case errors.As(err, &refused):
		return reason{Code: "ValidationError", Message: string(refused)}
	}
	return reason{Code: "ValidationError", Message: asFailure(err).message}
}

func transactionCancelled(reasons []reason) error {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	return &failure{
		kind:    serviceErrors + "TransactionCanceledException",
		message: "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		fields:  map[string]any{"CancellationReasons": reasons},
	}
}

// repeated answers a transaction that committed under the same token before,
// and refuses one that is still committing, or another one under that token:
// docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html#API_TransactWriteItems_Errors
func (e *Engine) repeated(req *transactWriteItemsRequest, digest string) (any, error) {
	for now := e.cfg.Now(); len(e.recent) > 0 && !now.Before(e.tokens[e.recent[0]].until); e.recent = e.recent[1:] {
		delete(e.tokens, e.recent[0])
		e.changed(TokenEntry, "", e.recent[0], nil)
	}
	use, ok := e.tokens[req.ClientRequestToken]
	if !ok || req.ClientRequestToken == "" {
		return nil, nil
	}
	if use.request != digest {
		return nil, &failure{
			kind:    serviceErrors + "IdempotentParameterMismatchException",
			message: "Request parameters do not match the parameters of a previous request with the same client token",
		}
	}
	if use.ongoing {
		return nil, &failure{
			kind:    serviceErrors + "TransactionInProgressException",
			message: "The transaction with the given request token is already in progress.",
		}
	}
	return transactionAnswer(req.ReturnConsumedCapacity, "ReadCapacityUnits", use.reads), nil
}

// remember keeps the token of a transaction that was completed that long ago.
func (e *Engine) remember(token string, use tokenUse, ago time.Duration) {
	if token != "" {
		use.until = e.cfg.Now().Add(tokenLife - ago)
		e.recent = append(e.recent, token)
		e.tokens[token] = use
		e.changed(TokenEntry, "", token, keptToken{[]byte(use.request), use.until, use.reads.tables, use.reads.cost})
	}
}

// digest is a digest of the request apart from its token: many tokens are kept, and
// requests may be long.
func (req *transactWriteItemsRequest) digest() string {
	text, err := json.Marshal(req.TransactItems)
	if err != nil {
		panic(fmt.Sprintf("what came as JSON has a JSON form: %v", err))
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

type transactGet struct {
	TableName string
	Key       value.Item
	projected
}

type transactGetItemsRequest struct {
	TransactItems          []struct{ Get *transactGet }
	ReturnConsumedCapacity string
}

// transactGetItems reads all items at one moment, or none.
func (e *Engine) transactGetItems(req *transactGetItemsRequest) (any, error) {
	if err := checkCapacityMode(req.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if n := len(req.TransactItems); n < 1 || n > maxTransaction {
		return nil, invalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to %d and greater than or equal to 1", maxTransaction)
	}
	responses := make([]map[string]any, len(req.TransactItems))
	reasons := make([]reason, len(req.TransactItems))
	cancelled := false
	var costs tally
	var used keySet
	for i, entry := range req.TransactItems {
		response, fault, err := e.transactGet(entry.Get, &used, &costs)
		if err != nil {
			return nil, err
		}
		responses[i], reasons[i] = response, reasonOf(fault)
		cancelled = cancelled || fault != nil
	}
	if cancelled {
		return nil, transactionCancelled(reasons)
	}
	out := transactionAnswer(req.ReturnConsumedCapacity, "ReadCapacityUnits", costs)
	out["Responses"] = responses
	return out, nil
}

// transactGet reads one item. A fault cancels the transaction, and an error
// refuses the request.
func (e *Engine) transactGet(get *transactGet, used *keySet, costs *tally) (_ map[string]any, fault, _ error) {
	switch {
	case get == nil:
		return nil, nil, absent("transactItems.member.get")
	case get.Key == nil:
		return nil, nil, absent("transactItems.member.get.key")
	}
	projection, err := get.parse()
	if err != nil {
		return nil, nil, err
	}
	t, err := e.table(get.TableName)
	if err != nil {
		return nil, nil, err
	}
	k, err := t.primaryKey(get.Key)
	switch {
	case errors.As(err, new(schemaError)):
		return nil, err, nil
	case err != nil:
		return nil, nil, err
	case !used.add(t, k):
		return nil, nil, invalid("Transaction request cannot include multiple operations on one item")
	case e.locked[itemID{t, k.text()}]:
		return nil, errConflict(), nil
	}
	item := t.get(k)
	response := map[string]any{}
	if item != nil {
		response["Item"] = show(item, projection)
	}
	costs.add(t.name, transactionFactor*readCost(item.Size(), true))
	return response, nil, nil
}
