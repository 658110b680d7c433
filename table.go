package queuelock

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/table"
)

// DynamoDB is what a [Client] needs of an SDK client, such as a *dynamodb.Client. Get and Transact
// also need its TransactGetItems and TransactWriteItems, and Queues needs its Scan.
type DynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// TableAPI is what CreateTable needs of an SDK client, such as a *dynamodb.Client.
type TableAPI interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (
		*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (
		*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (
		*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (
		*dynamodb.UpdateTimeToLiveOutput, error)
}

var (
	_ DynamoDB = (*dynamodb.Client)(nil)
	_ TableAPI = (*dynamodb.Client)(nil)
)

// CreateTable creates the table of cfg with on-demand billing, keys of type S and TTL on the TTL attribute, and
// waits until it is active or ctx ends. It checks a table that exists, and enables its TTL. Returns
// [*queue.TableError] if that has other keys, or TTL on another attribute.
func CreateTable(ctx context.Context, db TableAPI, tableName string, cfg Config) error {
	if isNil(db) {
		return errors.New("queuelock: create table: the DynamoDB client is nil")
	}
	layout := cfg.withDefaults().layout(tableName)
	if err := layout.Validate(); err != nil {
		return fmt.Errorf("queuelock: create table: %w", err)
	}
	if err := table.Create(ctx, db, layout); err != nil {
		return fmt.Errorf("queuelock: create table: %w", err)
	}
	return nil
}

// isNil reports whether a value of an interface is nil, or holds a nil pointer or function.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return value == nil || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil()
}
