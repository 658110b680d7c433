package lease_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// Clocks that lie: those of hosts, and the one in DynamoDB's Date header.
//
// In a bubble all goroutines share one clock, so a host cannot have a clock of
// its own. But no process sees how its clock relates to the true time; all it
// sees is how its clock relates to instants that others tell it, and to
// durations that others mean. So a host is given a clock of its own by a change
// of coordinates on its wire: each instant that passes (the Date of answers,
// until, since, createdAt and expiresAt in both directions) is told in the
// host's coordinates, and so is each duration (ttl). Where the host's clock is
// ten minutes fast, everything it hears of DynamoDB's clock is ten minutes
// behind its own, and what it writes is told to the table ten minutes later.
// Where it runs slow by 200 ppm, a lease that it calls 10 s lasts 10.002 s of
// the bubble: that is what its client is configured with, and the table is told
// 10 s. The table, its audit and the tests count in the bubble's time.
//
// This is exact for offsets, and for the rates of owners' and observers'
// leases, which are all that correctness depends on. Not exact: the library's
// own constants (request time-outs, the rhythm of looks, the second of a Date)
// do not run at the host's rate, which is a matter of 200 µs in a second; and a
// jump. A wall clock that is set moves neither the monotonic clock nor the
// Date, so the library cannot even see it. What jumps here is the host's whole
// clock, the monotonic one included, as in a virtual machine that is restored;
// it is harsher. A suspended host, for which the rest of the world goes on while
// it does not, is in test/acquire and among the protocol's known limits.

// host is one host's clock: fast by an offset, running fast by ppm, and set
// ahead by jump at an instant.
type host struct {
	offset time.Duration
	ppm    float64
	jump   time.Duration
	jumpAt time.Duration // since the start
}

// rate is how much of the bubble's time passes in one second of the host's.
func (h host) rate() float64 { return 1 / (1 + h.ppm/1e6) }

// shift is what the host's clock shows less what it would show if it were
// right, apart from its rate.
func (h host) shift(now time.Duration) time.Duration {
	if h.jump != 0 && now >= h.jumpAt {
		return h.offset + h.jump
	}
	return h.offset
}

// scale is a length of the host's time in the bubble's.
func (h host) scale(d time.Duration) time.Duration {
	return time.Duration(math.Round(float64(d) * h.rate()))
}

// config is a Config in the host's own time.
func (h host) config(cfg queuelock.Config) queuelock.Config {
	cfg.TTL, cfg.WaiterTTL = h.scale(cfg.TTL), h.scale(cfg.WaiterTTL)
	cfg.HeartbeatInterval = h.scale(cfg.HeartbeatInterval)
	return cfg
}

// wire is a client's way to the table, that tells instants in its host's coordinates.
type wire struct {
	host
	start time.Time
	date  func(at time.Time) []string // the Date header of an answer; nil: the right one
	next  dynamodb.HTTPClient
}

// told is a true instant in the host's coordinates, and true is the reverse.
func (w wire) told(at time.Time) time.Time {
	since := at.Sub(w.start)
	return w.start.Add(w.scale(since) - w.shift(time.Since(w.start)))
}

func (w wire) true(told time.Time) time.Time {
	since := told.Sub(w.start) + w.shift(time.Since(w.start))
	return w.start.Add(time.Duration(math.Round(float64(since) / w.rate())))
}

// Do sends a request.
func (w wire) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r := req.Clone(req.Context())
	body = w.convert(body, w.true, 1/w.rate())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp, err := w.next.Do(r)
	if err != nil {
		return nil, err
	}
	if body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	body = w.convert(body, w.told, w.rate())
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.Header.Del("X-Amz-Crc32") // of another body
	if exact, err := time.Parse(time.RFC3339Nano, resp.Header.Get(exactDate)); err == nil && resp.Header.Get("Date") != "" {
		resp.Header["Date"] = []string{w.told(exact).UTC().Format(http.TimeFormat)}
		if w.date != nil {
			resp.Header["Date"] = w.date(w.told(exact))
		}
	}
	return resp, nil
}

