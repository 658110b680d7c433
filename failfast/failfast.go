// Package failfast sets the time limits of an aws.Config, so that dead connections cost no lock its lease.
//
// A lock is renewed by requests, and is lost when none succeeds until its lease ends. With the SDK's defaults a request
// on a connection that a firewall has dropped takes all of queuelock.Config.RequestTimeout, and so does the next one on
// the next dropped connection. With the settings of this package each dropped connection costs 1.5 s, and the SDK opens
// a new one within the same call. A lock with the default lease of 60 s then survives a pool full of dropped
// connections.
package failfast

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

const (
	// connectTimeout bounds connecting, and the TLS handshake after it. The SDK has 30 s and
	// 10 s, and 1.1 s for both in its mode "in-region" (aws/defaults). A first packet that is
	// lost is sent again after 1 s (RFC 6298), so that much is waited for.
	connectTimeout = 1100 * time.Millisecond
	// answerTimeout bounds the wait for an answer to one attempt. The SDK has no limit for
	// DynamoDB. DynamoDB answers in milliseconds, and a packet sent again arrives after 1 s.
	// Two attempts and a part of a third fit into the default RequestTimeout of 3.75 s.
	answerTimeout = 1500 * time.Millisecond
)

// Config returns cfg with limits for connecting and for an answer. Make an SDK client of it
// that serves nothing but locks. Retries are left alone: the library bounds their pauses.
//
// What the caller has set stays: an HTTPClient that is no BuildableClient, and each time of a
// BuildableClient that is not the SDK's default. A DialContext is kept, and bounded. A
// DefaultsMode other than legacy replaces the limits for connecting by its own.
func Config(cfg aws.Config) aws.Config {
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = awshttp.NewBuildableClient()
	}
	if client, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		cfg.HTTPClient = bounded(client)
	}
	return cfg
}

// bounded sets what has the SDK's default. It leaves the pool of at most 10 idle connections
// alone: after a partition, each of them may be dead, and is found to be so by one attempt.
// The SDK closes them after 90 s, before AWS Network Firewall forgets them after 350 s.
func bounded(client *awshttp.BuildableClient) *awshttp.BuildableClient {
	return client.WithTransportOptions(func(t *http.Transport) {
		if dial := t.DialContext; dial != nil && client.GetDialer().Timeout == awshttp.DefaultDialConnectTimeout {
			t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, connectTimeout)
				defer cancel()
				return dial(ctx, network, address)
			}
		}
		if t.TLSHandshakeTimeout == awshttp.DefaultHTTPTransportTLSHandleshakeTimeout {
			t.TLSHandshakeTimeout = connectTimeout
		}
		if t.ResponseHeaderTimeout == 0 {
			t.ResponseHeaderTimeout = answerTimeout
		}
	})
}
