package optimistic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// DynamoDB is what the package needs of an SDK client, such as a *dynamodb.Client.
type DynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

var _ DynamoDB = (*dynamodb.Client)(nil)

// Config changes how a [Table] works. The zero value is right for a table with only a partition key. It is
// copied.
type Config struct {
	// SortKey names the table's sort key. Zero means that it has none.
	SortKey string

	// VersionAttribute (N) and TokenAttribute (S) name the two attributes that saves add to an item. Zero means
	// "version" and "versionTokens". They must differ from each other and from the keys, and be the same in all
	// programs.
	VersionAttribute, TokenAttribute string

	// Attempts is how often Update loads, changes and saves before it returns the last conflict. Zero means 10,
	// which takes 4.3 s on average besides the requests. At least 1.
	Attempts int

	// Tries is how often a request is sent that fails transiently. Zero means 5. At least 1.
	Tries int

	// RequestTimeout bounds each try. Zero means 2 s. At least 1 ms.
	RequestTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.VersionAttribute = cmp.Or(c.VersionAttribute, "version")
	c.TokenAttribute = cmp.Or(c.TokenAttribute, "versionTokens")
	c.Attempts = cmp.Or(c.Attempts, 10)
	c.Tries = cmp.Or(c.Tries, 5)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 2*time.Second)
	return c
}

// Table is a table whose items have versions. It is safe for concurrent use, and starts no goroutine.
type Table struct {
	db   DynamoDB
	name string
	keys []string // the partition key, and the sort key if there is one
	cfg  Config
}

// New returns a [Table] whose partition key has that name. It makes no request. Returns an error if an argument
// or a field is invalid.
func New(db DynamoDB, tableName, partitionKey string, cfg Config) (*Table, error) {
	cfg = cfg.withDefaults()
	t := &Table{db: db, name: tableName, keys: []string{partitionKey}, cfg: cfg}
	if cfg.SortKey != "" {
		t.keys = append(t.keys, cfg.SortKey)
	}
	switch {
	case db == nil || reflect.ValueOf(db).Kind() == reflect.Pointer && reflect.ValueOf(db).IsNil():
		return nil, errors.New("optimistic: the DynamoDB client is nil")
	case tableName == "":
		return nil, errors.New("optimistic: the table name is empty")
	case cfg.Attempts < 1:
		return nil, fmt.Errorf("optimistic: Attempts is %d: at least 1 is needed", cfg.Attempts)
	case cfg.Tries < 1:
		return nil, fmt.Errorf("optimistic: Tries is %d: at least 1 is needed", cfg.Tries)
	case cfg.RequestTimeout < time.Millisecond:
		return nil, fmt.Errorf("optimistic: RequestTimeout is %v: at least 1ms is needed", cfg.RequestTimeout)
	}
	if err := t.validateNames(); err != nil {
		return nil, fmt.Errorf("optimistic: %w", err)
	}
	return t, nil
}

// maxName is DynamoDB's limit on the names of key attributes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const maxName = 255

func (t *Table) validateNames() error {
	type attribute struct{ what, name string }
	names := []attribute{
		{"partition key", t.keys[0]}, {"version attribute", t.cfg.VersionAttribute},
		{"token attribute", t.cfg.TokenAttribute},
	}
	if t.cfg.SortKey != "" {
		names = append(names, attribute{"sort key", t.cfg.SortKey})
	}
	seen := map[string]string{}
	for _, n := range names {
		switch {
		case n.name == "":
			return fmt.Errorf("the name of the %s is empty", n.what)
		case len(n.name) > maxName:
			return fmt.Errorf("the name of the %s has %d bytes: at most %d are possible", n.what, len(n.name), maxName)
		case seen[n.name] != "":
			return fmt.Errorf("the %s and the %s are both named %q", seen[n.name], n.what, n.name)
		}
		seen[n.name] = n.what
	}
	return nil
}
