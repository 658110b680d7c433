package modes_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/testbed/av"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// superseded checks the error of a waiter that a later one has replaced.
func superseded(t *testing.T, what string, done <-chan locktest.Outcome) *queuelock.NotAcquiredError {
	t.Helper()
	got := locktest.Within(t, what, 30*time.Second, done)
	e, ok := errors.AsType[*queuelock.NotAcquiredError](got.Err)
	if !ok || !errors.Is(got.Err, queuelock.ErrSuperseded) || !errors.Is(got.Err, queuelock.ErrNotAcquired) || errors.Is(got.Err, queuelock.ErrQueueFull) {
		t.Fatalf("%s: %v, want ErrSuperseded and ErrNotAcquired", what, got.Err)
	}
	locktest.Says(t, got.Err, "superseded by ticket "+e.SupersededBy.String())
	return e
}

// TestSupersede checks that the latest waiter of a group stays.
func TestSupersede(t *testing.T) {
	latest := queuelock.Supersede()
	locktest.InTable(t, "OfOtherClients", func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		d, _ := locktest.Open(t, table, "d", queuelock.Config{})
		held := locktest.Acquire(t, a, waitpolicy.Forever, latest)
		first := locktest.Waiting(t, b, latest)
		second := locktest.LockBy(t, c, latest)
		superseded(t, "the first", first)
		third := locktest.LockBy(t, d, latest)
		e := superseded(t, "the second", second)
		if state := locktest.Must(a.Viewer().Inspect(t.Context(), locktest.Order)); len(state.Waiting) != 1 || state.Waiting[0].Ticket != e.SupersededBy || state.Waiting[0].Group != "all" {
			t.Errorf("%+v waits, want the third in its group", state.Waiting)
		}
		locktest.Release(t, held)
		time.Sleep(10 * time.Second)
		locktest.Release(t, locktest.Granted(t, "the third", third))
		if rows, holders := locktest.RowsAndHolders(t, a); rows+holders != 0 {
			t.Errorf("%d rows and %d holders are left", rows, holders)
		}
	})
	locktest.InTable(t, "BehindAnotherOfItsClient", func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		locktest.Acquire(t, a, waitpolicy.Forever)
		plain := locktest.LockBy(t, b) // the first of its client, which looks for all others
		time.Sleep(time.Second)
		waiting := locktest.Waiting(t, b, latest)
		locktest.LockBy(t, c, latest)
		superseded(t, "the one that is not first", waiting)
		locktest.StillWaits(t, "the first", plain)
	})
	locktest.InTable(t, "NotByTheCrashed", func(t *testing.T, table *queuelocktest.Table) {
		a, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		locktest.Acquire(t, a, waitpolicy.Forever)
		waiting, db := locktest.Open(t, table, "waiting", locktest.TenSeconds)
		first := locktest.Waiting(t, waiting, latest)
		db.Partition() // it does not see the later one before its lease ends
		dead, deadDB := locktest.Open(t, table, "dead", locktest.TenSeconds)
		later := locktest.LockBy(t, dead, latest)
		time.Sleep(500 * time.Millisecond)
		deadDB.Partition()
		time.Sleep(3 * locktest.TenSeconds.WaiterTTL)
		db.Heal() // and its first look shows the row whose lease has ended
		time.Sleep(10 * time.Second)
		locktest.StillWaits(t, "the first", first)
		locktest.StillWaits(t, "the partitioned", later)
	})
}

