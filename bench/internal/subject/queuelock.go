package subject

import (
	"context"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/benchmark/library"
	"github.com/queuelock/queuelock/internal/benchmark/scenario"
)

// Queuelock is this library.
var Queuelock = Subject{
	Subject: library.Subject,
	Create: func(ctx context.Context, site Site) error {
		return queuelock.CreateTable(ctx, connect(site.DynamoDB), site.Table, queuelock.Config{})
	},
	Open: func(_ context.Context, site Site) (scenario.Locker, error) {
		client, err := queuelock.New(connect(site.DynamoDB), site.Table, queuelock.Config{TTL: site.Lease})
		return library.Locker{Client: client}, err
	},
}
