package docs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	page := locktest.Must(os.ReadFile("../../docs/operations-runtimes.md"))
	rules := rulesOfRetries(t)
	for _, row := range []string{
		fmt.Sprintf("| attempts | %d |", rules.attempts),
		fmt.Sprintf("| pauses after a failure | %s |", pausesText(rules.failures)),
		fmt.Sprintf("| pauses after a throttle | %s |", pausesText(rules.throttles)),
		fmt.Sprintf("| retries until the quota of a client is empty | %d |", rules.quota),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("the page lacks the row\n%s", row)
		}
	}
}

type retryRules struct {
	attempts, quota     int
	failures, throttles []time.Duration // the longest pauses
}

func rulesOfRetries(t *testing.T) (r retryRules) {
	retryer := dynamodb.New(dynamodb.Options{}).Options().Retryer
	r.attempts = retryer.MaxAttempts()
	for failed := 1; failed < r.attempts; failed++ {
		r.failures = append(r.failures, longestPause(t, retryer, failed, errors.New("reset")))
		r.throttles = append(r.throttles, longestPause(t, retryer, failed, &types.ProvisionedThroughputExceededException{}))
	}
	for ; ; r.quota++ {
		if _, err := retryer.GetRetryToken(context.Background(), errors.New("reset")); err != nil {
			return r
		}
	}
}

// longestPause rounds the longest of many random pauses up to the bound that it comes near to.
func longestPause(t *testing.T, r aws.Retryer, attempt int, err error) (longest time.Duration) {
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

// pausesText names a bound that repeats once.
func pausesText(all []time.Duration) string {
	s := ""
	for i, d := range all {
		if i == 0 || d != all[i-1] {
			s += ", " + d.String()
		}
	}
	return "up to " + strings.TrimPrefix(s, ", ")
}
