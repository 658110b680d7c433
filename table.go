package queuelock

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/queuelock/queuelock/internal/table"
)

// TableAPI is what CreateTable needs of an SDK client; *dynamodb.Client has
// it.
type TableAPI = table.API

// CreateTable makes the table that cfg asks for: on-demand billing, keys of
// type S, TTL enabled on the TTL attribute. It waits until the table is active,
// for as long as ctx lives. A table that is there already is checked, and its
// TTL is enabled if it is off; one with other keys, or with TTL on another
// attribute, is a *TableError and is left as it is. Calling it again is safe.
//
// Three requests at the least, one more to enable TTL, and one more for each
// time it looks whether the table is active.
func CreateTable(ctx context.Context, db TableAPI, tableName string, cfg Config) error {
	if isNil(db) {
		return errors.New("queuelock: create table: the DynamoDB client is nil")
	}
	layout := cfg.withDefaults().layout(tableName)
	if err := layout.Validate(); err != nil {
		return fmt.Errorf("queuelock: create table: %w", err)
	}
	if err := table.Create(ctx, db, layout); err != nil {
		return fmt.Errorf("queuelock: create table: %w", err)
	}
	return nil
}

// isNil reports whether an SDK client is nil, or an interface that holds a nil
// pointer.
func isNil(db any) bool {
	v := reflect.ValueOf(db)
	return db == nil || v.Kind() == reflect.Pointer && v.IsNil()
}
