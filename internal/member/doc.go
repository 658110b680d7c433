// Package member is one client in one queue as one pure machine: its callers, their rows, and the lock that they hold.
// It has no goroutine, clock, channel or mutex, sends nothing, and is a plain value. Package play drives it.
//
// Callers that want the lock alike take adjacent tickets by one TAKE: they are a block, with one row, one entry, one
// lease, and a turn each. A caller that waits alone is a block of one. A block has a [machine.Wait] until it is granted
// the lock, and then a [machine.Hold]. Its rows have a [machine.Place] each.
//
//	           line.go       wait.go         wait.go, row.go          hold.go, use.go                     release.go
//	Wants ──► gathered ──► taking ───────► in the line ─────────────► turn ─► … ──► turn ──────────────► releases ─► gone
//	            ▲  │         │ ▲             │  CLAIM, or a release   ▲ ▲  in memory  │                     ▲
//	            │  │         │ └─────────────┘  of another turn       │ │             ├─ its lease ended ──┘
//	            │  │         │  a new ticket                          │ │             │
//	            │  │         └── TAKE, if the lock is idle ───────────┘ │             │
//	            │  └──────────── RETAKE, by a release of the client ────┘             │
//	            └──────────────── the callers that have had no turn ◄─────────────────┘ lost, shared, ended by an update
//
// In the line only the first block looks; the others rest behind it. Before its turn a caller may leave at any time
// (line.givesUp). A block that was lost stays until its holder has called Release, or cannot any more (Forgets).
//
// A release that ends a block looks for the next one (releasing.offer): a block of this client that rests, a row that
// was read, by name, or callers that gather (RETAKE).
//
// After each event two questions are asked: may those that gather take tickets (line.goOn), and which block is the
// first of the line and must act (line.leads). So nothing wakes anything else by name, and nothing is left asleep.
//
// What follows from time is [Due], and may come at any time, or late: when it comes is for speed. Only the ends of
// leases are for safety, and those are compared with the clock of the step.
package member
