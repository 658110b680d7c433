package queuelocktest

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/queuelock/queuelock/internal/embedded"
)

// Option changes how a [Table] is made.
type Option func(*config)

type config struct {
	name, pk, sk, ttl string
	withoutTable      bool
	latency           time.Duration
	engine            http.Handler // nil: the embedded one
	embedded          embedded.Config
}

// WithName names the table. Without it: "queuelock".
func WithName(name string) Option { return func(c *config) { c.name = name } }

// WithKeys names the partition key and the sort key. Without it: "pk" and "sk".
func WithKeys(partition, sort string) Option {
	return func(c *config) { c.pk, c.sk = partition, sort }
}

// WithTTLAttribute names the attribute that the table's time to live reads.
// Without it: "expiresAt".
func WithTTLAttribute(name string) Option { return func(c *config) { c.ttl = name } }

// WithoutTable starts with no table at all, for a test that creates its own.
func WithoutTable() Option { return func(c *config) { c.withoutTable = true } }

// WithLatency makes every request take that long for a round trip, half of it
// before it is applied. Delays of faults come on top. Without it: no time.
func WithLatency(roundTrip time.Duration) Option {
	return func(c *config) { c.latency = roundTrip }
}

// WithClock sets the database's clock, which its responses carry as their Date
// and by which it expires items. One that differs from [time.Now] shows what
// code does on a host whose own clock is wrong. Without it: time.Now, which in a
// bubble is the bubble's.
func WithClock(now func() time.Time) Option { return func(c *config) { c.embedded.Now = now } }

// WithExpiry makes items disappear once the time in their TTL attribute has
// passed. Without it they stay: DynamoDB promises no more than days.
func WithExpiry() Option { return func(c *config) { c.embedded.ExpireItems = true } }

// WithoutDate makes responses carry no Date, as some older engines do.
func WithoutDate() Option { return func(c *config) { c.embedded.OmitDate = true } }

// WithoutFailedItem makes a failed condition return no item even when asked to,
// as some older engines do.
func WithoutFailedItem() Option { return func(c *config) { c.embedded.OmitFailedItem = true } }

// WithSplitTransactions makes every transaction commit item by item, as
// [SplitTransactions] does, beside whatever fault meets it. The share late of the
// transactions, between 0 and 1, is completed one to five seconds later than the
// window says.
func WithSplitTransactions(window time.Duration, late float64, seed uint64) Option {
	return func(c *config) {
		s, r := embedded.Splitting{Window: window, Late: late}, rand.New(rand.NewPCG(seed, 0))
		c.embedded.Split = func(items int) []time.Duration { return s.Delays(r, items) } // one at a time
	}
}

// WithEngine puts the network before another engine than the embedded one: a
// handler that speaks DynamoDB's JSON protocol, such as a reverse proxy to
// DynamoDB Local. The table must not exist there yet; it is not deleted.
// WithClock, WithExpiry, WithoutDate, WithoutFailedItem, WithSplitTransactions and
// the faults that split transactions have no effect on it.
func WithEngine(engine http.Handler) Option { return func(c *config) { c.engine = engine } }
