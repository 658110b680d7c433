package locktest

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/engines"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
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

// WithoutNesting makes a table of an engine that refuses a function within a function.
func WithoutNesting() queuelocktest.Option {
	engine := embedded.New(embedded.Config{})
	return queuelocktest.WithEngine(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := Must(io.ReadAll(r.Body)) // it is in memory
		if nested.Match(body) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazon.coral.validate#ValidationException","message":"Invalid UpdateExpression: Syntax error"}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		engine.ServeHTTP(w, r)
	}))
}

var nested = regexp.MustCompile(`if_not_exists ?\([^,()]+, ?if_not_exists`)

// Memory returns a client of a DynamoDB in memory with the table "queuelock", for Examples: queuelocktest needs a testing.TB.
func Memory() *dynamodb.Client {
	db := faultnet.SDK(faultnet.New(embedded.New(embedded.Config{}), faultnet.Config{}).Connect("example", nil))
	if err := queuelock.CreateTable(context.Background(), db, "queuelock", queuelock.Config{}); err != nil {
		panic(err)
	}
	return db
}
