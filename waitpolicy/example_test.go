package waitpolicy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/waitpolicy"
)

// memory carries requests to a DynamoDB in memory. Tests use package
// queuelocktest; an example has no testing.TB to give it.
type memory struct{ engine http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	m.engine.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// A report that some process writes every hour: if another one is at it, three
// attempts are enough.
func ExampleAttempts() {
	ctx := context.Background()
	db := dynamodb.New(dynamodb.Options{
		Region:       "local",
		BaseEndpoint: aws.String("http://dynamodb.invalid"),
		HTTPClient:   &http.Client{Transport: memory{embedded.New(embedded.Config{})}},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	if err := queuelock.CreateTable(ctx, db, "queuelock", queuelock.Config{}); err != nil {
		fmt.Println(err)
		return
	}
	locks, err := queuelock.New(db, "queuelock", queuelock.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	report := queuelock.Key{Entity: "hourly-report"}

	write := func(context.Context, *queuelock.Lock) error {
		fmt.Println("writing the report")
		return nil
	}
	err = locks.Do(ctx, report, waitpolicy.NoWait, func(ctx context.Context, _ *queuelock.Lock) error {
		// Meanwhile, elsewhere:
		err := locks.Do(ctx, report, waitpolicy.Attempts(3, 20*time.Millisecond), write)
		if errors.Is(err, queuelock.ErrNotAcquired) {
			fmt.Println("another worker writes it")
			return nil
		}
		return err
	})
	if err = errors.Join(err, locks.Do(ctx, report, waitpolicy.Attempts(3, 20*time.Millisecond), write), locks.Close(ctx)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// another worker writes it
	// writing the report
}

// A program reads the wait from a flag or a file.
func ExampleParse() {
	for _, text := range []string{"0", "90s", "forever", "5x2s"} {
		wait, err := waitpolicy.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		limit, bounded := wait.Limit()
		tries, every := wait.Tries()
		fmt.Printf("%s: NoWait %t, limit %v %t, %d tries, pause %v\n", wait, wait.IsNoWait(), limit, bounded, tries, every)
	}
	// Output:
	// 0: NoWait true, limit 0s true, 1 tries, pause 0s
	// 1m30s: NoWait false, limit 1m30s true, 0 tries, pause 0s
	// forever: NoWait false, limit 0s false, 0 tries, pause 0s
	// 5x2s: NoWait false, limit 0s false, 5 tries, pause 2s
}

func ExampleFor() {
	fmt.Println(waitpolicy.For(time.Minute), waitpolicy.For(0) == waitpolicy.NoWait)
	fmt.Println("valid:", waitpolicy.For(time.Minute).Validate() == nil, waitpolicy.For(-time.Minute).Validate() == nil)
	// Output:
	// 1m0s true
	// valid: true false
}

// A pause is shortened at random, by up to a fifth.
func ExampleWait_Pause() {
	wait := waitpolicy.Attempts(5, 2*time.Second)
	fmt.Println(wait.Pause(0), wait.Pause(0.5))
	// Output:
	// 2s 1.8s
}

// The next waiter looks as often as the schedule allows if nothing is known of the turn.
func ExampleSchedule_Delay() {
	schedule := waitpolicy.Schedule{Fastest: 5 * time.Millisecond, SlowestNext: time.Second, Slowest: 15 * time.Second}
	next := schedule.Delay(waitpolicy.Observation{Serving: true}, 0)
	deeper := schedule.Delay(waitpolicy.Observation{Serving: true, Ahead: 20, Mean: time.Second, ClearIn: time.Minute}, 0)
	fmt.Println(next <= schedule.SlowestNext, deeper > next)
	// Output:
	// true true
}

func ExampleSchedule_Validate() {
	slow := waitpolicy.Schedule{SlowestNext: time.Minute}.WithDefaults()
	fmt.Println(slow.Validate())
	// Output:
	// it must grow from Fastest 1ms to SlowestNext 1m0s to Slowest 15s
}
