package demo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/workload/turns"
	"github.com/queuelock/queuelock/ticket"
)

// witness is a client between the library and the SDK. It reports when a number was taken and when a row was present.
type witness struct {
	queuelock.DynamoDB
	report func(turns.Record)
}

// PutItem puts a row.
func (w *witness) PutItem(ctx context.Context, in *dynamodb.PutItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	sent := turns.Now()
	out, err := w.DynamoDB.PutItem(ctx, in, optFns...)
	if n, ok := rowOf(in.Item); err == nil && ok {
		w.report(turns.Record{Kind: turns.Queued, At: turns.Now(), Sent: sent, Ticket: n})
	}
	return out, err
}

// UpdateItem writes to the record, or renews a row.
func (w *witness) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, optFns ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	sent := turns.Now()
	out, err := w.DynamoDB.UpdateItem(ctx, in, optFns...)
	if err != nil {
		return out, err
	}
	if n, ok := rowOf(in.Key); ok {
		w.report(turns.Record{Kind: turns.Renewed, At: sent, Ticket: n})
	} else if n, ok := issued(out.Attributes); ok && takes(in) {
		w.report(turns.Record{Kind: turns.Took, At: sent, Ticket: n})
	}
	return out, nil
}

// takes reports whether an update of the record sets the counter.
func takes(in *dynamodb.UpdateItemInput) bool {
	for placeholder, name := range in.ExpressionAttributeNames {
		if name == attr.TicketNumber && strings.Contains(aws.ToString(in.UpdateExpression), placeholder+" = ") {
			return true
		}
	}
	return false
}

// issued returns the last number that was issued, from an image of the record.
func issued(item map[string]types.AttributeValue) (ticket.Number, bool) {
	n, ok := item[attr.TicketNumber].(*types.AttributeValueMemberN)
	if !ok {
		return ticket.Number{}, false
	}
	number, err := ticket.Parse(n.Value)
	return number, err == nil
}

// rowOf returns the ticket in a row's key; false for the record, which is number zero.
func rowOf(key map[string]types.AttributeValue) (ticket.Number, bool) {
	sk, ok := key["sk"].(*types.AttributeValueMemberS)
	if !ok {
		return ticket.Number{}, false
	}
	_, padded, _ := strings.Cut(sk.Value, "/")
	number, err := ticket.Parse(padded)
	return number, err == nil && !number.IsZero()
}
