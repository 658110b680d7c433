package queuelock

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/itemkey"
	"github.com/queuelock/queuelock/internal/quote"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

// Config changes how a [Client] works. The zero value is right for most programs. New copies it.
// docs/configuration.md has all bounds.
type Config struct {
	// TTL is the length of a holder's lease, after which a crashed holder is evicted. Zero means 60 s. At least
	// 1 s, at most 7 days.
	TTL time.Duration
	// HeartbeatInterval is the longest time between two renewals of the lease; a renewal comes up to a tenth
	// earlier, at random. Zero means half of TTL. At least 10 ms, and less than 4/5 of TTL.
	HeartbeatInterval time.Duration
	// WaiterTTL is the length of the lease of a waiter's row. Crashed waiters delay others for at most this
	// long in total; one whose process hangs, for three and a half times as long by default. Zero means 15 s, or TTL
	// if that is less. Between 1 s and 7 days.
	WaiterTTL time.Duration
	// RequestTimeout bounds each call of the SDK client, its retries included. Zero means a quarter of the shorter lease,
	// at most 5 s. HeartbeatInterval and RequestTimeout together must be less than TTL less its margin, and RequestTimeout
	// less than half of WaiterTTL less its margin. A margin is a tenth, but at most 2 s and a thousandth.
	RequestTimeout time.Duration
	// Owner names this process in Inspect and errors. Zero means the host's name and the process id,
	// "host:1234". At most 256 bytes of printable characters.
	Owner string
	// Attributes names the table's keys and the attribute of its TTL.
	Attributes Attributes
	// ItemPrefix begins the names of the attributes that LockItem keeps on an item. Zero means "lock_". At most
	// 200 bytes, without brackets, and the same in every process.
	ItemPrefix string
	// ObserveExpiry judges leases of others by observation alone, never by DynamoDB's clock, for engines whose
	// Date header is wrong. A crashed holder then costs a new client up to one more TTL.
	ObserveExpiry bool
	// Scope says which counter issues tickets. Zero means ticket.ScopeQueue. All clients of a queue need the same: an
	// Acquire by a client of another scope is a *queue.MismatchError.
	Scope ticket.Scope
	// Forget lets the table's TTL delete the record of a lock that was not used for this long. Its next use
	// begins a new record, with higher tickets. Zero means never, because clients of versions without Forget
	// lose locks beside it. At least 24 h, with ScopeQueue only. Items of LockItem are never deleted.
	Forget time.Duration
	// Poll is the rhythm of looks while waiting. Zero fields mean those of waitpolicy.Default.
	Poll waitpolicy.Schedule
	// Wake rings waiters when their turn has come, so that they learn of it without polls, and holders that are asked to
	// give way. The owner closes it after the client. Nil means none. See package wake.
	Wake wake.Bells
	// Block is how many goroutines of the client that wait for the same lock may do so together: with tickets of one
	// request, one row and one lease, and turn after turn in memory. Zero means 64, and 1 none. At most 1000.
	Block int
	// Logger receives evictions, sweeps, lost locks and failed clean-up, and each step at Debug. A handler whose
	// Handle blocks delays nothing: of more than 4096 records, the oldest of the lowest level are dropped. Its
	// Enabled must not block. Nil means none.
	Logger *slog.Logger
	// Observer receives typed events, from one goroutine. An Observer that blocks or panics delays nothing: see
	// package event. Nil means none.
	Observer event.Observer
}

// Attributes names attributes of the lock table. Zero means "pk", "sk" and "expiresAt". The keys are of type S. The
// names must differ from each other and from the library's own attributes.
type Attributes struct{ PartitionKey, SortKey, TTL string }

const (
	minTTL          = time.Second
	minRetryTimeout = 30 * time.Second // with a table that does not answer
	minHeartbeat    = 10 * time.Millisecond
	defaultBlock    = 64
	// minForget exceeds the age of any request of an earlier record: AWS refuses signatures older than 15 minutes.
	minForget = 24 * time.Hour
)

