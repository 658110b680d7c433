package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/queuelock/queuelock/internal/table"
)

// throttles counts the attempts that DynamoDB throttles, the SDK's own included, by the text of the limit.
type throttles struct {
	mu    sync.Mutex
	count map[string]int // guarded by mu
}

// counting returns the subject with a client whose throttled attempts are counted.
func (s Subject) counting() (Subject, *throttles) {
	counted := &throttles{count: map[string]int{}}
	count := middleware.DeserializeMiddlewareFunc("queuelock.throttles", func(ctx context.Context, in middleware.DeserializeInput,
		next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if table.Throttled(err) {
			counted.mu.Lock()
			counted.count[table.Limit(err)]++
			counted.mu.Unlock()
		}
		return out, metadata, err
	})
	// Outermost of this step, and inside of the retries.
	s.DB = dynamodb.New(s.DB.Options(), dynamodb.WithAPIOptions(func(stack *middleware.Stack) error { return stack.Deserialize.Add(count, middleware.Before) }))
	return s, counted
}

// report reports what was counted, and nothing if nothing was.
func (t *throttles) report(report func(Result)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, limit := range slices.Sorted(maps.Keys(t.count)) {
		found := fmt.Sprintf("DynamoDB has throttled %d attempts", t.count[limit])
		if limit != "" {
			found += " by the limit of the " + limit
		}
		report(Result{"throttling", Warning, found, "throttled renewals lose locks: see capacity and hot items in docs/operations-table.md"})
	}
}
