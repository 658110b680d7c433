package queuelock

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/queuelock/queuelock/internal/counter"
	"github.com/queuelock/queuelock/internal/itemkey"
	"github.com/queuelock/queuelock/internal/lease"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Config changes how a Client works. The zero value is right for most. It is
// copied, and never written into.
type Config struct {
	// TTL is the length of a holder's lease: a holder that dies is evicted
	// after it, and one that is cut off believes in its lock for less than
	// it. Zero means 60 s. At least 1 s, at most 7 days.
	TTL time.Duration

	// HeartbeatInterval is the time from one renewal of the lease to the next,
	// which comes up to a tenth earlier, at random; each costs a write unit. Zero means half of TTL. Less than 4/5 of TTL, so
	// that a failed renewal can be repeated before the lease ends, and at least
	// 10 ms.
	HeartbeatInterval time.Duration

	// WaiterTTL is the length of a waiter's lease on its row, renewed at half
	// its life: a waiter that dies delays those behind it for at most this
	// long. Zero means 15 s, or TTL if that is less. At least 1 s.
	WaiterTTL time.Duration

	// RequestTimeout bounds each call of the SDK client, its retries included.
	// Zero means a quarter of the shorter lease, 3.75 s by default, and at most
	// 5 s. With HeartbeatInterval, less than TTL less its margin (a tenth, or
	// 2 s and a thousandth); and less than half of WaiterTTL less its margin.
	RequestTimeout time.Duration

	// Owner names this process to those who wait or look. Zero means the
	// host's name and the process id, "host:1234". At most 256 bytes.
	Owner string

	// PartitionKey and SortKey name the table's keys, both of type S, and
	// TTLAttribute the attribute by which the table's TTL removes what nobody
	// sweeps. Zero means "pk", "sk" and "expiresAt". They must differ from
	// each other and from the library's own attributes.
	PartitionKey, SortKey, TTLAttribute string

	// ItemPrefix begins the names of the attributes that LockItem keeps on an
	// item. Zero means "lock_". At most 200 bytes, without brackets. It must be
	// the same in every process that locks the item.
	ItemPrefix string

	// ObserveExpiry judges other owners' leases by observation alone, never by
	// DynamoDB's clock: a lease has ended if it was not renewed for its full
	// length while this process watched. A dead holder then costs a newcomer
	// up to one more TTL. For engines whose Date header is wrong.
	//
	// Dates that contradict each other are found out. Dates that are behind by the
	// same amount from the first are not: if that is more than the margin of TTL
	// (a tenth, or 2 s and a thousandth), others evict a holder that still believes
	// in its lease, and so they do if dates stop for longer than TTL. The holder
	// learns of it with its next heartbeat; until then fencing alone helps.
	ObserveExpiry bool

	// Scope says which counter issues tickets: each queue's own, or a wider one,
	// for several locks with one ticket (AcquireAll). Zero means ScopeQueue. All
	// clients of a queue need the same.
	Scope Scope

	// Poll is the rhythm of looks while waiting. Zero fields mean those of
	// waitpolicy.Default. A waiter that has not looked for twice the sum of Slowest
	// and RequestTimeout, 30 s at least, is stuck: its row is not renewed until it
	// looks again.
	Poll waitpolicy.Schedule

	// Logger receives evictions, sweeps, lost locks and failed clean-up. A goroutine
	// passes the records on, so a Logger that blocks delays nothing: of more than 256
	// records the oldest are dropped, and counted in a warning. Zero means none.
	Logger *slog.Logger
}

// Scope says which counter issues the tickets of a client's queues. An Acquire by a
// client of another scope than the queue's is a *MismatchError. Inspect, IsLocked
// and Sweep work on queues of any scope.
type Scope = ticket.Scope

// The scopes; see package ticket.
const (
	ScopeQueue  Scope = ticket.ScopeQueue  // each queue has a counter
	ScopeEntity Scope = ticket.ScopeEntity // all queues of an entity share a counter
	ScopeTable  Scope = ticket.ScopeTable  // all queues of the table share a counter
)

const (
	defaultTTL            = 60 * time.Second
	defaultWaiterTTL      = 15 * time.Second
	defaultRequestTimeout = 5 * time.Second
	minTTL                = time.Second
	minRetryTimeout       = 30 * time.Second // with a table that does not answer
	minHeartbeat          = 10 * time.Millisecond
	maxOwner              = 256
)

