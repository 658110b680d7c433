package table

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock/clause"
)

// Date finds out DynamoDB's time, if the clock needs it to begin a lease: DATE of the
// protocol, an eventually consistent read of the record. Of its answer only the date is
// used. Calls that come while one is under way wait for it, for at most one time-out.
//
// An error is returned only if the time is still not known, and another attempt can help:
// the request that follows meets any other cause again. After nil the time is known,
// unless the answer had no date.
func (q Queue) Date(ctx context.Context) error {
	s := q.Record()
	if !s.clock.Needed(time.Now()) {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, s.left())
	defer cancel()
	select {
	case s.dating <- struct{}{}:
		ends := sync.OnceFunc(func() { <-s.dating })
		defer ends()
		defer context.AfterFunc(bounded, ends)() // a read that hangs after its time-out keeps no other call
	case <-bounded.Done():
	}
	for range 2 { // if the first contradicts what was known, the second decides
		if !s.clock.Needed(time.Now()) {
			return nil
		}
		switch err := s.askDate(ctx, q.RecordKey()); {
		case Unanswered(err) && s.clock.Needed(time.Now()):
			return err
		case err != nil:
			return nil
		}
	}
	return nil
}

// askDate sends the read of Date.
func (s *Store) askDate(ctx context.Context, key clause.Item) error {
	r := s.begin(ctx, "GetItem", once)
	defer r.cancel()
	out, err := s.db.GetItem(r.ctx, &dynamodb.GetItemInput{TableName: &s.layout.Table, Key: key}, r.options...)
	if err != nil {
		return r.failed(err)
	}
	r.answered(out.ResultMetadata)
	return nil
}
