package waitpolicy_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// A report that some process writes every hour: if another one is at it, three
// attempts are enough.
func ExampleAttempts() {
	ctx := context.Background()
	locks, err := queuelock.New(locktest.Memory(), "queuelock", queuelock.Config{})
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
