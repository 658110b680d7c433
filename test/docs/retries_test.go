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

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// TestRetries computes what docs/operations-runtimes.md says of the SDK's rules for retries.
func TestRetries(t *testing.T) {
	page := locktest.Must(os.ReadFile("../../docs/operations-runtimes.md"))
	present, coming := rulesOfRetries(t, "false"), rulesOfRetries(t, "true")
	for _, row := range []string{
		fmt.Sprintf("| attempts | %d | %d |", present.attempts, coming.attempts),
		fmt.Sprintf("| pauses after a failure, with the library | %s | %s |", pausesText(present.failures), pausesText(coming.failures)),
		fmt.Sprintf("| pauses after a throttle | %s | %s |", pausesText(present.throttles), pausesText(coming.throttles)),
		fmt.Sprintf("| retries until the quota of a client is empty | %d | %d |", present.quota, coming.quota),
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

func rulesOfRetries(t *testing.T, rules string) (r retryRules) {
	t.Setenv("AWS_NEW_RETRIES_2026", rules)
	retryer := dynamodb.New(dynamodb.Options{}).Options().Retryer
	r.attempts = retryer.MaxAttempts()
	for first, i := map[string]int{"false": 1, "true": 0}[rules], 0; i < r.attempts-1; i++ {
		r.failures = append(r.failures, min(longestPause(t, retryer, first+i, errors.New("reset")), table.LongestPause))
		r.throttles = append(r.throttles, longestPause(t, retryer, first+i, &types.ProvisionedThroughputExceededException{}))
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
