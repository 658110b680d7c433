package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"
)

// noticeAfter is how long a command waits for DynamoDB before it reports so: most answers
// come sooner, and a user asks after about two seconds. Tests shorten it.
var noticeAfter = 1500 * time.Millisecond

// patience bounds how long a command works with DynamoDB, and reports on standard error
// that it waits.
type patience struct {
	ctx    context.Context
	cancel context.CancelFunc
	limit  time.Duration
	timer  *time.Timer

	mu   sync.Mutex
	done bool // guarded by mu: nothing is printed any more
}

// patience begins to wait for an answer. end must be called.
func (s *settings) patience(ctx context.Context, stderr io.Writer, limit time.Duration) *patience {
	return newPatience(ctx, stderr, s.where(), limit)
}

func newPatience(ctx context.Context, stderr io.Writer, what string, limit time.Duration) *patience {
	p := &patience{limit: limit}
	p.ctx, p.cancel = context.WithTimeout(ctx, limit)
	p.timer = time.AfterFunc(noticeAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.done {
			fmt.Fprintf(stderr, "queuelock: waiting for %s, for at most %v\n", what, limit)
		}
	})
	return p
}

// end ends the wait. Nothing is printed afterwards.
func (p *patience) end() {
	p.cancel()
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
}

// unavailable is the failure of a request, with the limit if that has ended it.
func (p *patience) unavailable(err error) error {
	if errors.Is(p.ctx.Err(), context.DeadlineExceeded) {
		err = &briefError{fmt.Sprintf(noAnswer, fmt.Sprintf("within %v", p.limit)), err}
	}
	return unavailable(err)
}

// where names the DynamoDB of the settings, for messages.
func (s *settings) where() string {
	endpoint, err := s.address()
	if u, parseErr := url.Parse(endpoint); err == nil && parseErr == nil && u.Host != "" {
		return "DynamoDB at " + clip(u.Host, 60)
	}
	return "DynamoDB"
}
