package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/queuelock/queuelock/ticket"
)

// errFenced says that a holder with a later ticket has written.
var errFenced = errors.New("a later holder of the lock has written")

// store is the table of orders. Its column token has the highest ticket with which a row
// was written, in 38 digits: text of that form compares as its numbers do, in every
// database. A ticket does not fit into a 64-bit integer.
type store struct{ db *sql.DB }

func (s store) create(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS orders (
		id     VARCHAR(100) PRIMARY KEY,
		status VARCHAR(20) NOT NULL,
		token  CHAR(38) NOT NULL
	)`)
	return err
}

// setStatus writes the order unless a later holder has written it. One statement checks
// and writes, so no other write comes between. It returns errFenced if the token was
// refused.
func (s store) setStatus(ctx context.Context, id, status string, token ticket.Number) error {
	result, err := s.db.ExecContext(ctx, `INSERT INTO orders (id, status, token) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET status = excluded.status, token = excluded.token
		WHERE orders.token <= excluded.token`, id, status, token.Padded())
	if err != nil {
		return err
	}
	written, err := result.RowsAffected()
	if err == nil && written == 0 {
		err = fmt.Errorf("order %s, ticket %s: %w", id, token, errFenced)
	}
	return err
}
