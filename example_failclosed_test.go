package queuelock_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// What the lock protects checks no token. So whoever comes after a holder that
// was lost waits for as long as a request of it may be on its way.
func ExampleLockDelay() {
	ctx := context.Background()
	db := newMemoryTable()
	key := queuelock.Key{Entity: "printer"}

	network := &cable{RoundTripper: db.Options().HTTPClient.(*http.Client).Transport}
	cutOff := dynamodb.New(db.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: network} })
	first, closed := client(cutOff, "worker-1", time.Second)
	defer closed()
	second, closed := client(db, "worker-2", time.Second)
	defer closed()

	lock, err := first.Acquire(ctx, key, waitpolicy.NoWait, queuelock.LockDelay(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	network.cut.Store(true)
	<-lock.Done()
	lost := time.Now()
	err = second.Do(ctx, key, waitpolicy.Forever, func(context.Context, *queuelock.Lock) error {
		fmt.Println("a second or more after the loss:", time.Since(lost) >= time.Second)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// a second or more after the loss: true
}
