package embedded

import (
	"fmt"
	"math/bits"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// maxSegments is the most workers that may share a scan.
const maxSegments = 1_000_000

type scanRequest struct {
	readRequest
	Segment       *int
	TotalSegments *int
}

func (e *Engine) scan(req *scanRequest) (any, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	if err := req.checkSegment(); err != nil {
		return nil, err
	}
	scope, err := req.scope(req.FilterExpression != nil || req.ProjectionExpression != nil)
	if err != nil {
		return nil, err
	}
	p, err := req.open(scope)
	if err != nil {
		return nil, err
	}
	if err := scope.Unused(); err != nil {
		return nil, err
	}
	if err := e.find(&req.readRequest, p); err != nil {
		return nil, err
	}
	t := p.table
	from, at, err := t.startScan(req.ExclusiveStartKey)
	if err != nil {
		return nil, err
	}
	if k := req.ExclusiveStartKey; k != nil && !req.inSegment(hashOf(keyText(k[t.partition.name]))) {
		return nil, invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", *req.TotalSegments, *req.Segment)
	}
	t.scanFrom(from, at, req, p)
	return p.answer(&req.readRequest), nil
}

// scanFrom reads partitions from t.parts[from] on, the first of them from its
// row at on, until the page is full.
func (t *table) scanFrom(from, at int, req *scanRequest, p *page) {
	for ; from < len(t.parts); from++ {
		rows := t.parts[from].rows
		if req.inSegment(t.parts[from].hash) {
			for ; at < len(rows); at++ {
				if !p.read(rows[at].item) {
					return
				}
			}
		}
		at = 0
	}
}

// startScan is the partition and row that follow the key.
func (t *table) startScan(after value.Item) (from, at int, err error) {
	if after == nil {
		return 0, 0, nil
	}
	k, err := t.primaryKey(after)
	if err != nil {
		return 0, 0, invalid("The provided starting key is invalid: %s", asFailure(err).message)
	}
	text := keyText(k.partition)
	from, found := t.partAt(hashOf(text), text)
	if !found {
		return from, 0, nil
	}
	at, found = t.parts[from].at(k.sort)
	if found {
		at++
	}
	return from, at, nil
}

func (req *scanRequest) checkSegment() error {
	total, segment := req.TotalSegments, req.Segment
	switch {
	case total == nil && segment == nil:
		return nil
	case total == nil:
		return invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case segment == nil:
		return invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case *total < 1:
		return constraint(fmt.Sprint(*total), "totalSegments", "Member must have value greater than or equal to 1")
	case *total > maxSegments:
		return constraint(fmt.Sprint(*total), "totalSegments", fmt.Sprintf("Member must have value less than or equal to %d", maxSegments))
	case *segment < 0:
		return constraint(fmt.Sprint(*segment), "segment", "Member must have value greater than or equal to 0")
	case *segment >= *total:
		return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *segment, *total)
	}
	return nil
}

// inSegment reports whether a partition belongs to the segment that is asked
// for: segments cut the range of hashes into equal parts.
func (req *scanRequest) inSegment(hash uint64) bool {
	if req.TotalSegments == nil {
		return true
	}
	segment, _ := bits.Mul64(hash, uint64(*req.TotalSegments))
	return segment == uint64(*req.Segment)
}
