package main

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
)

// checkArguments asks the library what it thinks of a key, a table's name and
// a configuration: whatever it refuses before its first request is the
// caller's to mend.
func checkArguments(ctx context.Context, key queuelock.Key, table string, cfg queuelock.Config) error {
	client, err := queuelock.New(nowhere{}, table, cfg)
	if err == nil {
		_, err = client.Inspect(ctx, key)
	}
	if err != nil && !errors.Is(err, errNowhere) {
		return usagef("%w", err)
	}
	return nil
}

var errNowhere = errors.New("this is no DynamoDB")

// nowhere is a DynamoDB to which no request gets through.
type nowhere struct{}

var _ queuelock.DynamoDB = nowhere{}

func (nowhere) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errNowhere
}

func (nowhere) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, errNowhere
}

func (nowhere) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errNowhere
}

func (nowhere) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return nil, errNowhere
}

func (nowhere) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, errNowhere
}
