package session

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestListedSessions checks what Close, which takes the list at any time, may find in it.
func TestListedSessions(t *testing.T) {
	tb := queuelocktest.NewTable(t)
	q := table.NewStore(tb.Client("a"), table.Layout{Table: tb.Name(), PK: "pk", SK: "sk", TTL: "expiresAt"}, time.Second).
		Queue("e", "lock", nil)
	newClient := func(background *sync.WaitGroup) *Client {
		return &Client{
			Closed: context.Background(), Timeout: time.Second, Log: slog.New(slog.DiscardHandler), Local: handover.New(time.Minute),
			Background: background.Go, Released: errReleased,
			Lost: func(_ table.Queue, _ ticket.Number, loss *heartbeat.LossError) error { return &lossError{loss} },
		}
	}
	terms := heartbeat.Terms{TTL: time.Minute, Interval: 30 * time.Second, Margin: heartbeat.Margin(time.Minute)}
	grant := func(i int, sent time.Time) *waiter.Grant {
		return &waiter.Grant{ID: fmt.Sprint(i), Ticket: ticket.FromUint64(1), Sent: sent, Lease: queue.Lease{TTL: time.Minute, Until: time.Now().Add(time.Minute)}}
	}
	t.Run("AreComplete", func(t *testing.T) {
		var background, reader sync.WaitGroup
		c := newClient(&background)
		ctx, cancel := context.WithCancel(t.Context())
		reader.Go(func() {
			for ctx.Err() == nil {
				for _, s := range c.Sessions() {
					_ = s.Err() // as Release does first
				}
			}
		})
		for i := range 2000 {
			s := c.Hold(t.Context(), Config{Name: q, Queue: q, Terms: terms}, grant(i, time.Now()))
			if len(c.Sessions()) != 1 {
				t.Error("a session that is held is not listed")
			}
			s.step(queue.HoldEvent{Kind: queue.HoldUpdate})
			s.step(queue.HoldEvent{})
			s.step(queue.HoldEvent{Reply: queue.ReplyApplied})
		}
		cancel()
		reader.Wait()
		background.Wait()
	})
	t.Run("AreNotLost", func(t *testing.T) {
		var background sync.WaitGroup
		c := newClient(&background)
		s := c.Hold(t.Context(), Config{Name: q, Queue: q, Terms: terms}, grant(0, time.Now()))
		s.lose(&heartbeat.LossError{Cause: heartbeat.Expired})
		c.listHeld(s) // the end of Hold, if the loss comes before
		background.Wait()
		if n := len(c.Sessions()); n != 0 {
			t.Errorf("%d sessions that were lost are listed", n)
		}
	})
}
