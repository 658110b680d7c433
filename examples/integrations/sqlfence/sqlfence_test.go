package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

func newStore(t *testing.T) store {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "orders.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := store{db}
	if err := s.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s store) status(t *testing.T, id string) (status string) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), "SELECT status FROM orders WHERE id = $1", id).Scan(&status); err != nil {
		t.Fatal(err)
	}
	return status
}

// evicted returns the tickets of a holder that was partitioned until another client
// evicted it, and of that client.
func evicted(t *testing.T) (late, next ticket.Number) {
	synctest.Test(t, func(t *testing.T) {
		table := queuelocktest.NewTable(t)
		acquire := func(name string) (*queuelock.Lock, *queuelocktest.Client) {
			net := table.Client(name)
			locks, err := queuelock.New(net, table.Name(), queuelock.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { locks.Close(context.Background()) }) // fails for a partitioned client
			lock, err := locks.Acquire(t.Context(), queuelock.Key{Entity: "order-7"}, waitpolicy.For(2*time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			return lock, net
		}
		first, net := acquire("first")
		net.Partition()
		second, _ := acquire("second")
		late, next = first.Ticket(), second.Ticket()
	})
	return late, next
}

// TestFence lets a holder write that was evicted and does not know it.
func TestFence(t *testing.T) {
	late, next := evicted(t)
	t.Run("RefusesTheLateWriter", func(t *testing.T) {
		s := newStore(t)
		for _, write := range []struct {
			status string
			token  ticket.Number
			want   error
		}{
			{"packed", late, nil},
			{"packed again", late, nil},
			{"shipped", next, nil},
			{"lost", late, errFenced},
			{"delivered", next, nil},
		} {
			if err := s.setStatus(t.Context(), "order-7", write.status, write.token); !errors.Is(err, write.want) {
				t.Errorf("%s: %v, want %v", write.status, err, write.want)
			}
		}
		if status := s.status(t, "order-7"); status != "delivered" {
			t.Errorf("the order is %s", status)
		}
	})
	t.Run("ComparesTokensAsNumbers", func(t *testing.T) {
		s := newStore(t)
		for _, token := range []ticket.Number{ticket.FromUint64(9), ticket.FromUint64(10), ticket.Max} {
			if err := s.setStatus(t.Context(), "order-7", token.String(), token); err != nil {
				t.Error(err)
			}
		}
	})
}
