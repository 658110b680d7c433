package locktest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/queuelocktest"
)

// OnEveryEngine runs f as a parallel subtest on each engine, with a new table, in
// real time.
func OnEveryEngine(t *testing.T, f func(t *testing.T, table *queuelocktest.Table)) {
	t.Parallel()
	engines.Each(t, func(t *testing.T, e engines.Engine) {
		t.Parallel()
		name := "queuelock-" + strings.ToLower(rand.Text()[:12])
		table := queuelocktest.NewTable(t, queuelocktest.WithEngine(e.Handler(t)), queuelocktest.WithName(name), queuelocktest.WithoutTable())
		db := e.Client(t)
		OK(t, queuelock.CreateTable(t.Context(), db, name, queuelock.Config{}))
		t.Cleanup(func() {
			_, err := db.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
			Check(t, err)
		})
		f(t, table)
	})
}
