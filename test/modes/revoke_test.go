package modes_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/event"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/bells"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/sweeper"
	"github.com/queuelock/queuelock/waitpolicy"
)

// served returns the first holder, as an operator sees it.
func served(t *testing.T, c *queuelock.Client) queue.Holder {
	t.Helper()
	return locktest.Must(c.Viewer().Inspect(t.Context(), locktest.Order)).Serving[0]
}

// askedWithin checks that the channel is closed by then, and not before it was asked.
func askedWithin(t *testing.T, lock *queuelock.Lock, most time.Duration) {
	t.Helper()
	begun := time.Now()
	select {
	case <-lock.Revoked():
	case <-time.After(time.Hour):
		t.Fatal("the holder was never asked")
	}
	if took := time.Since(begun); took > most {
		t.Errorf("asked after %v, want %v at most", took, most)
	}
	locktest.Check(t, lock.Err())
}

// notAsked checks that a holder has not heard that it was asked.
func notAsked(t *testing.T, lock *queuelock.Lock) {
	t.Helper()
	select {
	case <-lock.Revoked():
		t.Error("the holder was asked")
	default:
	}
	if r, ok := lock.Revocation(); ok {
		t.Errorf("%+v", r)
	}
}

// belled opens the client of a host with a bell. Its heartbeats are half an hour apart.
func belled(t *testing.T, table *queuelocktest.Table, hub *bells.Hub, name string) (*queuelock.Client, *queuelocktest.Client) {
	return locktest.Open(t, table, name, queuelock.Config{TTL: time.Hour, Wake: hub.Client(name)})
}

// TestRevoke checks that a holder learns by its next heartbeat that it was asked to give way, and by whom and why.
func TestRevoke(t *testing.T) {
	for name, opts := range map[string][]queuelock.AcquireOption{
		"exclusive": nil, "shared": {queuelock.Shared()}, "permit": {queuelock.Permits(2)}, "fail-closed": {queuelock.FailClosed()},
		"at least": {queuelock.HoldAtLeast(time.Hour)},
	} {
		for what, fault := range map[string]queuelocktest.Fault{
			"no fault":       queuelocktest.DelayRequest(0),
			"response lost":  queuelocktest.LoseResponse(),
			"comes again":    queuelocktest.Duplicate(3 * time.Second),
			"not two events": queuelocktest.Duplicate(20 * time.Second),
		} {
			locktest.InWatched(t, name+", "+what, func(t *testing.T, table *queuelocktest.Table) {
				var events []event.Revoked
				a, _ := locktest.Open(t, table, "a", heard(&events))
				b, db := locktest.Open(t, table, "b", locktest.TenSeconds)
				lock := locktest.Acquire(t, a, waitpolicy.NoWait, opts...)
				asked := lock.Revoked()
				time.Sleep(17 * time.Second)
				notAsked(t, lock)
				h := served(t, b)
				db.Inject(fault.Of("UpdateItem").Times(1))
				at := time.Now()
				locktest.OK(t, b.Operator().Revoke(t.Context(), locktest.Order, h, "a newer deploy", time.Minute))
				askedWithin(t, lock, locktest.TTL/2+time.Second)
				r, ok := lock.Revocation()
				if !ok || r.By != "b" || r.Why != "a newer deploy" || r.At.Sub(at).Abs() > 2*time.Second || r.Deadline.Sub(at.Add(time.Minute)).Abs() > 2*time.Second {
					t.Errorf("%+v, %t", r, ok)
				}
				if now := served(t, b); now.Revoked == nil || *now.Revoked != r || now.ID != h.ID {
					t.Errorf("an operator sees %+v", now)
				}
				if lock.Revoked() != asked {
					t.Error("another channel")
				}
				time.Sleep(2 * time.Minute) // nothing happens by itself
				locktest.Check(t, lock.Err())
				if len(events) != 1 || events[0].By != "b" || events[0].Why != "a newer deploy" || events[0].Ticket != lock.Ticket() {
					t.Errorf("events %+v", events)
				}
				locktest.Release(t, lock)
				if _, refused := errors.AsType[*sweeper.EvictError](b.Operator().Revoke(t.Context(), locktest.Order, h, "", 0)); !refused {
					t.Error("a holder that is gone was asked")
				}
			})
		}
	}
}

