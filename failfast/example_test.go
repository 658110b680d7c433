package failfast_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/failfast"
)

func ExampleConfig() {
	cfg, err := config.LoadDefaultConfig(context.Background(), config.WithRegion("eu-central-1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	db := dynamodb.NewFromConfig(failfast.Config(cfg))
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{})
	fmt.Println(locks != nil, err)
	// Output:
	// true <nil>
}
