package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/retry"
)

// API is the part of an SDK client that creates tables.
type API interface {
	describer
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...Option) (*dynamodb.CreateTableOutput, error)
	ttlDescriber
	UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...Option) (*dynamodb.UpdateTimeToLiveOutput, error)
}

type ttlDescriber interface {
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...Option) (
		*dynamodb.DescribeTimeToLiveOutput, error)
}

type describer interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...Option) (*dynamodb.DescribeTableOutput, error)
}

// DescribeTTL returns the attribute on which the table's TTL is enabled, "" if it is disabled,
// or false if the SDK client cannot ask or gets no answer.
func (s *Store) DescribeTTL(ctx context.Context) (attribute string, ok bool) {
	db, ok := s.db.(ttlDescriber)
	if !ok {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	attribute, ok, _ = enabledTTL(ctx, db, s.layout.Table)
	return attribute, ok
}

// enabledTTL is DescribeTTL with the error of the request.
func enabledTTL(ctx context.Context, db ttlDescriber, table string) (attribute string, ok bool, _ error) {
	out, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil || out.TimeToLiveDescription == nil {
		return "", false, err
	}
	switch d := out.TimeToLiveDescription; d.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		attribute = aws.ToString(d.AttributeName)
	}
	return attribute, true, nil
}

// Create creates a table of that layout, waits until it is active, and enables its TTL.
// An existing table is checked instead. Calling again is safe.
func Create(ctx context.Context, db API, l Layout) error {
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &l.Table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: &l.PK, AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: &l.SK, AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: &l.PK, KeyType: types.KeyTypeHash},
			{AttributeName: &l.SK, KeyType: types.KeyTypeRange},
		},
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return err
	}
	if err := untilActive(ctx, db, l); err != nil {
		return err
	}
	return enableTTL(ctx, db, l)
}

// untilActive waits until the table is active, and checks its keys.
func untilActive(ctx context.Context, db API, l Layout) error {
	looks := retry.Between(100*time.Millisecond, 2*time.Second)
	for {
		out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &l.Table})
		// A table that was just created may not be seen at once.
		// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !missing {
			return err
		}
		if err == nil {
			if !l.check(out.Table) {
				return &SchemaError{Table: l.Table, Found: keysOf(out.Table), Need: l.need()}
			}
			switch status := out.Table.TableStatus; status {
			case types.TableStatusActive, types.TableStatusUpdating:
				return nil
			case types.TableStatusCreating:
			default:
				return &SchemaError{Table: l.Table, Found: "a table in status " + string(status), Need: "an active one"}
			}
		}
		if !looks.Pause(ctx) {
			return fmt.Errorf("table %q is not active yet: %w", l.Table, ctx.Err())
		}
	}
}

func enableTTL(ctx context.Context, db API, l Layout) error {
	on, err := hasTTL(ctx, db, l)
	if err != nil || on {
		return err
	}
	_, err = db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &l.Table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &l.TTL, Enabled: aws.Bool(true)},
	})
	if codeOf(err) == validationException {
		// Another client enabled it in between.
		if on, again := hasTTL(ctx, db, l); again != nil || on {
			return again
		}
	}
	return err
}

func hasTTL(ctx context.Context, db API, l Layout) (bool, error) {
	found, _, err := enabledTTL(ctx, db, l.Table)
	if err != nil || found == "" {
		return false, err
	}
	if found != l.TTL {
		need := fmt.Sprintf("TTL on attribute %q, or none", l.TTL)
		return false, &SchemaError{Table: l.Table, Found: fmt.Sprintf("TTL on attribute %q", found), Need: need}
	}
	return true, nil
}