// exactDate is a header by which the table tells the wire its clock more
// exactly than in whole seconds.
const exactDate = "X-Exact-Date"

// convert tells all instants and leases in a body otherwise. Instants are the
// numbers that lie within some years of the bubble's clock, which no ticket,
// beat or length does here.
func (w wire) convert(body []byte, instant func(time.Time) time.Time, length float64) []byte {
	if w.host == (host{}) {
		return body
	}
	var decoded any
	if err := json.Unmarshal(body, &decoded); err != nil {
		return body
	}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case []any:
			for _, member := range v {
				walk(name, member)
			}
		case map[string]any:
			if text, ok := v["N"].(string); ok {
				n, err := strconv.ParseInt(text, 10, 64)
				switch {
				case err != nil:
				case name == "ttl":
					v["N"] = fmt.Sprint(int64(math.Round(float64(n) * length)))
				case near(time.UnixMilli(n)):
					v["N"] = fmt.Sprint(instant(time.UnixMilli(n)).UnixMilli())
				case near(time.Unix(n, 0)):
					v["N"] = fmt.Sprint(instant(time.Unix(n, 0)).Unix())
				}
				return
			}
			for key, member := range v {
				walk(key, member)
			}
		}
	}
	walk("", decoded)
	converted, err := json.Marshal(decoded)
	if err != nil {
		panic(err) // it was JSON before
	}
	return converted
}

func near(at time.Time) bool { return time.Since(at).Abs() < 10*365*24*time.Hour }

// server is DynamoDB: an engine with a clock of its own, watched.
type server struct {
	t     *testing.T
	start time.Time
	ahead func(elapsed time.Duration) time.Duration // its clock less the true time
	audit *audit.Audit
	table *queuelocktest.Table
	dates func() func(at time.Time) []string

	mu    sync.Mutex
	locks map[string]*queuelock.Lock // guarded by mu; by who holds them
}

func newServer(t *testing.T, c clocks) *server {
	s := &server{t: t, start: time.Now(), ahead: c.server, dates: c.dates, locks: map[string]*queuelock.Lock{}}
	s.audit = audit.New(embedded.Config{Now: s.now, OmitDate: c.noDate}, "queuelock", s.now)
	s.table = queuelocktest.NewTable(t, queuelocktest.WithEngine(s), queuelocktest.WithLatency(4*time.Millisecond))
	return s
}

// now is DynamoDB's clock.
func (s *server) now() time.Time {
	now := time.Now()
	if s.ahead == nil {
		return now
	}
	return now.Add(s.ahead(now.Sub(s.start)))
}

// ServeHTTP answers a request, and then asks those who believe to hold the
// lock whether the table agrees.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(exactDate, s.now().Format(time.RFC3339Nano))
	s.audit.ServeHTTP(w, r)
	s.check("after a request")
}

// client opens a client on a host.
func (s *server) client(name string, h host, cfg queuelock.Config) (*queuelock.Client, *queuelocktest.Client) {
	s.t.Helper()
	db := s.table.Client(name, func(o *dynamodb.Options) {
		w := wire{host: h, start: s.start, next: o.HTTPClient}
		if s.dates != nil {
			w.date = s.dates()
		}
		o.HTTPClient = w
	})
	cfg = h.config(cfg)
	cfg.Owner = name
	c, err := queuelock.New(db, s.table.Name(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = c.Close(ctx) // the dead do not get through
	})
	return c, db
}

// believe has a lock watched from now on.
func (s *server) believe(who string, lock *queuelock.Lock) {
	s.mu.Lock()
	s.locks[who] = lock
	s.mu.Unlock()
	s.check(who + " was served")
}

// forget ends that.
func (s *server) forget(who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.locks, who)
}