// TestRevokeNeverLaterOfRepeatedTake checks that the entry which a late copy of a TAKE leaves is not marked.
func TestRevokeNeverLaterOfRepeatedTake(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, da, b := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		da.Inject(queuelocktest.Duplicate(5 * time.Second).Of("UpdateItem").Times(1))
		lock := locktest.Acquire(t, a, waitpolicy.NoWait)
		h := served(t, b)
		locktest.Release(t, lock)
		time.Sleep(6 * time.Second)
		if left := served(t, b); left.ID != h.ID || left.Ticket == h.Ticket {
			t.Fatalf("the copy has left %+v", left)
		}
		err := b.Operator().Revoke(t.Context(), locktest.Order, h, "", 0)
		if _, refused := errors.AsType[*sweeper.EvictError](err); !refused || served(t, b).Revoked != nil {
			t.Errorf("a later ticket was asked by a late request: %v", err)
		}
	})
}

// TestRevokeBell checks that a holder with a bell learns at once if it asks for that, and that bells cause few reads.
func TestRevokeBell(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var hub bells.Hub
		a, da := belled(t, table, &hub, "a")
		b, _ := belled(t, table, &hub, "b")
		c, dc := belled(t, table, &hub, "c")
		permits := queuelock.Permits(2)
		lock := locktest.Acquire(t, a, waitpolicy.NoWait, permits)
		other := locktest.Acquire(t, c, waitpolicy.NoWait, permits)
		other.Revoked()
		read, otherRead := da.Counts(), dc.Counts()
		ask := func(why string) {
			t.Helper()
			locktest.OK(t, b.Operator().Revoke(t.Context(), locktest.Order, served(t, b), why, 0))
			time.Sleep(time.Second)
		}
		if h := served(t, b); h.Owner != "a" {
			t.Fatalf("%+v", h)
		}
		ask("before it is awaited")
		if spent := da.Counts().Sub(read).Total().Sent; spent != 0 {
			t.Errorf("a holder that does not await it has sent %d requests", spent)
		}
		if spent := dc.Counts().Sub(otherRead).Total().Sent; spent != 0 {
			t.Errorf("the other one, which was not asked, has sent %d requests", spent)
		}
		askedWithin(t, lock, 0)
		if r, _ := lock.Revocation(); r.Why != "before it is awaited" {
			t.Errorf("%+v", r)
		}
		otherRead = dc.Counts()
		for range 5000 {
			hub.Forge()
			time.Sleep(time.Millisecond)
		}
		if spent := dc.Counts().Sub(otherRead).Total().Sent; spent < 4 || spent > 6 {
			t.Errorf("5,000 bells in 5 s were worth %d reads, want one in a second", spent)
		}
		if _, ok := other.Revocation(); ok {
			t.Error("the other one was asked")
		}
		locktest.Release(t, lock)
		locktest.Release(t, other)
	})
}

// TestRevokeBellAfterRead checks that a holder that has learnt that it was asked reads no more, also if it is rung meanwhile.
func TestRevokeBellAfterRead(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		var hub bells.Hub
		a, da := belled(t, table, &hub, "a")
		b, _ := belled(t, table, &hub, "b")
		for range 20 {
			lock := locktest.Acquire(t, a, waitpolicy.NoWait)
			asked := lock.Revoked()
			before := da.Counts()
			locktest.OK(t, b.Operator().Revoke(t.Context(), locktest.Order, served(t, b), "now", 0))
			<-asked
			hub.Forge()
			time.Sleep(3 * time.Second)
			if spent := da.Counts().Sub(before).Total().Sent; spent != 1 {
				t.Errorf("the holder has sent %d requests, want one read", spent)
			}
			locktest.Release(t, lock)
		}
	})
}

