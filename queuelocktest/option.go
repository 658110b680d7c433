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

// WithName names the table. The default is "queuelock".
func WithName(name string) Option { return func(c *config) { c.name = name } }

// WithKeys names the partition key and the sort key. The default is "pk" and "sk".
func WithKeys(partition, sort string) Option {
	return func(c *config) { c.pk, c.sk = partition, sort }
}

// WithTTLAttribute names the attribute of the table's TTL. The default is "expiresAt".
func WithTTLAttribute(name string) Option { return func(c *config) { c.ttl = name } }

// WithoutTable starts without a table, for a test that creates its own.
func WithoutTable() Option { return func(c *config) { c.withoutTable = true } }

// WithLatency makes every request take that long for a round trip, half of it before it
// is applied, beside the delays of faults. The default is no time.
func WithLatency(roundTrip time.Duration) Option {
	return func(c *config) { c.latency = roundTrip }
}

// WithClock sets the database's clock, by which it sends its Date and expires items. It
// shows what code does on a host whose clock is wrong. The default is time.Now.
func WithClock(now func() time.Time) Option { return func(c *config) { c.embedded.Now = now } }

// WithExpiry makes items disappear once the time in their TTL attribute has passed. By
// default they stay, because DynamoDB may take days.
func WithExpiry() Option { return func(c *config) { c.embedded.ExpireItems = true } }

// WithoutDate makes responses carry no Date, as some older engines do.
func WithoutDate() Option { return func(c *config) { c.embedded.OmitDate = true } }

// WithSplitTransactions makes every transaction commit item by item, as
// [SplitTransactions] does. The share late of them, between 0 and 1, takes one to five
// seconds longer than the window.
func WithSplitTransactions(window time.Duration, late float64, seed uint64) Option {
	return func(c *config) {
		s, r := embedded.Splitting{Window: window, Late: late}, rand.New(rand.NewPCG(seed, 0))
		c.embedded.Split = func(items int) []time.Duration { return s.Delays(r, items) } // one at a time
	}
}

// WithEngine uses another engine than the embedded one: a handler that speaks
// DynamoDB's JSON protocol, such as a reverse proxy to DynamoDB Local. The table must
// not exist there yet, and is not deleted. WithClock, WithExpiry, WithoutDate and all
// that splits transactions have no effect on it.
func WithEngine(engine http.Handler) Option { return func(c *config) { c.engine = engine } }
