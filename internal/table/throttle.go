package table

import "github.com/queuelock/queuelock/event"

// limits are the texts of the limits: what throttles, and what follows.
var limits = map[event.Limit]string{
	event.KeyRange:    "key range: the entity is hot",
	event.OnDemand:    "table on demand: raise its maximum",
	event.Provisioned: "table: raise its provisioned capacity, or use on demand",
	event.Account:     "account: ask for a higher quota",
}

// Limit returns the limit that a throttle comes from, and what follows; "" if err is no
// throttle or does not say.
func Limit(err error) string { return limits[event.LimitOf(err)] }

// OnThrottle returns the same table, which calls report for each attempt of a request that
// DynamoDB throttles, the SDK's own included. report must not block.
func (s *Store) OnThrottle(report func(operation string, err error)) *Store {
	reporting := *s
	reporting.throttle = report
	return &reporting
}

// Throttled reports whether DynamoDB refused a request because of capacity. To the SDK, a
// copy of a transaction beside it is a throttle too.
func Throttled(err error) bool {
	return throttled(err) && codeOf(err) != "TransactionInProgressException"
}

// reportThrottle reports an attempt that failed with err, if it was throttled.
func (s *Store) reportThrottle(operation string, err error) {
	if s.throttle != nil && Throttled(err) {
		s.throttle(operation, err)
	}
}