// check compares what holders believe with what the record says.
func (s *server) check(when string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var believers []string
	for who, lock := range s.locks {
		if lock.Err() == nil {
			believers = append(believers, who)
		}
	}
	at := time.Since(s.start)
	if len(believers) > 1 {
		s.t.Errorf("%v, %s: %v believe to hold the lock", at, when, believers)
	}
	holders := s.holders()
	for _, who := range believers {
		ticket := s.locks[who].Ticket().String()
		until, there := holders[ticket]
		switch {
		case !there:
			s.t.Errorf("%v, %s: %s (ticket %s) was evicted while it believes: %v", at, when, who, ticket, holders)
		case s.ahead == nil && !until.IsZero() && !until.After(s.now()):
			s.t.Errorf("%v, %s: %s believes past its lease, which ended at %v", at, when, who, until.Sub(s.start))
		}
	}
}

// holders are the tickets in the record, with the ends of their leases.
func (s *server) holders() map[string]time.Time {
	found := map[string]time.Time{}
	for _, item := range s.audit.Items("queuelock") {
		if !strings.HasSuffix(item["sk"].Text, "/"+strings.Repeat("0", 38)) {
			continue
		}
		for _, entry := range item["holders"].Fields {
			ticket, own := entry.Fields["ticket"]
			number := ticket.Number.String()
			if !own {
				after, _ := new(big.Int).SetString(item["servingAfter"].Number.String(), 10)
				number = after.Add(after, big.NewInt(1)).String()
			}
			found[number] = instant(entry.Fields["until"])
		}
	}
	return found
}

