package engines

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// running is an engine that answers.
type running struct {
	options dynamodb.Options
	stop    func()
}

// missingError says that an engine is not installed, and what to do about it.
type missingError struct{ what string }

func (m missingError) Error() string { return m.what }

func isMissing(err error) bool {
	_, is := errors.AsType[missingError](err)
	return is
}

var (
	mu    sync.Mutex
	stops []func() // guarded by mu; they end the engines that run
)

// once starts an engine at the first call. Other callers wait for the outcome.
func once(open func() (*running, error)) func() (*running, error) {
	return sync.OnceValues(func() (*running, error) {
		r, err := open()
		if err == nil && r.stop != nil {
			mu.Lock()
			defer mu.Unlock()
			stops = append(stops, r.stop)
		}
		return r, err
	})
}

func (r *running) client(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(r.options.Copy(), optFns...)
}

// emulator returns the options of a client that reaches baseURL through httpClient. No emulator looks at the
// credentials, but requests have to be signed with some.
func emulator(baseURL string, httpClient aws.HTTPClient) dynamodb.Options {
	return dynamodb.Options{
		BaseEndpoint: aws.String(baseURL),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:   httpClient,
		Region:       "us-east-1",
	}
}

// loopbackTransport returns a transport for one engine on this machine, blind to proxy settings, and the function that
// closes its idle connections.
func loopbackTransport() (*http.Client, func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections
}

// openEmbedded makes an embedded engine, and a client transport that calls it as a function.
func openEmbedded() (*running, error) {
	net := faultnet.New(embedded.New(embedded.Config{}), faultnet.Config{LogLimit: 1, WithoutCapacity: true})
	return &running{options: emulator("http://embedded.invalid", &http.Client{Transport: net.Connect("", nil)})}, nil
}

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