// TestRevokeResumed checks that who resumes a lock is asked as well, and NoHeartbeat learns by Extend.
func TestRevokeResumed(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, db, b := locktest.Pair(t, table, locktest.TenSeconds, "a", "b")
		locktest.Release(t, locktest.Acquire(t, a, waitpolicy.NoWait))
		lock := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.NoHeartbeat())
		lock.Revoked()
		locktest.OK(t, b.Operator().Revoke(t.Context(), locktest.Order, served(t, b), "why", 0))
		time.Sleep(time.Second)
		notAsked(t, lock)
		locktest.Check(t, lock.Extend(t.Context()))
		askedWithin(t, lock, 0)
		db.Partition()
		next := locktest.Must(b.Resume(t.Context(), lock.Handle(), waitpolicy.NoWait))
		askedWithin(t, next, 0)
		locktest.Release(t, next)
	})
}

// TestRevokeMalformed checks that a mark of another program harms nothing, and is replaced.
func TestRevokeMalformed(t *testing.T) {
	for name, mark := range map[string]types.AttributeValue{
		"a string": av.Str("x"), "an empty map": &types.AttributeValueMemberM{Value: av.Item{}},
		"a number as by": &types.AttributeValueMemberM{Value: av.Item{"by": av.Num(1)}},
		"too long":       &types.AttributeValueMemberM{Value: av.Item{"by": av.Str("x"), "why": av.Str(strings.Repeat("y", 257))}},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
			lock := locktest.Acquire(t, a, waitpolicy.NoWait)
			h := served(t, a)
			tableName := table.Name()
			locktest.Must(db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &tableName, Key: locktest.RecordKey(), UpdateExpression: new("SET holders.#id.revoked = :mark"),
				ExpressionAttributeNames: map[string]string{"#id": h.ID}, ExpressionAttributeValues: av.Item{":mark": mark},
			}))
			locktest.Check(t, lock.Extend(t.Context()))
			if _, asked := lock.Revocation(); asked || served(t, a).Problem != nil {
				t.Errorf("asked: %t, %+v", asked, served(t, a))
			}
			locktest.OK(t, a.Operator().Revoke(t.Context(), locktest.Order, h, "", 0))
			locktest.Check(t, lock.Extend(t.Context()))
			askedWithin(t, lock, 0)
			locktest.Release(t, lock)
		})
	}
}

// TestInvalidRevoke checks that nothing is sent with invalid arguments, or to a closed queue.
func TestInvalidRevoke(t *testing.T) {
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, db := locktest.Open(t, table, "a", locktest.TenSeconds)
		lock := locktest.Acquire(t, a, waitpolicy.NoWait, queuelock.HoldAtLeast(time.Hour))
		h := served(t, a)
		before := db.Counts().Total().Sent
		for _, bad := range []struct {
			why      string
			deadline time.Duration
			words    []string
		}{
			{strings.Repeat("x", 257), 0, []string{"257 bytes", "256"}},
			{"a\nb", 0, []string{"printable"}},
			{"", -1, []string{"-1ns", "168h"}},
			{"", 8 * 24 * time.Hour, []string{"192h", "168h"}},
		} {
			locktest.Says(t, a.Operator().Revoke(t.Context(), locktest.Order, h, bad.why, bad.deadline), bad.words...)
		}
		if now := db.Counts().Total().Sent; now != before {
			t.Errorf("%d requests were sent", now-before)
		}
		locktest.Release(t, lock)
		err := a.Operator().Revoke(t.Context(), locktest.Order, served(t, a), "", 0)
		locktest.Says(t, err, "gone")
		if _, refused := errors.AsType[*sweeper.EvictError](err); !refused {
			t.Errorf("a closed queue was asked: %v", err)
		}
	})
}