func instant(v value.Value) time.Time {
	if v.Kind != value.Num {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(v.Number.String(), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// poll asks believers again and again, until stop is called.
func (s *server) poll(each time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(each); ; {
			select {
			case <-tick.C:
				s.check("polled")
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// violations reports what the audit found.
func (s *server) violations() {
	for _, v := range s.audit.Violations() {
		s.t.Error(v)
	}
}

// clocks is one way in which clocks are wrong.
type clocks struct {
	name                     string
	holder, waiter, newcomer host
	// server is by how much DynamoDB's clock is ahead of the true time; nil:
	// it is right.
	server func(elapsed time.Duration) time.Duration
	// dates makes, for each client, the Date headers of its answers at an
	// instant; nil: right ones.
	dates  func() func(at time.Time) []string
	noDate bool
	// observe is Config.ObserveExpiry.
	observe bool
	ttl     time.Duration // of leases; zero: ten seconds
	// blind says that a newcomer cannot tell by the clock that a holder is
	// dead, and watches for a lease.
	blind bool
}

const jumpAt = 61500 * time.Millisecond // in the middle of a hold, half-way between two heartbeats

// jumps is a server's clock that is set ahead once.
func jumps(by time.Duration) func(time.Duration) time.Duration {
	return func(elapsed time.Duration) time.Duration {
		if elapsed < jumpAt {
			return 0
		}
		return by
	}
}

// wrong dates the n-th answer of each client wrongly, by as much as it says. The
// first is n = 0.
func wrong(by func(n int) time.Duration) func() func(time.Time) []string {
	return func() func(time.Time) []string {
		var n atomic.Int64
		return func(at time.Time) []string {
			return []string{at.Add(by(int(n.Add(1)) - 1)).UTC().Format(http.TimeFormat)}
		}
	}
}

// always is a Date header that is the same whatever the time.
func always(header string) func() func(time.Time) []string {
	return func() func(time.Time) []string { return func(time.Time) []string { return []string{header} } }
}

func scenarios() []clocks {
	fast, slow := host{offset: 10 * time.Minute}, host{offset: -10 * time.Minute}
	quick, lazy := host{ppm: 200}, host{ppm: -200}
	set := func(by time.Duration) host { return host{jump: by, jumpAt: jumpAt} }
	// count of every so many answers in a row.
	some := func(count, every int, by time.Duration) func() func(time.Time) []string {
		return wrong(func(n int) time.Duration {
			if n%every >= every-count {
				return by
			}
			return 0
		})
	}
	var list []clocks
	add := func(name string, c clocks) { c.name = name; list = append(list, c) }
	add("all right", clocks{})
	add("holder fast, waiter slow", clocks{holder: fast, waiter: slow, newcomer: fast})
	add("holder slow, waiter fast", clocks{holder: slow, waiter: fast, newcomer: slow})
	add("holder drifts ahead, waiter behind", clocks{holder: quick, waiter: lazy, newcomer: quick})
	add("holder drifts behind, waiter ahead", clocks{holder: lazy, waiter: quick, newcomer: lazy})
	add("off and drifting", clocks{holder: host{offset: 10 * time.Minute, ppm: -200}, waiter: host{offset: -10 * time.Minute, ppm: 200}, newcomer: host{offset: 7777 * time.Millisecond, ppm: -200}})
	for _, ttl := range []time.Duration{3 * time.Second, time.Minute} {
		add(fmt.Sprintf("off and drifting, leases of %v", ttl), clocks{holder: host{offset: 10 * time.Minute, ppm: -200}, waiter: host{offset: -10 * time.Minute, ppm: 200}, newcomer: slow, ttl: ttl})
	}
	for _, by := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		add(fmt.Sprintf("holder's host jumps %v", by), clocks{holder: set(by)})
		add(fmt.Sprintf("waiter's host jumps %v", by), clocks{waiter: set(by)})
	}
	add("no Date", clocks{noDate: true, blind: true})
	for _, header := range []string{"yesterday", "", "Mon, 99 Jan 2000 00:00:00 GMT", "946684800", strings.Repeat("9", 5000)} {
		add(fmt.Sprintf("Date %.30q", header), clocks{dates: always(header), blind: true})
	}
	add("observation alone", clocks{observe: true, blind: true})
	for _, by := range []time.Duration{5 * time.Minute, -5 * time.Minute, 3 * time.Hour, -3 * time.Hour, 2 * time.Second, -2 * time.Second, 1100 * time.Millisecond, 500 * time.Millisecond} {
		add(fmt.Sprintf("Date jumps %v", by), clocks{server: jumps(by)})
	}
	add("one Date in ten is an hour ahead", clocks{dates: some(1, 10, time.Hour), blind: true})
	add("one Date in ten is an hour behind", clocks{dates: some(1, 10, -time.Hour), blind: true})
	add("three Dates in a row are an hour ahead", clocks{dates: some(3, 40, time.Hour), blind: true})
	add("half of the Dates are ten minutes ahead", clocks{dates: some(10, 20, 10*time.Minute), blind: true})
	add("hosts of DynamoDB are 100 ms off either way", clocks{dates: wrong(func(n int) time.Duration {
		return time.Duration(2*(n%2)-1) * 100 * time.Millisecond
	})})
	return list
}

// Whatever clocks say: a holder that renews keeps its lock, also over the
// longest gaps that are allowed; nobody believes in a lease that others have
// ended; and a holder that dies is followed within its lease and 1.5 s by who
// waits for it, and by who comes later, if the clock tells it anything.
func TestLocksOutliveClocksThatLie(t *testing.T) {
	for i, c := range scenarios() {
		t.Run(c.name, func(t *testing.T) {
			// Each at another phase of the second that a Date shows.
			phase := time.Duration(i) * 370 * time.Millisecond % time.Second
			synctest.Test(t, func(t *testing.T) { lie(t, c, phase) })
		})
	}
}

func lie(t *testing.T, c clocks, phase time.Duration) {
	time.Sleep(phase)
	s := newServer(t, c)
	ttl := cmp.Or(c.ttl, locktest.TTL)
	cfg := queuelock.Config{TTL: ttl, WaiterTTL: max(ttl/2, time.Second), ObserveExpiry: c.observe}
	stop := s.poll(100 * time.Millisecond)
	defer stop()
	defer s.violations()

	holder, db := s.client("holder", c.holder, cfg)
	held := locktest.Acquire(t, holder, waitpolicy.For(time.Minute))
	s.believe("holder", held)
	waiter, dbWaiter := s.client("waiter", c.waiter, cfg)
	waiting := locktest.QueueUp(t.Context(), waiter, waitpolicy.For(30*ttl))
	alive := func(while string) {
		t.Helper()
		if err := held.Err(); err != nil {
			t.Fatalf("%s, after %v: %v", while, time.Since(s.start), err)
		}
	}

	// The longest gaps: renewals that are answered as late as they may be, and
	// a network that is back just in time.
	time.Sleep(2*ttl + 300*time.Millisecond)
	slow := db.Inject(queuelocktest.DelayResponse(min(ttl*12/100, 4*time.Second)).Of("UpdateItem"))
	time.Sleep(ttl)
	slow.Remove()
	late := db.Inject(queuelocktest.DelayRequest(min(ttl*12/100, 4*time.Second)).Of("UpdateItem"))
	time.Sleep(ttl)
	late.Remove()
	alive("slow renewals")
	s.renewed(db)
	db.Partition()
	time.Sleep(ttl * 8 / 10) // it believes for nine tenths, and tries each fortieth or so
	db.Heal()
	time.Sleep(ttl / 5)
	alive("a gap")
	time.Sleep(max(0, jumpAt-time.Since(s.start)) + 5*ttl)
	alive("the jump")

	// The holder dies right after a heartbeat.
	s.renewed(db)
	db.Partition()
	died := time.Now()
	got := <-waiting
	took := got.At.Sub(died)
	if got.Err != nil || took > ttl+locktest.TakenOverWithin {
		t.Fatalf("taken over by who waited %v after the crash (%v), want %v at the most", took, got.Err, ttl+locktest.TakenOverWithin)
	}
	s.believe("waiter", got.Lock)
	s.forget("holder")

	// So does the next, and nobody waits yet.
	time.Sleep(2 * ttl)
	s.renewed(dbWaiter)
	dbWaiter.Partition()
	died = time.Now()
	arrives := ttl * 4 / 10
	time.Sleep(arrives)
	newcomer, _ := s.client("newcomer", c.newcomer, cfg)
	got = <-locktest.QueueUp(t.Context(), newcomer, waitpolicy.For(6*ttl))
	bound := max(arrives, ttl) + locktest.TakenOverWithin
	if c.blind {
		bound = arrives + ttl + locktest.TakenOverWithin
	}
	tookNewcomer := got.At.Sub(died)
	if got.Err != nil || tookNewcomer > bound {
		t.Fatalf("taken over by a newcomer %v after the crash (%v), want %v at the most", tookNewcomer, got.Err, bound)
	}
	s.believe("newcomer", got.Lock)
	s.forget("waiter")
	time.Sleep(2 * ttl)
	if err := got.Lock.Err(); err != nil {
		t.Error(err)
	}
	t.Logf("taken over after %v by who waited, %v by a newcomer", took, tookNewcomer)
	s.forget("newcomer")
	locktest.Release(t, got.Lock)
}

// renewed waits for the client's next heartbeat, and until the client has heard
// of it. An answer that is dated by another clock than the one before has it
// renew once more.
func (s *server) renewed(db *queuelocktest.Client) {
	s.t.Helper()
	beat := db.Inject(queuelocktest.DelayResponse(0).Of("UpdateItem").Mentioning("beat + 1").Times(1))
	defer beat.Remove()
	select {
	case <-beat.Reached():
		time.Sleep(100 * time.Millisecond)
	case <-time.After(time.Minute):
		s.t.Fatalf("no heartbeat within a minute\n%s", s.table.Log())
	}
}

// An hour under clocks that drift, with another waiter all the time: the
// lock is never lost, nor the waiter's place, and it costs what it should.
func TestALockIsHeldForAnHourUnderDrift(t *testing.T) {
	for _, c := range scenarios() {
		switch c.name {
		case "holder drifts ahead, waiter behind", "holder drifts behind, waiter ahead", "hosts of DynamoDB are 100 ms off either way":
		default:
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, c)
				stop := s.poll(time.Second)
				defer stop()
				defer s.violations()
				cfg := queuelock.Config{TTL: time.Minute, WaiterTTL: 15 * time.Second}
				holder, db := s.client("holder", c.holder, cfg)
				held := locktest.Acquire(t, holder, waitpolicy.For(time.Minute))
				s.believe("holder", held)
				waiter, _ := s.client("waiter", c.waiter, cfg)
				waiting := locktest.QueueUp(t.Context(), waiter, waitpolicy.For(2*time.Hour))
				before := db.Counts()
				length := locktest.Scaled(time.Hour, 20*time.Minute)
				time.Sleep(length)
				if err := held.Err(); err != nil {
					t.Fatal(err)
				}
				beats := int(length / (30 * time.Second))
				if n := db.Counts().Sub(before).Total().Sent; n < beats-1 || n > beats*136/120 { // none late, each up to 3 s early
					t.Errorf("%d requests of the holder in %v, want one each half minute", n, length)
				}
				locktest.Release(t, held)
				s.forget("holder")
				got := <-waiting
				if got.Err != nil || got.Lock.Ticket().After(held.Ticket()) != 1 {
					t.Fatalf("%+v, want the ticket after %s", got, held.Ticket())
				}
				locktest.Release(t, got.Lock)
			})
		})
	}
}

// What no client can find out: that the first dates it ever hears are wrong. It
// then ends a lease that lives. The record still has one holder, tokens still
// increase, and the owner learns of it by its next heartbeat. By observation it
// does not happen at all.
func TestAProcessThatOnlyEverHearsAWrongDateEvictsUnlessItObserves(t *testing.T) {
	for _, observe := range []bool{false, true} {
		t.Run(fmt.Sprint("observes ", observe), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, clocks{})
				defer s.violations()
				holder, db := s.client("holder", host{}, locktest.TenSeconds)
				held := locktest.Acquire(t, holder, waitpolicy.For(time.Minute))
				s.dates = wrong(func(int) time.Duration { return time.Hour })
				cfg := locktest.TenSeconds
				cfg.ObserveExpiry = observe
				other, _ := s.client("other", host{}, cfg)
				s.renewed(db)
				lock, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.For(2*locktest.TTL))
				if observe {
					if !errors.Is(err, queuelock.ErrNotAcquired) || held.Err() != nil {
						t.Errorf("%v, and the holder %v", err, held.Err())
					}
					locktest.Release(t, held)
					return
				}
				if err != nil || !held.Ticket().Less(lock.Ticket()) {
					t.Fatalf("%+v, %v", lock, err)
				}
				served := time.Now()
				<-held.Done()
				loss, ok := errors.AsType[*queuelock.LostError](held.Err())
				if took := time.Since(served); !ok || loss.Cause != queuelock.Evicted || took > locktest.TTL/2 {
					t.Errorf("the owner learns %v after %v", held.Err(), took)
				}
				locktest.Release(t, lock)
			})
		})
	}
}

