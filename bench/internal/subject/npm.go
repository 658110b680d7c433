package subject

import (
	"context"

	"github.com/queuelock/queuelock/internal/workload/benchmark"
)

// NPMOpen and NPMClosed are the two locks of the npm package dynamodb-lock-client. The
// node process of package worker runs them.
var (
	NPMOpen = Subject{
		Subject: benchmark.Subject{
			Name:   "npm-open",
			Title:  "npm client, fail open",
			Config: "dynamodb-lock-client 0.7.3 on aws-sdk 2.1692.0 with connections that are kept; `FailOpen`, `heartbeatPeriodMs` of a third of the lease, `trustLocalTime`, `retryCount` without a practical limit",
			Skips: map[string]string{
				"contended": leaseWait, "long-turn": leaseWait, "crowd": leaseWait, "processes": leaseWait, "goroutines": leaseWait, "drain": leaseWait, "nowait": leaseWait, "waiting": leaseWait,
			},
		},
		Create: func(ctx context.Context, site Site) error { return createTable(ctx, site, "id", "") },
	}
	NPMClosed = Subject{
		Subject: benchmark.Subject{
			Name:   "npm-closed",
			Title:  "npm client, fail closed",
			Config: "the same package; `FailClosed`, which has no lease, `acquirePeriodMs` of 100",
			Skips:  map[string]string{"crash": "it has no lease: a person deletes the item"},
		},
		Create: func(ctx context.Context, site Site) error { return createTable(ctx, site, "id", "") },
	}
)

const leaseWait = "a client that finds the lock held sleeps for a whole lease before its next attempt"
