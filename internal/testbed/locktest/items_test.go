package locktest

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// TestWatch checks that a change which no write of the library describes is found, unless a test has made it by hand.
func TestWatch(t *testing.T) {
	for name, found := range map[string]bool{"a program": true, "editor": false} {
		InBubble(t, name, func(t *testing.T) {
			judged, violations := watch(embedded.Config{})
			table := queuelocktest.NewTable(t, queuelocktest.WithEngine(judged))
			c, _ := Open(t, table, "c", queuelock.Config{})
			Release(t, Acquire(t, c, waitpolicy.NoWait))
			if wrong := violations(); len(wrong) > 0 {
				t.Errorf("of a turn: %q", wrong)
			}
			Must(table.Client(name).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String(table.Name()), Key: RecordKey(), UpdateExpression: aws.String("SET renewed = ticketNumber"),
			}))
			if text := strings.Join(violations(), " "); strings.Contains(text, "no write describes this change") != found {
				t.Errorf("found: %q", text)
			}
		})
	}
}
