package subject

import (
	"context"
	"sync"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/workload/benchmark"
	"github.com/queuelock/queuelock/internal/workload/benchmark/library"
	"github.com/queuelock/queuelock/internal/workload/benchmark/scenario"
	"github.com/queuelock/queuelock/wake"
)

// Queuelock is this library.
var Queuelock = Subject{
	Subject: library.Subject,
	Create:  createLocks,
	Open:    func(_ context.Context, site Site) (scenario.Locker, error) { return locks(site, nil) },
}

// Rung is this library with bells, which matter where clients wait.
var Rung = Subject{
	Subject: benchmark.Subject{
		Name:   "queuelock-bells",
		Title:  "this library, with bells",
		Config: "the same with `Wake`, by UDP on the loopback address; where several clients want a lock",
		Only:   []string{"contended", "long-turn", "processes", "crowd"},
	},
	Create: createLocks,
	Open: func(_ context.Context, site Site) (scenario.Locker, error) {
		bells, err := loopback()
		if err != nil {
			return nil, err
		}
		return locks(site, bells)
	},
}

// loopback returns the bells that all clients of this process share.
var loopback = sync.OnceValues(func() (*wake.UDP, error) { return wake.New(wake.Config{}) })

func createLocks(ctx context.Context, site Site) error {
	return queuelock.CreateTable(ctx, connect(site.DynamoDB), site.Table, queuelock.Config{})
}

func locks(site Site, bells wake.Bells) (scenario.Locker, error) {
	client, err := queuelock.New(connect(site.DynamoDB), site.Table, queuelock.Config{TTL: site.Lease, Wake: bells})
	return library.Locker{Client: client}, err
}
