package play_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/member"
	"github.com/queuelock/queuelock/internal/notify"
	"github.com/queuelock/queuelock/internal/play"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
)

// process is one that is paused at times: then no step of a member begins, no request is sent, and no caller goes on.
type process struct {
	world
	play  *play.Client
	queue table.Queue

	pause   sync.Mutex
	running chan struct{} // closed while it runs
	waiting []func()
}

// begin begins a step, or a request.
func (p *process) begin(f func()) {
	p.pause.Lock()
	defer p.pause.Unlock()
	select {
	case <-p.running:
		go f()
	default:
		p.waiting = append(p.waiting, f)
	}
}

// stops pauses the process for an hour.
func (p *process) stops(*world) {
	p.pause.Lock()
	p.running = make(chan struct{})
	p.pause.Unlock()
	time.Sleep(time.Hour)
	p.pause.Lock()
	close(p.running)
	for _, f := range p.waiting {
		go f()
	}
	p.waiting = nil
	p.pause.Unlock()
}

// goesOn returns once the process runs.
func (p *process) goesOn() {
	p.pause.Lock()
	running := p.running
	p.pause.Unlock()
	<-running
}

var errLost = errors.New("the lock is lost")

func newProcess(t *testing.T, at string, after bool) *process {
	p := &process{world: world{t: t, table: queuelocktest.NewTable(t, queuelocktest.WithLatency(20*time.Millisecond)), at: at, seen: map[string]int{}}, running: make(chan struct{})}
	close(p.running)
	if p.before = p.stops; after {
		p.before, p.after = nil, p.stops
	}
	p.connect()
	p.other, _ = locktest.Open(t, p.table, "other", locktest.TenSeconds)
	store := table.NewStore(p.db, table.Layout{Table: p.table.Name(), PK: "pk", SK: "sk", TTL: "expiresAt"}, 3*time.Second)
	log := slog.New(slog.DiscardHandler)
	p.queue = store.Queue(locktest.Order.Entity, "lock", nil)
	p.play = play.New(play.Config{
		Most: 64, Names: true, Schedule: waitpolicy.Default, Timeout: 3 * time.Second, Attention: 38 * time.Second, Store: store,
		Name: func(table.Queue) fmt.Stringer { return ticket.Number{} }, Closed: context.Background(), Observer: heartbeat.NewObserver(store.Clock(), false),
		Log: log, Background: p.begin, Local: handover.New(nil, log, p.begin), Released: errors.New("released"),
		Lost:    func(table.Queue, ticket.Number, *heartbeat.LossError) error { return errLost },
		Unknown: func(_ table.Queue, err, _, _ error) error { return err },
	})
	return p
}

// wanting is a call.
type wanting struct {
	*process
	wants *play.Wants
}

func (wanting) Values() context.Context              { return context.Background() }
func (w wanting) Queue() *table.Queue                { return &w.queue }
func (w wanting) Wants() *play.Wants                 { return w.wants }
func (wanting) Progress() (none func(play.Progress)) { return none }
func (wanting) Log() *notify.Log                     { return notify.New(slog.New(slog.DiscardHandler), nil) }

// turns begins a call, whose turn has a use of the lock and a heartbeat.
func (p *process) turns(wants *play.Wants) {
	p.calls.Go(func() {
		var lock *play.Lock
		for k, over := p.play.Enter(p.t.Context(), wanting{p, wants}), false; !over; {
			<-k.Wake
			p.goesOn()
			var err error
			if over, lock, err = k.Next(); err != nil {
				if !table.Unanswered(err) {
					p.t.Errorf("it is refused: %v", err)
				}
				return
			}
		}
		p.granted(lock)
		_ = lock.SetData(p.t.Context(), []byte("z"))
		time.Sleep(4 * time.Second)
		p.goesOn()
		if err := lock.Release(p.t.Context()); err != nil && !errors.Is(err, errLost) && !strings.Contains(err.Error(), "its lease of 10s ends it") {
			p.t.Errorf("Release returns %v", err)
		}
	})
}

// TestStallAtEachRequest pauses the process of a client for an hour, before the first request of each name is sent, or before its
// answer is taken. One caller at a time believes to hold the lock, each call ends, and nothing is left.
func TestStallAtEachRequest(t *testing.T) {
	for sent := range strings.SplitSeq("GetItem, TAKE, ENQUEUE, Query, HEARTBEAT of a row, CLAIM, HEARTBEAT, SETDATA, ADVANCE, RELEASE, PASS, CLEAN UP of a row", ", ") {
		for _, after := range []bool{false, true} {
			locktest.InBubble(t, fmt.Sprint(sent, "/Answered ", after), func(t *testing.T) {
				p := newProcess(t, sent, after)
				kind := member.Kind{Owner: "c", TTL: 10 * time.Second, Margin: time.Second, Interval: 3 * time.Second, RowTTL: 4 * time.Second}
				kinds := []*play.Wants{{Kind: kind, Retry: 30 * time.Second}, {Kind: kind, Retry: 30 * time.Second}}
				kinds[1].Kind.Data = "x"
				held := locktest.Acquire(t, p.other, waitpolicy.Forever)
				for range 4 {
					p.turns(kinds[0])
				}
				time.Sleep(200 * time.Millisecond)
				p.turns(kinds[1])
				time.Sleep(5 * time.Second)
				_ = held.Release(t.Context())
				if next := locktest.Within(t, "another client", 2*time.Minute, locktest.LockBy(t, p.other)); next.Err == nil {
					p.granted(next.Lock)
					locktest.Release(t, next.Lock)
				}
				p.calls.Wait()
				if !p.sent(sent) {
					t.Error("it was not sent")
				}
				time.Sleep(time.Minute)
				if rows, holders := locktest.RowsAndHolders(t, p.other); rows+holders+len(p.play.Locks()) > 0 {
					t.Errorf("%d rows and %d holders are left, and %d locks in memory", rows, holders, len(p.play.Locks()))
				}
			})
		}
	}
}
