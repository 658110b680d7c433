package subject

import "context"

// NPMOpen and NPMClosed are the two locks of the npm package dynamodb-lock-client. The
// node process of package worker runs them.
var (
	NPMOpen = Subject{
		Name:   "npm-open",
		Title:  "npm client, fail open",
		Config: "dynamodb-lock-client 0.7.3 on aws-sdk 2.1692.0 with connections that are kept; `FailOpen`, `heartbeatPeriodMs` of a third of the lease, `trustLocalTime`, `retryCount` without a practical limit",
		Create: func(ctx context.Context, site Site) error { return createTable(ctx, site, "id", "") },
		Skips: map[string]string{
			"contended": leaseWait, "processes": leaseWait, "goroutines": leaseWait, "drain": leaseWait, "nowait": leaseWait, "waiting": leaseWait,
		},
	}
	NPMClosed = Subject{
		Name:   "npm-closed",
		Title:  "npm client, fail closed",
		Config: "the same package; `FailClosed`, which has no lease, `acquirePeriodMs` of 100",
		Create: func(ctx context.Context, site Site) error { return createTable(ctx, site, "id", "") },
		Skips:  map[string]string{"crash": "it has no lease: a person deletes the item"},
	}
)

const leaseWait = "a client that finds the lock held sleeps for a whole lease before its next attempt"
