package main

import (
	"cmp"
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

// evicted returns the tickets of a holder that was partitioned until another client evicted it, and of that client.
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

// update is the statement of docs/guide.md, for a database without ON CONFLICT. The column is a CHAR(38), and all
// databases compare padded tokens as strings. In PostgreSQL a NUMERIC(38) and the token's String do as well. MySQL
// compares a DECIMAL with a string as floating-point numbers, and needs CAST(? AS DECIMAL(38)). SQLite has no exact
// numbers above 2^63-1.
//
// The rows that the condition has found must be counted, also those with the same values before. The driver of MySQL
// needs clientFoundRows=true for that.
const update = `UPDATE orders SET status = ?, token = ? WHERE id = ? AND (token IS NULL OR token <= ?)`

func (s store) updateStatus(ctx context.Context, id, status string, token ticket.Number) error {
	result, err := s.db.ExecContext(ctx, update, status, token.Padded(), id, token.Padded())
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, errFenced)
	}
	return nil
}

// TestFence lets a holder write that was evicted and does not know it.
func TestFence(t *testing.T) {
	late, next := evicted(t)
	for name, set := range map[string]func(store, context.Context, string, string, ticket.Number) error{
		"Insert": store.setStatus, "Update": store.updateStatus,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			if err := s.setStatus(t.Context(), "order-7", "packed", late); err != nil {
				t.Fatal(err)
			}
			for _, write := range []struct {
				status string
				token  ticket.Number
				want   error
			}{
				{"packed again", late, nil},
				{"shipped", next, nil},
				{"lost", late, errFenced},
				{"delivered", next, nil},
				// Tokens are compared as numbers.
				{"9", ticket.FromUint64(9), nil},
				{"10", ticket.FromUint64(10), nil},
				{"the last", ticket.Max, nil},
			} {
				if err := set(s, t.Context(), "order-7", write.status, write.token); !errors.Is(err, write.want) {
					t.Errorf("%s: %v, want %v", write.status, err, write.want)
				}
				if got := s.status(t, "order-7"); (got == write.status) != (write.want == nil) {
					t.Errorf("after %q the order is %q", write.status, got)
				}
			}
		})
	}
}