func (c Config) withDefaults() Config {
	c.TTL = cmp.Or(c.TTL, defaultTTL)
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, c.TTL/2)
	c.WaiterTTL = cmp.Or(c.WaiterTTL, min(defaultWaiterTTL, max(c.TTL, minTTL)))
	c.RequestTimeout = cmp.Or(c.RequestTimeout, min(defaultRequestTimeout, c.TTL/4, c.WaiterTTL/4))
	c.Owner = cmp.Or(c.Owner, thisProcess())
	c.PartitionKey = cmp.Or(c.PartitionKey, "pk")
	c.SortKey = cmp.Or(c.SortKey, "sk")
	c.TTLAttribute = cmp.Or(c.TTLAttribute, "expiresAt")
	c.ItemPrefix = cmp.Or(c.ItemPrefix, "lock_")
	c.Poll.Fastest = cmp.Or(c.Poll.Fastest, waitpolicy.Default.Fastest)
	c.Poll.SlowestNext = cmp.Or(c.Poll.SlowestNext, waitpolicy.Default.SlowestNext)
	c.Poll.Slowest = cmp.Or(c.Poll.Slowest, waitpolicy.Default.Slowest)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// thisProcess is "host:pid".
func thisProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s:%d", host[:min(len(host), maxOwner-24)], os.Getpid())
}

// validate checks values, and how they relate to each other; c has its
// defaults.
func (c Config) validate() error {
	switch {
	case c.TTL < minTTL || c.TTL > lease.Max:
		return fmt.Errorf("TTL is %v: between %v and %v are possible", c.TTL, minTTL, lease.Max)
	case c.HeartbeatInterval < minHeartbeat:
		return fmt.Errorf("HeartbeatInterval is %v: at least %v is needed", c.HeartbeatInterval, minHeartbeat)
	case c.HeartbeatInterval >= c.TTL-c.TTL/5:
		return fmt.Errorf("HeartbeatInterval %v must be less than four fifths of TTL %v, so that a failed renewal can be repeated", c.HeartbeatInterval, c.TTL)
	case c.HeartbeatInterval+c.RequestTimeout >= c.TTL-lease.Margin(c.TTL):
		return fmt.Errorf("HeartbeatInterval %v and RequestTimeout %v must together be less than TTL %v, less its margin of %v, so that a failed renewal can be repeated", c.HeartbeatInterval, c.RequestTimeout, c.TTL, lease.Margin(c.TTL))
	case c.WaiterTTL < minTTL || c.WaiterTTL > lease.Max:
		return fmt.Errorf("WaiterTTL is %v: between %v and %v are possible", c.WaiterTTL, minTTL, lease.Max)
	case c.RequestTimeout < time.Millisecond:
		return fmt.Errorf("RequestTimeout is %v: at least 1ms is needed", c.RequestTimeout)
	case c.RequestTimeout >= c.WaiterTTL/2-lease.Margin(c.WaiterTTL):
		return fmt.Errorf("RequestTimeout %v must be less than half of WaiterTTL %v, less its margin of %v", c.RequestTimeout, c.WaiterTTL, lease.Margin(c.WaiterTTL))
	case c.Scope < ScopeQueue || c.Scope > ScopeTable:
		return fmt.Errorf("Scope is %d: ScopeQueue, ScopeEntity and ScopeTable are possible", int(c.Scope))
	case len(c.Owner) > maxOwner:
		return fmt.Errorf("the field Owner has %d bytes: at most %d are possible", len(c.Owner), maxOwner)
	case c.Poll.Fastest < time.Millisecond:
		return fmt.Errorf("Poll.Fastest is %v: at least 1ms is needed", c.Poll.Fastest)
	case c.Poll.Fastest > c.Poll.SlowestNext || c.Poll.SlowestNext > c.Poll.Slowest:
		return fmt.Errorf("the field Poll must grow from Fastest %v to SlowestNext %v to Slowest %v", c.Poll.Fastest, c.Poll.SlowestNext, c.Poll.Slowest)
	}
	return itemkey.ValidPrefix(c.ItemPrefix)
}

func (c Config) layout(tableName string) table.Layout {
	return table.Layout{Table: tableName, PK: c.PartitionKey, SK: c.SortKey, TTL: c.TTLAttribute}
}

func (c Config) waiterTerms() lease.Terms {
	return lease.Terms{TTL: c.WaiterTTL, Interval: c.WaiterTTL / 2, Margin: lease.Margin(c.WaiterTTL)}
}

// counterName is the sort key of an entity's counter, and the partition key of
// the table's. No queue's item is there: its sort key would hold a slash.
const counterName = "ticket-master"

// counter is the ticket master of a queue; nil: its record is.
func (c Config) counter(q table.Queue) *waiter.Counter {
	m := counter.Counter{Store: q.Store, Attribute: table.AttrTicketNumber}
	switch c.Scope {
	case ScopeEntity:
		m.Key, m.What = q.Key(counterName), fmt.Sprintf("ticket master of %q", q.Entity)
		return &waiter.Counter{Counter: m, Scope: serving.ScopeEntity}
	case ScopeTable:
		q.Entity = counterName
		m.Key, m.What = q.Key("current"), "ticket master of the table"
		return &waiter.Counter{Counter: m, Scope: serving.ScopeTable}
	}
	return nil
}
