package locktest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// Memory returns a client of a DynamoDB in memory with the table "queuelock", for Examples: queuelocktest needs a testing.TB.
func Memory() *dynamodb.Client {
	db := faultnet.SDK(faultnet.New(embedded.New(embedded.Config{}), faultnet.Config{}).Connect("example", nil))
	if err := queuelock.CreateTable(context.Background(), db, "queuelock", queuelock.Config{}); err != nil {
		panic(err)
	}
	return db
}
