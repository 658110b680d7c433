package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/queuelock/queuelock/heartbeat"
	"github.com/queuelock/queuelock/internal/handover"
	"github.com/queuelock/queuelock/internal/serving"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/internal/waiter"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/ticket"
)

var errReleased = errors.New("released")

// lossError is what a client of the tests makes of a loss.
type lossError struct{ *heartbeat.LossError }

func isLoss(err error) bool {
	_, ok := errors.AsType[*lossError](err)
	return ok
}

// world is a table with one session in it, in a bubble of its own.
type world struct {
	*testing.T
	table       *queuelocktest.Table
	holder      *queuelocktest.Client
	contradicts *contradicting // of the holder
	queue       table.Queue    // as another client sees it
	session     *Session
}

func inWorld(t *testing.T, name string, terms heartbeat.Terms, test func(w *world)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tb := queuelocktest.NewTable(t)
			queueOf := func(c table.DynamoDB) table.Queue {
				layout := table.Layout{Table: tb.Name(), PK: "pk", SK: "sk", TTL: "expiresAt"}
				return table.NewStore(c, layout, 5*time.Second).Queue("e", "lock", nil)
			}
			w := &world{T: t, table: tb, holder: tb.Client("holder"), queue: queueOf(tb.Client("other"))}
			w.contradicts = &contradicting{Client: w.holder}
			closed, stop := context.WithCancel(t.Context())
			defer stop()
			var background sync.WaitGroup
			c := &Client{
				Closed: closed, Timeout: 5 * time.Second, Log: slog.New(slog.DiscardHandler), Local: handover.New(time.Minute), Background: background.Go,
				Released: errReleased,
				Lost:     func(_ table.Queue, _ ticket.Number, loss *heartbeat.LossError) error { return &lossError{loss} },
				Unknown:  func(_ table.Queue, err, _, _ error) error { return errors.Join(errUnknown, err) },
			}
			terms.TTL, terms.Interval, terms.Margin = time.Minute, 30*time.Second, heartbeat.Margin(time.Minute)
			q := queueOf(w.contradicts)
			w.session = c.Hold(t.Context(), Config{Name: q, Queue: q, Terms: terms}, w.take(q, terms, "holder"))
			test(w)
			for _, s := range c.Sessions() {
				w.holder.Heal()
				w.contradicts.conditions.Store(nil)
				_ = s.Release(context.WithoutCancel(t.Context()))
			}
			w.session.keeper.Stop()
			background.Wait()
		})
	})
}

var errUnknown = errors.New("unknown")

func (w *world) take(q table.Queue, terms heartbeat.Terms, id string) *waiter.Grant {
	w.Helper()
	sent := time.Now()
	begun, since := terms.Begin(q.Clock(), sent)
	rec, _, err := serving.Take(w.Context(), q, queue.Take(queue.Entry{ID: id, Owner: id, Since: since, Lease: begun}, false))
	if err != nil && !errors.Is(err, serving.ErrRefused) {
		w.Fatal(err)
	}
	h, _ := rec.Mine(id)
	return &waiter.Grant{ID: id, Ticket: h.Ticket, Sent: sent, Lease: h.Lease, Record: rec}
}