// TestSupersedeAfterPause checks a waiter that was paused while later ones came and went. A new ticket would make it the latest.
func TestSupersedeAfterPause(t *testing.T) {
	latest := queuelock.Supersede()
	for _, c := range []struct {
		name  string
		opts  []queuelock.AcquireOption // of the one that overtakes
		holds bool                      // it still does, when the waiter goes on
		want  bool                      // superseded
	}{
		{"OvertakenByItsGroup", []queuelock.AcquireOption{latest}, true, true},
		{"WhoseTurnIsOver", []queuelock.AcquireOption{latest}, false, true},
		{"OvertakenByAnother", nil, true, false},
		{"OvertakenByAnotherGroup", []queuelock.AcquireOption{queuelock.Supersede(queuelock.Group("other"))}, true, false},
	} {
		locktest.InTable(t, c.name, func(t *testing.T, table *queuelocktest.Table) {
			a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
			held := locktest.Acquire(t, a, waitpolicy.Forever)
			paused, db := locktest.Open(t, table, "paused", locktest.TenSeconds)
			waiting := locktest.Waiting(t, paused, latest)
			db.Partition()
			time.Sleep(2 * locktest.TenSeconds.WaiterTTL)
			next := locktest.Waiting(t, b, c.opts...)
			locktest.Release(t, held)
			overtaker := locktest.Within(t, "the overtaker", time.Minute, next).Lock
			if !c.holds {
				locktest.Release(t, overtaker)
			}
			db.Heal()
			if c.want {
				if e := superseded(t, "the paused", waiting); e.SupersededBy != overtaker.Ticket() {
					t.Errorf("by ticket %v, want %v", e.SupersededBy, overtaker.Ticket())
				}
				return
			}
			time.Sleep(10 * time.Second)
			locktest.StillWaits(t, "the paused", waiting)
			locktest.Release(t, overtaker)
			locktest.Release(t, locktest.Within(t, "the paused", time.Minute, waiting).Lock)
		})
	}
}

// TestSupersedeAndResume checks that a resumed place is in the group again.
func TestSupersedeAndResume(t *testing.T) {
	latest := queuelock.Supersede()
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		a, b, c := locktest.Three(t, table, queuelock.Config{}, "a", "b", "c")
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		old, db := locktest.Open(t, table, "old", queuelock.Config{})
		place := make(chan queuelock.Handle, 1)
		locktest.LockBy(t, old, latest, queuelock.OnHandle(func(h queuelock.Handle) { place <- h }))
		handle := <-place
		time.Sleep(time.Second)
		db.Partition()
		resumed := locktest.Background(func() (*queuelock.Lock, error) {
			return b.Resume(t.Context(), handle, waitpolicy.Forever, latest)
		})
		time.Sleep(10 * time.Second)
		locktest.StillWaits(t, "the resumed", resumed)
		later := locktest.LockBy(t, c, latest)
		superseded(t, "the resumed", resumed)
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the later", time.Minute, later).Lock)
	})
}

// TestForeignGroup checks rows and an entry whose group another program wrote: they supersede none, and harm no other.
func TestForeignGroup(t *testing.T) {
	latest := queuelock.Supersede()
	locktest.InTable(t, "Row", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
		held := locktest.Acquire(t, a, waitpolicy.Forever)
		waiting := locktest.Waiting(t, b, latest)
		for _, foreign := range []av.Item{
			{"group": av.Num(7)}, {"group": av.Object(av.Item{"all": av.Str("all")})}, {"group": av.Str("")}, {"group": av.Str("all"), "owner": av.Num(7)},
		} {
			locktest.Write(t, table, av.With(locktest.LeftRow(1000), foreign))
			time.Sleep(10 * time.Second)
			locktest.StillWaits(t, "the waiter", waiting)
		}
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the waiter", time.Minute, waiting).Lock)
	})
	locktest.InTable(t, "Entry", func(t *testing.T, table *queuelocktest.Table) {
		a, b := locktest.Two(t, table, locktest.TenSeconds, "a", "b")
		held := locktest.Acquire(t, a, waitpolicy.Forever, latest)
		waiting := locktest.Waiting(t, b, latest)
		record, holders := locktest.Record(t, table)
		for id, entry := range holders {
			entry := av.With(entry.(*types.AttributeValueMemberM).Value, av.Item{"group": av.Num(7)})
			locktest.Write(t, table, av.With(record, av.Item{"holders": av.Object(av.Item{id: av.Object(entry)})}))
		}
		time.Sleep(20 * time.Second)
		locktest.StillWaits(t, "the waiter", waiting)
		state := locktest.Must(b.Viewer().Inspect(t.Context(), locktest.Order))
		if _, malformed := errors.AsType[*queue.MalformedError](state.Serving[0].Problem); !malformed {
			t.Errorf("the problem is %v", state.Serving[0].Problem)
		}
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the waiter", time.Minute, waiting).Lock)
	})
}