// TestRevokeBellLost checks that a holder with a bell learns at once that a waiter wants it to give way, and soon
// although an answer is lost: of the request, or of the read that follows the bell.
func TestRevokeBellLost(t *testing.T) {
	cancels := queuelock.Supersede(queuelock.CancelHolder)
	waits := func(t *testing.T, b *queuelock.Client) { locktest.LockBy(t, b, cancels) }
	asks := func(t *testing.T, b *queuelock.Client) {
		err := b.Operator().Revoke(t.Context(), locktest.Order, served(t, b), "", 0)
		locktest.Says(t, err, "may have been asked")
	}
	for name, c := range map[string]struct {
		of    string // whose answers are lost
		fault queuelocktest.Fault
		most  time.Duration
		ask   func(t *testing.T, b *queuelock.Client)
	}{
		"OfNone":        {"b", queuelocktest.DelayRequest(0), 2 * time.Second, waits},
		"OfTheWaiter":   {"b", queuelocktest.LoseResponse().Mentioning("revoked").Times(4), 20 * time.Second, waits},
		"OfTheRead":     {"a", queuelocktest.LoseResponse().Of("GetItem").Times(8), 20 * time.Second, waits},
		"OfTheOperator": {"b", queuelocktest.LoseResponse().Of("UpdateItem"), 20 * time.Second, asks},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			var hub bells.Hub
			a, da := belled(t, table, &hub, "a")
			b, db := belled(t, table, &hub, "b")
			held := locktest.Acquire(t, a, waitpolicy.Forever, cancels)
			held.Revoked()
			map[string]*queuelocktest.Client{"a": da, "b": db}[c.of].Inject(c.fault)
			c.ask(t, b)
			askedWithin(t, held, c.most)
			locktest.Release(t, held)
		})
	}
}

// TestRungBeforeRevoked checks that a holder which is asked to give way before it calls Revoked, or before it hears of its grant, hears of
// it with the first call: its next heartbeat is minutes away.
func TestRungBeforeRevoked(t *testing.T) {
	for name, test := range map[string]struct {
		asked, released bool
		reads           int
	}{
		"OfTheHolder": {asked: true, reads: 1}, "OfOneThatHasReleased": {asked: true, released: true}, "OfNone": {},
	} {
		locktest.InTable(t, name, func(t *testing.T, table *queuelocktest.Table) {
			var hub bells.Hub
			a, _ := belled(t, table, &hub, "a")
			b, _ := belled(t, table, &hub, "b")
			held := locktest.Acquire(t, a, waitpolicy.Forever)
			if test.asked {
				locktest.OK(t, b.Operator().Revoke(t.Context(), locktest.Order, served(t, b), "", 0))
			}
			time.Sleep(10 * time.Second)
			if test.released {
				locktest.Release(t, held)
			}
			locktest.Sends(t, table, test.reads, "the call of Revoked", func() {
				if held.Revoked(); test.reads > 0 {
					askedWithin(t, held, time.Second)
				}
				time.Sleep(time.Minute)
			})
			locktest.Release(t, held)
		})
	}
	locktest.InTable(t, "OfTheGrant", func(t *testing.T, table *queuelocktest.Table) {
		var hub bells.Hub
		a, da := belled(t, table, &hub, "a")
		b, _ := belled(t, table, &hub, "b")
		first := locktest.Acquire(t, b, waitpolicy.Forever)
		waiting := locktest.LockBy(t, a)
		time.Sleep(10 * time.Second)
		da.Inject(queuelocktest.DelayResponse(time.Second).Of("UpdateItem").Times(1)) // to CLAIM
		locktest.Release(t, first)
		time.Sleep(500 * time.Millisecond)
		locktest.OK(t, b.Operator().Revoke(t.Context(), locktest.Order, served(t, b), "", 0))
		held := locktest.Lock(t, locktest.Within(t, "the waiter", time.Minute, waiting))
		askedWithin(t, held, 2*time.Second)
		locktest.Release(t, held)
	})
}