// Nor can a holder find out that all dates it hears are behind by as much: others
// evict it by the right ones, and it learns of that by its next heartbeat. Those
// that observe do not.
func TestHolderWithDatesBehind(t *testing.T) {
	for name, observe := range map[string]bool{"LearnsOfItsEvictionByItsNextHeartbeat": false, "IsKeptByThoseThatObserve": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, clocks{})
				defer s.violations()
				s.dates = wrong(func(int) time.Duration { return -8 * time.Second })
				holder, _ := s.client("holder", host{}, locktest.TenSeconds)
				s.dates = nil
				cfg := locktest.TenSeconds
				cfg.ObserveExpiry = observe
				other, _ := s.client("other", host{}, cfg)
				held := locktest.Acquire(t, holder, waitpolicy.For(time.Minute))
				lock, err := other.Acquire(t.Context(), locktest.Order, waitpolicy.For(4*locktest.TTL))
				if observe {
					if !errors.Is(err, queuelock.ErrNotAcquired) || held.Err() != nil {
						t.Errorf("%v, and the holder %v", err, held.Err())
					}
					locktest.Release(t, held)
					return
				}
				if err != nil || !held.Ticket().Less(lock.Ticket()) {
					t.Fatalf("%+v, %v", lock, err)
				}
				served := time.Now()
				<-held.Done()
				loss, ok := errors.AsType[*queuelock.LostError](held.Err())
				if took := time.Since(served); !ok || loss.Cause != queuelock.Evicted || took > locktest.TTL/2 {
					t.Errorf("the holder learns %v after %v", held.Err(), took)
				}
				locktest.Release(t, lock)
			})
		})
	}
}