// evict removes the holder, as another client does that has seen its lease end.
func (w *world) evict() {
	w.Helper()
	rec, err := serving.Get(w.Context(), w.queue)
	if err == nil {
		_, err = serving.Evict(w.Context(), w.queue, rec.Holders...)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// agree checks that Err says what Release has returned, and that both keep to it.
func (w *world) agree(err error) {
	w.Helper()
	if end := w.session.Err(); isLoss(end) != isLoss(err) || isLoss(err) && end != err || end == nil {
		w.Errorf("Release returned %v, and Err %v", err, end)
	}
	if !w.session.State().Phase.Final() {
		return
	}
	before := w.table.Counts().Total().Sent
	if again := w.session.Release(w.Context()); again != err {
		w.Errorf("Release returned %v, and then %v", err, again)
	}
	if after := w.table.Counts().Total().Sent; after != before {
		w.Errorf("%d requests were sent after the end", after-before)
	}
}

func TestReleaseAgreesWithErr(t *testing.T) {
	inWorld(t, "Released", heartbeat.Terms{}, func(w *world) {
		err := w.session.Release(w.Context())
		if err != nil || w.session.State().Phase != queue.PhaseReleased || context.Cause(w.session.Context()) != errReleased {
			w.Errorf("%v, %+v", err, w.session.State())
		}
		w.agree(err)
	})
	inWorld(t, "EvictedBetweenTheForms", heartbeat.Terms{}, func(w *world) {
		w.take(w.queue, w.session.config.Terms, "next") // so the fast form is refused
		held := w.holder.Inject(queuelocktest.HoldRequest().Of("UpdateItem").Mentioning("REMOVE holders.holder"))
		done := make(chan error)
		go func() { done <- w.session.Release(w.Context()) }()
		<-held.Reached()
		if err := w.session.Err(); err != errReleased {
			w.Errorf("between the forms Err is %v", err)
		}
		w.evict()
		held.Release()
		err := <-done
		if st := w.session.State(); !isLoss(err) || st.Phase != queue.PhaseCleared || st.Loss.Cause != heartbeat.Evicted {
			w.Errorf("%v, %+v", err, st)
		}
		w.agree(err)
	})
	inWorld(t, "LeaseEndsBeforeTheAnswer", heartbeat.Terms{}, func(w *world) {
		lost := w.holder.Inject(queuelocktest.SwallowResponse().Of("UpdateItem"))
		w.holder.Inject(queuelocktest.LoseRequest().Of("UpdateItem"))
		ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
		defer cancel()
		err := w.session.Release(ctx)
		if st := w.session.State(); err == nil || isLoss(err) || st.Phase != queue.PhaseReleasing || lost.Fired() == 0 {
			w.Errorf("%v, %+v", err, st)
		}
		w.agree(err)
	})
	inWorld(t, "LeaseEndsAndTheMarkShowsTheRelease", heartbeat.Terms{}, func(w *world) {
		w.holder.Inject(queuelocktest.LoseResponse().Of("UpdateItem").Times(1))
		refuse := w.holder.Inject(queuelocktest.LoseRequest().Of("UpdateItem"))
		ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
		defer cancel()
		if err := w.session.Release(ctx); err == nil {
			w.Error("released without an answer")
		}
		refuse.Remove()
		err := w.session.Release(w.Context())
		if err != nil || w.session.State().Phase != queue.PhaseReleased {
			w.Errorf("%v, %+v", err, w.session.State())
		}
		w.agree(err)
	})
	inWorld(t, "LeaseEndsAndOthersEvict", heartbeat.Terms{}, func(w *world) {
		w.holder.Partition()
		ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
		defer cancel()
		if err := w.session.Release(ctx); err == nil {
			w.Error("released without an answer")
		}
		w.evict()
		w.holder.Heal()
		err := w.session.Release(w.Context())
		if !isLoss(err) || w.session.State().Phase != queue.PhaseCleared {
			w.Errorf("%v, %+v", err, w.session.State())
		}
		w.agree(err)
	})
	inWorld(t, "LostBefore", heartbeat.Terms{}, func(w *world) {
		w.holder.Partition()
		<-w.session.Context().Done()
		w.holder.Heal()
		err := w.session.Release(w.Context())
		if st := w.session.State(); !isLoss(err) || st.Phase != queue.PhaseCleared || st.Loss.Cause != heartbeat.Unreachable {
			w.Errorf("%v, %+v", err, st)
		}
		if rec, err := serving.Get(w.Context(), w.queue); err != nil || len(rec.Holders) != 0 {
			w.Errorf("%+v is left, %v", rec.Holders, err)
		}
		w.agree(err)
	})
	inWorld(t, "UpdateMadeAfterLocalLoss", heartbeat.Terms{}, func(w *world) {
		s := w.session
		s.config.Queue.Home = &queue.Home{}
		s.step(queue.HoldEvent{Kind: queue.HoldUpdate})
		s.step(queue.HoldEvent{})
		s.lose(&heartbeat.LossError{Cause: heartbeat.Expired})
		if !isLoss(s.Err()) {
			w.Errorf("Err is %v", s.Err())
		}
		s.step(queue.HoldEvent{Reply: queue.ReplyApplied})
		if s.State().Phase != queue.PhaseReleased || !isLoss(context.Cause(s.Context())) {
			w.Errorf("%+v, %v", s.State(), context.Cause(s.Context()))
		}
		w.agree(nil)
	})
	inWorld(t, "RecordShowsTheReleaseOfLostLock", heartbeat.Terms{}, func(w *world) {
		s := w.session
		s.step(queue.HoldEvent{Kind: queue.HoldUpdate})
		if _, _, err := serving.Send(w.Context(), w.queue, s.step(queue.HoldEvent{}).Write); err != nil {
			w.Fatal(err)
		}
		s.lose(&heartbeat.LossError{Cause: heartbeat.Expired})
		rec, err := serving.Get(w.Context(), w.queue)
		if err != nil {
			w.Fatal(err)
		}
		if err := s.fenced(rec); err != errReleased {
			w.Errorf("the write was refused with %v", err)
		}
		w.agree(nil)
	})
	inWorld(t, "MarksReplaced", heartbeat.Terms{}, func(w *world) {
		turn := w.session.grant.Ticket
		for _, id := range []string{"next", "last"} {
			w.evict()
			if _, err := serving.Reset(w.Context(), w.queue, turn); err != nil {
				w.Fatal(err)
			}
			turn = w.take(w.queue, w.session.config.Terms, id).Ticket
		}
		last := queue.Ending{ID: "last", Ticket: turn, Call: 1}
		if _, _, err := serving.Send(w.Context(), w.queue, last.Release(queue.FormFast, time.Time{})); err != nil {
			w.Fatal(err)
		}
		err := w.session.Release(w.Context())
		if !errors.Is(err, errUnknown) || w.session.State().Phase != queue.PhaseUnknown {
			w.Errorf("%v, %+v", err, w.session.State())
		}
		w.agree(err)
	})
}

func TestGiveBack(t *testing.T) {
	type removal struct {
		id  string
		end time.Time
	}
	giveBack := func(w *world) (removed []removal, err error) {
		err = w.session.GiveBack(w.Context(), func(_ context.Context, id string, end time.Time) error {
			removed = append(removed, removal{id, end})
			return nil
		})
		return removed, err
	}
	inWorld(t, "Held", heartbeat.Terms{Delay: time.Minute}, func(w *world) {
		if removed, err := giveBack(w); err != nil || removed != nil {
			w.Errorf("%v, removed %v", err, removed)
		}
	})
	inWorld(t, "Evicted", heartbeat.Terms{Delay: time.Minute}, func(w *world) {
		w.evict()
		if removed, err := giveBack(w); err != nil || removed != nil {
			w.Errorf("%v, removed %v", err, removed)
		}
	})
	inWorld(t, "UnreachableWithDelay", heartbeat.Terms{Delay: time.Minute}, func(w *world) {
		w.holder.Partition()
		<-w.session.Context().Done()
		deadline := w.session.keeper.Deadline()
		removed, err := giveBack(w)
		if err != nil || len(removed) != 1 || removed[0] != (removal{"holder", deadline.Add(w.session.config.Terms.Margin + time.Minute)}) {
			w.Errorf("%v, removed %v", err, removed)
		}
	})
	inWorld(t, "UnreachableWithoutDelay", heartbeat.Terms{}, func(w *world) {
		w.holder.Partition()
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		err := w.session.GiveBack(ctx, func(context.Context, string, time.Time) error {
			w.Error("removed")
			return nil
		})
		if err == nil || w.session.State().Phase.Final() {
			w.Errorf("%v, %+v", err, w.session.State())
		}
	})
}

func TestDeliver(t *testing.T) {
	warned := func(w *world, deliver bool) (margins []int) {
		s := w.session
		s.config.Warnings = []time.Duration{20 * time.Second}
		var mu sync.Mutex
		go s.warn(0)
		time.Sleep(time.Second)
		if deliver {
			s.Deliver(func(margin int) {
				mu.Lock()
				defer mu.Unlock()
				margins = append(margins, margin)
			})
		} else {
			_ = s.Release(w.Context())
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return margins
	}
	inWorld(t, "WarnsIfMarginStillReached", heartbeat.Terms{}, func(w *world) {
		w.holder.Partition()
		time.Sleep(45 * time.Second)
		if got := warned(w, true); len(got) != 1 {
			w.Errorf("warned of %v", got)
		}
	})
	inWorld(t, "DoesNotWarnOfPastDanger", heartbeat.Terms{}, func(w *world) {
		if got := warned(w, true); got != nil {
			w.Errorf("warned of %v", got)
		}
	})
	inWorld(t, "DoesNotWarnIfGivenBack", heartbeat.Terms{}, func(w *world) {
		if got := warned(w, false); got != nil {
			w.Errorf("warned of %v", got)
		}
	})
}
