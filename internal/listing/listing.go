// Package listing reads all queues of a table by a parallel scan.
//
// The items of a queue have one partition key, so one segment of the scan shows them all,
// one after the other in the order of tickets. A queue is complete when an item of
// another queue follows, or the segment ends. Each segment keeps one page and one queue.
//
// It does not promise that all queues are of one instant, nor that the items of one are: a
// scan reads page by page. A queue whose serving record is on a user's item shows its rows
// only.
package listing

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/group"
	"github.com/queuelock/queuelock/internal/retry"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// itemsPerUnit is how many items a page may read for each read unit that a second has. A
// unit is 4 KB, and an idle record has about 300 bytes.
const itemsPerUnit = 8

// Config says how to scan.
type Config struct {
	Prefix   string
	Segments int
	Rate     float64       // read units in a second, of all segments; zero: no bound
	OnPage   func(float64) // receives the units of each page, one at a time
	Timeout  time.Duration // of failures of one page
}

// Found is a queue that a scan has shown.
type Found struct {
	Queue    table.Queue
	Snapshot queue.Snapshot
	Err      error // the record is malformed
}

// Queues scans the table. An error ends the scan.
func Queues(ctx context.Context, store *table.Store, cfg Config) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		found := make(chan Found)
		var segments group.All
		var mu sync.Mutex // guards calls of OnPage
		for i := range cfg.Segments {
			s := segment{Config: cfg, store: store, number: i, found: found, mu: &mu}
			segments.Go(func() {
				err := errPanicked
				defer func() {
					if err != nil {
						cancel(err) // that of the others, too
					}
				}()
				err = s.scan(ctx)
			})
		}
		ended, end := make(chan struct{}), func() {}
		go func() { end = segments.Wait(); close(ended) }()
		defer func() { cancel(nil); <-ended; end() }()
		for {
			select {
			case f := <-found:
				if !yield(f, nil) {
					return
				}
			case <-ended:
				if err := context.Cause(ctx); err != nil && !errors.Is(err, errPanicked) {
					yield(Found{}, err)
				}
				return
			}
		}
	}
}

var errPanicked = errors.New("a scan has panicked")

// segment is the scan of one segment.
type segment struct {
	Config
	store  *table.Store
	number int
	found  chan<- Found
	mu     *sync.Mutex
	last   *Found // the queue of the items read last
}

func (s *segment) scan(ctx context.Context) error {
	page := table.Page{Segment: s.number, Segments: s.Segments, Prefix: s.Prefix}
	rate := s.Rate / float64(s.Segments)
	if rate > 0 {
		page.Limit = max(1, int(itemsPerUnit*rate))
	}
	for {
		var items []clause.Item
		var next clause.Item // not page.After: a failed attempt returns none, and the next one needs it
		var units float64
		sent := time.Now()
		err := table.Retryable.Within(s.Timeout).Do(ctx, func(ctx context.Context) (err error) {
			items, next, units, err = s.store.Scan(ctx, page)
			return err
		})
		readAt := time.Now()
		if err != nil {
			return err
		}
		s.report(units)
		for _, item := range items {
			if err := s.add(ctx, item, readAt); err != nil {
				return err
			}
		}
		if next == nil {
			return s.flush(ctx)
		}
		page.After = next
		if rate > 0 {
			if !retry.Sleep(ctx, time.Duration(units/rate*float64(time.Second))-time.Since(sent)) {
				return context.Cause(ctx)
			}
		}
	}
}

func (s *segment) report(units float64) {
	if s.OnPage != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.OnPage(units)
	}
}

// add adds an item to its queue. Items of other programs, and counters, are in none.
func (s *segment) add(ctx context.Context, item clause.Item, readAt time.Time) error {
	entity, reason, ok := keyOf(s.store.Layout(), item)
	if !ok {
		return nil
	}
	if s.last == nil || s.last.Queue.Entity != entity || s.last.Queue.Reason != reason {
		if err := s.flush(ctx); err != nil {
			return err
		}
		s.last = &Found{Queue: s.store.Queue(entity, reason, nil)}
	}
	s.last.Snapshot.ReadAt = readAt
	if err := s.last.Snapshot.Add(s.last.Queue.Items, item); err != nil {
		s.last.Err = err
	}
	return nil
}

// flush delivers the last queue.
func (s *segment) flush(ctx context.Context) error {
	if s.last == nil {
		return nil
	}
	select {
	case s.found <- *s.last:
		s.last = nil
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keyOf returns the queue of an item, or false if its key is none of a queue's.
func keyOf(l table.Layout, item clause.Item) (entity, reason string, ok bool) {
	pk, isText := item[l.PK].(*types.AttributeValueMemberS)
	sk, isSortText := item[l.SK].(*types.AttributeValueMemberS)
	if !isText || !isSortText {
		return "", "", false
	}
	at := len(sk.Value) - ticket.Digits - 1
	if at < 0 || sk.Value[at] != '/' || strings.Trim(sk.Value[at+1:], "0123456789") != "" {
		return "", "", false
	}
	return pk.Value, sk.Value[:at], true
}
