package engines

import (
	"errors"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// A backend starts its engine once, and remembers how that went.
type backend struct {
	name string
	open func() (*running, error)

	mu      sync.Mutex // held while the engine starts: other callers wait for the outcome
	tried   bool
	running *running
	err     error
}

// running is an engine that answers.
type running struct {
	options dynamodb.Options
	stop    func()
}

// missingError says that an engine is not installed, and what to do about it.
type missingError struct{ what string }

func (m missingError) Error() string { return m.what }

func isMissing(err error) bool {
	var m missingError
	return errors.As(err, &m)
}

func (b *backend) start() (*running, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.tried {
		b.tried = true
		b.running, b.err = b.open()
	}
	return b.running, b.err
}

// shutdown ends the engine if it runs. A later start starts it again.
func (b *backend) shutdown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running != nil && b.running.stop != nil {
		b.running.stop()
	}
	b.tried, b.running, b.err = false, nil, nil
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
