// Package member is one client in one queue as one pure machine: its callers, their rows, and the lock that they hold. It has no
// goroutine, clock, channel or mutex, sends nothing, and is a plain value.
//
// Callers that want the lock alike take adjacent tickets by one TAKE: they are a block, with one row, one entry, one lease, and a
// turn each. A caller that waits alone is a block of one. A block has a [machine.Wait] until it is granted the lock, and then a
// [machine.Hold]. Its rows have a [machine.Place] each.
//
//	            line.go                  wait.go, row.go                hold.go           release.go
//	Wants ──► gathered ──► taking ──► behind ──► first: looks ──► turn ──► … ──► turn ──► releases ──► gone
//	              ▲           │ granted  │ a new ticket             │ lost                  │
//	              │           └──────────┼─────────────────────────►│                       ├─► a block that rests, by its offer
//	              │                      ▼                          │                       ├─► a row that was read, by name
//	              └── callers without a turn ◄──────────────────────┘                       └─► those that gather (RETAKE)
//
// After each event two questions are asked: may those that gather take tickets (line.goOn), and who is the first of the line, which
// alone looks (line.leads). So nothing wakes anything else by name, and nothing is left asleep.
//
// What follows from time is [Due], and may come at any time, or late: when it comes is for speed. Only the ends of leases are for
// safety, and those are compared with the clock of the step.
package member