// TestSupersedeShownByAny checks a paused waiter that later tickets have overtaken. One of its group is superseded, whatever
// holders the record shows beside that.
func TestSupersedeShownByAny(t *testing.T) {
	latest, cancels := queuelock.Supersede(), queuelock.Supersede(queuelock.CancelHolder)
	// pause lets a waiter be paused until the holder has released the lock and others have overtaken it.
	pause := func(t *testing.T, table *queuelocktest.Table, opts ...queuelock.AcquireOption) (held *queuelock.Lock, waiting <-chan locktest.Outcome, goOn func()) {
		a, _ := locktest.Open(t, table, "a", locktest.TenSeconds)
		held = locktest.Acquire(t, a, waitpolicy.Forever, opts...)
		paused, db := locktest.Open(t, table, "paused", locktest.TenSeconds)
		waiting = locktest.Waiting(t, paused, append(opts, cancels)...)
		db.Partition()
		time.Sleep(2 * locktest.TenSeconds.WaiterTTL)
		return held, waiting, db.Heal
	}
	locktest.InTable(t, "BesideAnotherGroup", func(t *testing.T, table *queuelocktest.Table) {
		b, c := locktest.Two(t, table, locktest.TenSeconds, "b", "c")
		permits := queuelock.Permits(2)
		other := locktest.Acquire(t, b, waitpolicy.Forever, permits)
		held, waiting, goOn := pause(t, table, permits)
		newer := locktest.Waiting(t, b, permits, latest)
		plain := locktest.Waiting(t, c, permits)
		locktest.Release(t, held)
		deploy := locktest.Within(t, "the newer", time.Minute, newer).Lock
		locktest.Release(t, other)
		locktest.Within(t, "the plain", time.Minute, plain)
		goOn()
		superseded(t, "the paused", waiting)
		time.Sleep(time.Minute)
		if _, asked := deploy.Revocation(); asked {
			t.Error("an older waiter has asked a newer holder to give way")
		}
	})
	locktest.InTable(t, "ClosedQueue", func(t *testing.T, table *queuelocktest.Table) {
		b, _ := locktest.Open(t, table, "b", locktest.TenSeconds)
		held, waiting, goOn := pause(t, table)
		newer := locktest.Waiting(t, b, latest, queuelock.HoldAtLeast(5*time.Minute))
		locktest.Release(t, held)
		locktest.Release(t, locktest.Within(t, "the newer", time.Minute, newer).Lock)
		goOn()
		superseded(t, "the paused", waiting)
	})
	locktest.InTable(t, "NotConfirmed", func(t *testing.T, table *queuelocktest.Table) {
		paused, db, b := locktest.Pair(t, table, locktest.TenSeconds, "paused", "b")
		locktest.Release(t, locktest.Acquire(t, b, waitpolicy.Forever))
		confirm := db.Inject(queuelocktest.HoldRequest().LandingAnyway().Mentioning(locktest.Confirmation))
		waiting := locktest.LockBy(t, paused, queuelock.FailClosed(), latest)
		<-confirm.Reached()
		newer := locktest.Acquire(t, b, waitpolicy.Forever, latest)
		confirm.Release()
		confirm.Remove()
		superseded(t, "the one that was too late", waiting)
		locktest.Release(t, newer)
	})
}
