// Package otelqueuelock reports what package queuelock does as OpenTelemetry metrics and spans:
//
//	db := dynamodb.NewFromConfig(cfg, otelqueuelock.Instrument())
//	locks, err := queuelock.New(db, "queuelock", queuelock.Config{
//		Observer: otelqueuelock.New(), Logger: slog.Default(),
//	})
//
// It is a module of its own, so that package queuelock does not depend on OpenTelemetry, and uses only the API of
// OpenTelemetry. Nothing of it is on the path that decides about a lock: see package event. [Instrument] runs with each
// request, and makes none of its own.
//
// # Metrics
//
//	| metric                     | kind      | unit      | attributes                        |
//	|----------------------------|-----------|-----------|-----------------------------------|
//	| queuelock.acquire.duration | histogram | s         | reason, mode, outcome             |
//	| queuelock.acquire.failures | counter   | {acquire} | reason, mode, outcome             |
//	| queuelock.queue.depth      | histogram | {waiter}  | reason, mode                      |
//	| queuelock.handover.duration| histogram | s         | reason, mode                      |
//	| queuelock.hold.duration    | histogram | s         | reason, mode, outcome             |
//	| queuelock.wait.age         | gauge     | s         | reason, mode                      |
//	| queuelock.hold.age         | gauge     | s         | reason, mode                      |
//	| queuelock.tickets.renewed  | counter   | {ticket}  | reason, mode                      |
//	| queuelock.heartbeat.lag    | histogram | s         | reason, mode                      |
//	| queuelock.lease.margin     | histogram | s         | reason, mode                      |
//	| queuelock.losses           | counter   | {lock}    | reason, mode, cause               |
//	| queuelock.revocations      | counter   | {lock}    | reason, mode                      |
//	| queuelock.evictions        | counter   | {holder}  | reason, cause                     |
//	| queuelock.sweeps           | counter   | {row}     | reason                            |
//	| queuelock.events.dropped   | counter   | {event}   |                                   |
//	| queuelock.requests         | counter   | {request} | db.operation.name, error.type, queuelock.limit |
//	| queuelock.capacity         | counter   | {unit}    | db.operation.name                 |
//
// The names of the attributes begin with "queuelock.", but those of the semantic conventions. The page
// docs/telemetry.md describes the metrics, and has a dashboard and alert rules. The buckets are
//
//	0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 300 1800 7200 of times,
//	0 0.1 0.25 0.5 1 2.5 5 10 15 20 25 30 60 300 1800 of the margin,
//	0 1 2 5 10 20 50 100 200 500 1000 of the depth.
//
// # Spans
//
//	| span              | from, to                                | events                          |
//	|-------------------|-----------------------------------------|---------------------------------|
//	| queuelock acquire | the call, its return                    | ticket, queued, position, granted |
//	| queuelock hold    | the grant, the call that releases, or the loss | lost                     |
//	| queuelock release | the call, its return                    |                                 |
//
// They are children of the span in the context of the Acquire, and are made when they have ended. With [WithTrace] the
// holder publishes the context of its span, and the acquire spans of waiters in any process link to it.
package otelqueuelock
