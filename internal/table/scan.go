package table

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
)

// A client that only locks need not have it.
type scanner interface {
	Scan(context.Context, *dynamodb.ScanInput, ...Option) (*dynamodb.ScanOutput, error)
}

var _ scanner = (*dynamodb.Client)(nil)

// Page is a part of a table: Segment of Segments, after the key After.
type Page struct {
	Segment, Segments int
	After             clause.Item // nil: from the beginning
	Limit             int         // of the items that are read; zero: 1 MB
	Prefix            string      // of the partition keys that are returned; all are read
}

// Scan reads a page consistently. next is where the next page begins, nil after the last
// one, and units are the read units that DynamoDB counted. The first item of a table with
// other keys is a SchemaError: a scan needs no names, so DynamoDB would answer.
func (s *Store) Scan(ctx context.Context, p Page) (items []clause.Item, next clause.Item, units float64, err error) {
	db, ok := s.db.(scanner)
	if !ok {
		return nil, nil, 0, fmt.Errorf("the DynamoDB client %T has no method Scan", s.db)
	}
	in := &dynamodb.ScanInput{
		TableName: &s.layout.Table, ConsistentRead: aws.Bool(true), ExclusiveStartKey: p.After,
		Segment: aws.Int32(int32(p.Segment)), TotalSegments: aws.Int32(int32(p.Segments)),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	if p.Limit > 0 {
		in.Limit = aws.Int32(int32(p.Limit))
	}
	if p.Prefix != "" {
		pk, sk := expression.NameNoDotSplit(s.layout.PK), expression.NameNoDotSplit(s.layout.SK)
		// Without the keys it is an item of a table with other keys.
		filter := pk.BeginsWith(p.Prefix).Or(pk.AttributeNotExists(), sk.AttributeNotExists())
		e, err := expression.NewBuilder().WithFilter(filter).Build()
		if err != nil {
			return nil, nil, 0, err
		}
		in.FilterExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.Filter(), e.Names(), e.Values()
	}
	r := s.begin(ctx, "Scan")
	defer r.cancel()
	out, err := db.Scan(r.ctx, in, r.options...)
	if err != nil {
		return nil, nil, 0, r.failed(err)
	}
	r.answered(out.ResultMetadata)
	if out.ConsumedCapacity != nil {
		units = aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	if len(out.LastEvaluatedKey) > 0 {
		next = out.LastEvaluatedKey
	}
	if s.foreign(out) {
		return nil, nil, 0, s.otherKeys(ctx, next)
	}
	return out.Items, next, units, nil
}

// foreign reports whether a page proves that the table has other keys: each item has the keys of its table.
func (s *Store) foreign(out *dynamodb.ScanOutput) bool {
	lacks := func(item clause.Item) bool {
		_, pk := item[s.layout.PK].(*types.AttributeValueMemberS)
		_, sk := item[s.layout.SK].(*types.AttributeValueMemberS)
		return !pk || !sk
	}
	last := out.LastEvaluatedKey
	return len(last) > 0 && (len(last) != 2 || lacks(last)) || slices.ContainsFunc(out.Items, lacks)
}

// otherKeys is the error of a table with other keys. It describes the table, if the client can.
func (s *Store) otherKeys(ctx context.Context, last clause.Item) error {
	problem := &SchemaError{Table: s.layout.Table, Need: s.layout.need()}
	switch found := s.describedKeys(ctx); {
	case found != "":
		problem.Found = found
	case len(last) > 0:
		problem.Found = fmt.Sprintf("the keys %q", slices.Sorted(maps.Keys(last)))
	default:
		problem.Found = "an item without these keys"
	}
	return problem
}

// describedKeys returns the keys of the table; empty if the client cannot ask.
func (s *Store) describedKeys(ctx context.Context) string {
	d, ok := s.db.(describer)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	out, err := d.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.layout.Table})
	if err != nil || out.Table == nil || s.layout.check(out.Table) {
		return ""
	}
	return keysOf(out.Table)
}

// CheckKeys returns a SchemaError if a table has other keys than that layout.
func (l Layout) CheckKeys(t *types.TableDescription) error {
	if l.check(t) {
		return nil
	}
	return &SchemaError{Table: l.Table, Found: keysOf(t), Need: l.need()}
}
