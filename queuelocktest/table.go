package queuelocktest

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// Table is a DynamoDB table in memory behind a network that can fail. It is safe for
// concurrent use.
type Table struct {
	tb     testing.TB
	cfg    config
	net    *faultnet.Network
	rules  rules
	direct *dynamodb.Client // around the faults, the counts and the log
}

// cleanupLimit bounds how long the end of a test waits for requests under way. They are
// cancelled first, so it matters only if the engine hangs.
const cleanupLimit = 10 * time.Second

// NewTable creates an engine with one table as queuelock needs it. It fails the test if
// it cannot. When the test ends, requests that still wait in the network are dropped
// (see [Table.Settle]), and a failed test prints the latest requests.
func NewTable(tb testing.TB, opts ...Option) *Table {
	tb.Helper()
	cfg := config{name: "queuelock", pk: "pk", sk: "sk", ttl: "expiresAt"}
	for _, opt := range opts {
		opt(&cfg)
	}
	engine := cfg.engine
	if engine == nil {
		engine = embedded.New(cfg.embedded)
	}
	t := &Table{
		tb:     tb,
		cfg:    cfg,
		net:    faultnet.New(engine, faultnet.Config{Latency: cfg.latency, LogLimit: logLimit}),
		direct: faultnet.SDK(faultnet.New(engine, faultnet.Config{LogLimit: 1}).Connect("direct", nil)),
	}
	tb.Cleanup(t.cleanup)
	if !cfg.withoutTable {
		t.create()
	}
	return t
}

// logLimit is how many requests a failed test prints.
const logLimit = 200

func (t *Table) create() {
	t.tb.Helper()
	ctx := t.tb.Context()
	if _, err := t.direct.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   &t.cfg.name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: &t.cfg.pk, KeyType: types.KeyTypeHash},
			{AttributeName: &t.cfg.sk, KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: &t.cfg.pk, AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: &t.cfg.sk, AttributeType: types.ScalarAttributeTypeS},
		},
	}); err != nil {
		t.tb.Fatalf("queuelocktest: create table %q: %v", t.cfg.name, err)
	}
	if _, err := t.direct.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &t.cfg.name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.cfg.ttl, Enabled: aws.Bool(true)},
	}); err != nil {
		t.tb.Fatalf("queuelocktest: enable time to live on table %q: %v", t.cfg.name, err)
	}
}

func (t *Table) cleanup() {
	t.net.Close()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	if err := t.net.Settle(ctx); err != nil {
		t.tb.Errorf("queuelocktest: table %q: requests still under way at the end: %v", t.cfg.name, err)
	}
	if t.tb.Failed() {
		t.tb.Logf("queuelocktest: table %q, latest requests:\n%s", t.cfg.name, t.net.Log())
	}
}

// Name returns the name of the table.
func (t *Table) Name() string { return t.cfg.name }

// Inject adds a fault to the requests of all clients, until it is removed or used up.
func (t *Table) Inject(f Fault) *Injection { return t.rules.add(f) }

// Counts returns what all clients have sent and consumed so far, without the requests
// of NewTable and Items.
func (t *Table) Counts() Counts { return countsOf(t.net.Counts("")) }

// Log returns the latest requests of all clients, one on a line, with their faults and
// results.
func (t *Table) Log() string { return t.net.Log() }

// Settle waits until every late duplicate, and every request that goes on without its
// caller, has been applied. It fails only when ctx ends. Call it before a look at what
// faults have left behind.
func (t *Table) Settle(ctx context.Context) error { return t.net.Settle(ctx) }

// Items returns all items of the table in the order of their keys. It reads without
// faults, counts and log, and fails the test if it cannot.
func (t *Table) Items() []map[string]types.AttributeValue {
	t.tb.Helper()
	var items []map[string]types.AttributeValue
	scan := dynamodb.ScanInput{TableName: &t.cfg.name, ConsistentRead: aws.Bool(true)}
	pages := dynamodb.NewScanPaginator(t.direct, &scan)
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			t.tb.Fatalf("queuelocktest: scan table %q: %v", t.cfg.name, err)
		}
		items = append(items, page.Items...)
	}
	slices.SortFunc(items, func(a, b map[string]types.AttributeValue) int {
		return cmp.Or(
			cmp.Compare(text(a[t.cfg.pk]), text(b[t.cfg.pk])),
			cmp.Compare(text(a[t.cfg.sk]), text(b[t.cfg.sk])),
		)
	})
	return items
}

func text(value types.AttributeValue) string {
	s, _ := value.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}
