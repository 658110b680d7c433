package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/engines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(wholeRun{engines.Main(m)}) }

// wholeRun fails a run that passed but left a known difference without its check: the check was renamed or removed.
type wholeRun struct{ engines.Runner }

func (w wholeRun) Run() int {
	code := w.Runner.Run()
	if code == 0 && !filtered() {
		for _, d := range unmet() {
			fmt.Fprintf(os.Stderr, "known difference of %s: there is no check %q\n", d.engine, d.check)
			code = 1
		}
	}
	return code
}

// filtered reports whether the command line left tests out.
func filtered() bool {
	for _, arg := range os.Args[1:] {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch name {
		case "test.run", "test.skip", "test.list", "test.fuzz":
			if value != "" {
				return true
			}
		}
	}
	return false
}

// A suite is one topic on one engine, with a table to itself.
type suite struct {
	t     *testing.T
	e     engines.Engine
	db    *dynamodb.Client
	table string
}

// onEveryEngine runs the checks that f states, once per engine, beside those of other topics and engines.
func onEveryEngine(t *testing.T, f func(s *suite)) {
	t.Helper()
	t.Parallel()
	engines.Each(t, func(t *testing.T, e engines.Engine) {
		t.Parallel()
		s := &suite{t: t, e: e, db: e.Client(t), table: newTableName()}
		createTable(t, s.db, tableInput(s.table))
		f(s)
	})
}

// check runs f as a subtest under the name of the property that it holds, with a partition to itself, and settles its
// failures with the table of known differences.
func (s *suite) check(property string, f func(c *check)) {
	s.t.Helper()
	s.t.Run(property, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := &check{t: t, ctx: ctx, db: s.db, table: s.table, pk: property}
		c.run(f)
		topic := strings.TrimPrefix(strings.SplitN(t.Name(), "/", 2)[0], "Test")
		settle(t, s.e.Name, topic+"/"+property, c.failures)
	})
}

func newTableName() string { return "queuelock-conformance-" + rand.Text() }

// createTable creates a table, and deletes it when the test is over.
func createTable(t testing.TB, db *dynamodb.Client, in *dynamodb.CreateTableInput) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := db.CreateTable(ctx, in); err != nil {
		t.Fatalf("CreateTable: %v", err)
	}
	t.Cleanup(func() { deleteTable(t, db, *in.TableName) })
	awaitTable(t, db, *in.TableName)
}

func awaitTable(t testing.TB, db *dynamodb.Client, name string) {
	t.Helper()
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 20*time.Millisecond, time.Second
	})
	if err := waiter.Wait(context.Background(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		t.Fatalf("waiting for the table: %v", err)
	}
}

func deleteTable(t testing.TB, db *dynamodb.Client, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		t.Errorf("DeleteTable: %v", err)
	}
}

// tableInput is that of a table with the library's keys.
func tableInput(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		},
	}
}
