package table

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
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
// one, and units are the read units that DynamoDB counted.
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
		e, err := expression.NewBuilder().WithFilter(expression.NameNoDotSplit(s.layout.PK).BeginsWith(p.Prefix)).Build()
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
	return out.Items, next, units, nil
}