func (c Config) withDefaults() Config {
	c.TTL = cmp.Or(c.TTL, time.Minute)
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, c.TTL/2)
	c.WaiterTTL = cmp.Or(c.WaiterTTL, min(15*time.Second, max(c.TTL, minTTL)))
	c.RequestTimeout = cmp.Or(c.RequestTimeout, min(5*time.Second, c.TTL/4, c.WaiterTTL/4))
	c.Owner = cmp.Or(c.Owner, thisProcess())
	a := &c.Attributes
	a.PartitionKey, a.SortKey, a.TTL = cmp.Or(a.PartitionKey, "pk"), cmp.Or(a.SortKey, "sk"), cmp.Or(a.TTL, "expiresAt")
	c.ItemPrefix = cmp.Or(c.ItemPrefix, "lock_")
	c.Poll = c.Poll.WithDefaults()
	c.Block = cmp.Or(c.Block, defaultBlock)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func thisProcess() string {
	host, err := os.Hostname()
	host = host[:min(len(host), queue.MaxOwner-24)]
	if _, printable := quote.Bad(host); err != nil || !printable {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// Validate returns the error that New, and Acquire or LockItem, would return for these arguments. It makes no request.
// Without a key it checks the arguments of New alone. With an [ItemKey] each option must be an [Option].
func (c Config) Validate(tableName string, key AnyKey, opts ...AcquireOption) error {
	client, err := bare(nil, tableName, c)
	if _, item := key.(ItemKey); item && err == nil {
		for i, o := range opts {
			if _, both := o.(Option); !both {
				const text = "queuelock: option %d of %d is for Acquire alone: an ItemKey needs an Option"
				return fmt.Errorf(text, i+1, len(opts))
			}
		}
	}
	if err == nil && key != nil {
		cfg := with(client, opts)
		cfg.wait = waitpolicy.Forever
		err = key.prepare(client, cfg)
	}
	return err
}

// validate checks values and how they relate to each other; c has its defaults.
func (c Config) validate() error {
	var err error
	bad, printable := quote.Bad(c.Owner)
	switch {
	case c.Scope < ticket.ScopeQueue || c.Scope > ticket.ScopeTable:
		err = fmt.Errorf("the field Scope is %d: ScopeQueue, ScopeEntity and ScopeTable are possible", int(c.Scope))
	case c.Forget != 0 && c.Forget < minForget:
		err = fmt.Errorf("the field Forget is %v: at least %v is needed, or 0 to keep all records", c.Forget, minForget)
	case c.Forget != 0 && c.Scope != ticket.ScopeQueue:
		err = fmt.Errorf("the field Forget is %v and Scope is %v: records are forgotten with ScopeQueue only",
			c.Forget, c.Scope)
	case c.Block < 0 || c.Block > queue.MaxTurns:
		err = fmt.Errorf("the field Block is %d: between 1 and %d are possible, or 0 for %d",
			c.Block, queue.MaxTurns, defaultBlock)
	case c.Wake != nil && isNil(c.Wake):
		err = fmt.Errorf("the field Wake is a nil %T: leave it out, or use what wake.New returns", c.Wake)
	case c.Observer != nil && isNil(c.Observer):
		err = fmt.Errorf("the field Observer is a nil %T: leave it out", c.Observer)
	case len(c.Owner) > queue.MaxOwner:
		err = fmt.Errorf("the field Owner has %d bytes: at most %d are possible", len(c.Owner), queue.MaxOwner)
	case !printable:
		err = fmt.Errorf("the field Owner contains %s: only printable characters are possible", bad)
	}
	if wrong := c.Poll.Validate(); wrong != nil {
		err = cmp.Or(err, fmt.Errorf("the field Poll: %w", wrong))
	}
	return cmp.Or(c.validLeases(), err, itemkey.ValidPrefix(c.ItemPrefix))
}

func (c Config) validLeases() error {
	holders, waiters := heartbeat.Margin(c.TTL), heartbeat.Margin(c.WaiterTTL)
	const repeat = "so that a failed renewal can be repeated"
	switch {
	case c.TTL < minTTL || c.TTL > queue.MaxLease:
		return fmt.Errorf("TTL is %v: between %v and %v are possible", c.TTL, minTTL, queue.MaxLease)
	case c.HeartbeatInterval < minHeartbeat:
		return fmt.Errorf("HeartbeatInterval is %v: at least %v is needed", c.HeartbeatInterval, minHeartbeat)
	case c.HeartbeatInterval >= c.TTL-c.TTL/5:
		return fmt.Errorf("HeartbeatInterval %v must be less than four fifths of TTL %v, %s",
			c.HeartbeatInterval, c.TTL, repeat)
	case c.HeartbeatInterval+c.RequestTimeout >= c.TTL-holders:
		return fmt.Errorf("HeartbeatInterval %v and RequestTimeout %v must together be less than TTL %v, "+
			"less its margin of %v, %s", c.HeartbeatInterval, c.RequestTimeout, c.TTL, holders, repeat)
	case c.WaiterTTL < minTTL || c.WaiterTTL > queue.MaxLease:
		return fmt.Errorf("WaiterTTL is %v: between %v and %v are possible", c.WaiterTTL, minTTL, queue.MaxLease)
	case c.RequestTimeout < time.Millisecond:
		return fmt.Errorf("RequestTimeout is %v: at least 1ms is needed", c.RequestTimeout)
	case c.RequestTimeout >= c.WaiterTTL/2-waiters:
		return fmt.Errorf("RequestTimeout %v must be less than half of WaiterTTL %v, less its margin of %v",
			c.RequestTimeout, c.WaiterTTL, waiters)
	}
	return nil
}

func (c Config) layout(tableName string) table.Layout {
	return table.Layout{Table: tableName, PK: c.Attributes.PartitionKey, SK: c.Attributes.SortKey, TTL: c.Attributes.TTL}
}

// attention is the time without a look after which a waiter counts as stuck. It is twice the longest time between two
// looks: the longest sleep and a request. Its lower bound is longer than the pauses of a client whose requests fail.
func (c Config) attention() time.Duration {
	return max(2*(min(c.Poll.Slowest, math.MaxInt64/4)+c.RequestTimeout), 30*time.Second)
}
