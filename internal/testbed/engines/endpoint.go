package engines

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// openEndpoint makes sure that something answers at QUEUELOCK_TEST_ENDPOINT.
func openEndpoint() (*running, error) {
	baseURL := os.Getenv(endpointVariable)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	httpClient, closeIdle := loopbackTransport()
	r := &running{options: emulator(baseURL, httpClient), stop: closeIdle}
	if os.Getenv("AWS_ACCESS_KEY_ID") != "" || os.Getenv("AWS_PROFILE") != "" {
		cfg, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, err
		}
		r = &running{options: dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
			o.BaseEndpoint = aws.String(baseURL)
		}).Options()}
	}
	if _, err := r.client().ListTables(ctx, &dynamodb.ListTablesInput{}); err != nil {
		return nil, fmt.Errorf("%s is %s, which does not answer ListTables: %w", endpointVariable, baseURL, err)
	}
	return r, nil
}
