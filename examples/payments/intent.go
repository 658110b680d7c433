package payments

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Intent is a planned payment, as it is in the table.
type Intent struct {
	ID     string
	Amount int64 // in the smallest unit of its currency; of a charged one, what was taken
	State  State
	Charge string // the gateway's id of the charge, if it was made
	Reason string // why it was declined, if it was
}

// State is how far an intent has come. Charged and ChargeFailed are final.
//
//	           pessimistic: one step, under a lock
//	CREATED ─────────────────────────────────────► CHARGED or CHARGE_FAILED
//	   │                                                 ▲
//	   └──────────────► CHARGE_REQUESTED ────────────────┘
//	     optimistic: two steps, and no lock
type State string

// The states. The amount can be changed in the first alone.
const (
	Created         State = "CREATED"
	ChargeRequested State = "CHARGE_REQUESTED" // optimistic only
	Charged         State = "CHARGED"
	ChargeFailed    State = "CHARGE_FAILED"
)

var (
	// ErrTooLate says that the amount was not changed, because the charge has been
	// requested or made. The intent that is returned with it says which.
	ErrTooLate = errors.New("payments: the amount cannot be changed any more")

	// ErrOtherAmount says that the intent is charged with another amount than it had.
	// The intent now has the amount that was taken.
	ErrOtherAmount = errors.New("payments: another amount was taken")

	// ErrNotFound says that the intent does not exist.
	ErrNotFound = errors.New("payments: no such intent")
)

// Store is the table of intents and of the outbox. Its key is pk and sk, both S.
type Store struct {
	DB    *dynamodb.Client
	Table string
}

// Create puts a new intent into the table, and changes nothing if it exists.
func (s Store) Create(ctx context.Context, id string, amount int64) error {
	_, err := s.DB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Table, Item: Intent{ID: id, Amount: amount, State: Created}.attributes(),
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	var there *types.ConditionalCheckFailedException
	if errors.As(err, &there) {
		return nil // by an earlier try
	}
	return err
}

// Load reads an intent, consistently.
func (s Store) Load(ctx context.Context, id string) (Intent, error) {
	out, err := s.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.Table, Key: intentKey(id), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return Intent{}, err
	}
	if len(out.Item) == 0 {
		return Intent{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return decode(out.Item)
}

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func intentKey(id string) attributes {
	return attributes{"pk": text("intent/" + id), "sk": text("intent")}
}

// attributes returns the intent as an item.
func (i Intent) attributes() attributes {
	item := intentKey(i.ID)
	i.into(item)
	return item
}

// into sets the intent's attributes in an item, and leaves others alone.
func (i Intent) into(item attributes) {
	item["id"], item["amount"], item["state"] = text(i.ID), number(i.Amount), text(string(i.State))
	item["charge"], item["reason"] = text(i.Charge), text(i.Reason)
}

// decode returns the intent of an item.
func decode(item attributes) (Intent, error) {
	var i Intent
	var problem error
	get := func(name string) string {
		s, ok := item[name].(*types.AttributeValueMemberS)
		if !ok {
			problem = fmt.Errorf("payments: the item is no intent: %q is no text", name)
			return ""
		}
		return s.Value
	}
	i.ID, i.State, i.Charge, i.Reason = get("id"), State(get("state")), get("charge"), get("reason")
	amount, ok := item["amount"].(*types.AttributeValueMemberN)
	if !ok {
		return i, errors.New("payments: the item is no intent: it has no amount")
	}
	var err error
	i.Amount, err = strconv.ParseInt(amount.Value, 10, 64)
	return i, errors.Join(problem, err)
}
