// Package subject has the locks that are measured, each behind the same interface.
//
// Each is configured as its documentation suggests for short waits. Fields of [Subject]
// say how, and the report prints them.
package subject

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/bench/internal/engine"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
)

// Site is where a client works.
type Site struct {
	DynamoDB string        `json:"dynamodb"` // URL
	Table    string        `json:"table"`
	Server   string        `json:"server"` // host:port, for a subject that has one
	Lease    time.Duration `json:"lease"`
}

// Subject is a lock that is measured.
type Subject struct {
	benchmark.Subject

	// Server is where the locks are. Nil: in DynamoDB.
	Server *Server
	// Create makes the table, or makes a server ready, through a connection without delay. May be nil.
	Create func(context.Context, Site) error
	// Open makes a client. Nil if clients run in another language: see package worker.
	Open func(context.Context, Site) (scenario.Locker, error)
}

// Server is the server of a subject whose locks are not in DynamoDB.
type Server struct {
	engine.Server

	Name string // of its kind
	// Bare opens a client, which ends with its process, and returns a read without a lock.
	Bare func(context.Context, Site) (func(context.Context) error, error)
}

// All lists the subjects in the order of the tables.
var All = []Subject{Queuelock, Rung, Dynamolock, Published, NPMOpen, NPMClosed, Etcd, ZooKeeper, Redis}

// Named returns the subject of that name.
func Named(name string) (Subject, bool) {
	for _, s := range All {
		if s.Name == name {
			return s, true
		}
	}
	return Subject{}, false
}

// Poll is the interval at which locks that poll by a fixed interval do so.
const Poll = 100 * time.Millisecond

// connect returns a client of the SDK with connections of its own.
func connect(url string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(url),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		Region:       "us-east-1",
		HTTPClient:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}},
	})
}

// createTable makes a table with keys of type S. sort may be empty.
func createTable(ctx context.Context, site Site, partition, sort string) error {
	input := &dynamodb.CreateTableInput{
		TableName:            &site.Table,
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: &partition, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &partition, AttributeType: types.ScalarAttributeTypeS}},
	}
	if sort != "" {
		input.KeySchema = append(input.KeySchema, types.KeySchemaElement{AttributeName: &sort, KeyType: types.KeyTypeRange})
		input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{AttributeName: &sort, AttributeType: types.ScalarAttributeTypeS})
	}
	db := connect(site.DynamoDB)
	if _, err := db.CreateTable(ctx, input); err != nil {
		return err
	}
	return dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 50 * time.Millisecond }).
		Wait(ctx, &dynamodb.DescribeTableInput{TableName: &site.Table}, time.Minute)
}
