package hold_test

import (
	"context"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
)

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

// ServeHTTP answers a request, and compares what clients believe with the table.
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
	c := locktest.Must(queuelock.New(db, s.table.Name(), cfg))
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = c.Close(ctx) // a crashed client does not get through
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
		case s.ahead == nil && until > 0 && until <= s.now().UnixMilli():
			s.t.Errorf("%v, %s: %s believes past its lease, which ended at %v", at, when, who, time.UnixMilli(until).Sub(s.start))
		}
	}
}

// holders are the tickets in the record, with the ends of their leases in milliseconds; zero: none.
func (s *server) holders() map[string]int64 {
	found := map[string]int64{}
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
			found[number], _ = strconv.ParseInt(entry.Fields["until"].Number.String(), 10, 64)
		}
	}
	return found
}

// poll asks believers again and again, until stop is called.
func (s *server) poll(each time.Duration) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-time.After(each):
				s.check("polled")
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// violations reports what the audit found.
func (s *server) violations() {
	for _, v := range s.audit.Violations() {
		s.t.Error(v)
	}
}

// renewed waits for the client's next heartbeat, and until the client has heard of it.
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
