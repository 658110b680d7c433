package subject

import (
	"context"
	"sync"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/benchmark"
	"github.com/queuelock/queuelock/internal/benchmark/library"
	"github.com/queuelock/queuelock/internal/benchmark/scenario"
	"github.com/queuelock/queuelock/wake"
)

// Queuelock is this library.
var Queuelock = Subject{
	Subject: library.Subject,
	Create:  createLocks,
	Open:    func(_ context.Context, site Site) (scenario.Locker, error) { return locks(site, nil) },
}

// Hinted is this library with wake-up hints, which matter where clients wait.
var Hinted = Subject{
	Subject: benchmark.Subject{
		Name:   "queuelock-hints",
		Title:  "this library, with hints",
		Config: "the same with `Wake`, by UDP on the loopback address; where several clients want a lock",
		Only:   []string{"contended", "processes", "crowd"},
	},
	Create: createLocks,
	Open: func(_ context.Context, site Site) (scenario.Locker, error) {
		hints, err := loopback()
		if err != nil {
			return nil, err
		}
		return locks(site, hints)
	},
}

// loopback returns the hints that all clients of this process share.
var loopback = sync.OnceValues(func() (*wake.UDP, error) { return wake.New(wake.Config{}) })

func createLocks(ctx context.Context, site Site) error {
	return queuelock.CreateTable(ctx, connect(site.DynamoDB), site.Table, queuelock.Config{})
}

func locks(site Site, hints wake.Hints) (scenario.Locker, error) {
	client, err := queuelock.New(connect(site.DynamoDB), site.Table, queuelock.Config{TTL: site.Lease, Wake: hints})
	return library.Locker{Client: client}, err
}
