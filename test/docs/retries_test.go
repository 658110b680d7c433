package docs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestRetries computes what docs/operations-runtimes.md says of the SDK's rules for retries.
func TestRetries(t *testing.T) {
	const page = "docs/operations-runtimes.md"
	retryer := dynamodb.New(dynamodb.Options{}).Options().Retryer
	quota := 0
	for ; ; quota++ {
		if _, err := retryer.GetRetryToken(t.Context(), errors.New("reset")); err != nil {
			break
		}
	}
	says(t, page, "| attempts | %d |", retryer.MaxAttempts())
	says(t, page, "| pauses after a failure | %s |", pauses(retryer, errors.New("reset")))
	says(t, page, "| pauses after a throttle | %s |", pauses(retryer, &types.ProvisionedThroughputExceededException{}))
	says(t, page, "| retries until the quota of a client is empty | %d |", quota)
}

// pauses names the longest pauses after an error. A bound that repeats is named once.
func pauses(r aws.Retryer, err error) string {
	var all []string
	for failed := 1; failed < r.MaxAttempts(); failed++ {
		all = append(all, longestPause(r, failed, err).String())
	}
	return "up to " + strings.Join(slices.Compact(all), ", ")
}

// longestPause rounds the longest of many random pauses up to the bound that it comes near to.
func longestPause(r aws.Retryer, attempt int, err error) (longest time.Duration) {
	for range 2000 {
		d := locktest.Must(r.RetryDelay(attempt, err))
		longest = max(longest, d)
	}
	for bound := 25 * time.Millisecond; ; bound *= 2 {
		if round := max(bound, bound.Round(time.Second)); longest <= round && (bound < time.Second || round%time.Second == 0) {
			return round
		}
		if bound == 400*time.Millisecond {
			bound = time.Second / 2
		}
	}
}
