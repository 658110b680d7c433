//go:build unix

package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/progress"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/queuelocktest"
	"github.com/queuelock/queuelock/waitpolicy"
)

// behind starts an engine with a holder of x, and names a file for the place of who waits behind it.
func behind(t *testing.T) (e *engine, held *queuelock.Lock, file string) {
	t.Helper()
	e = inParallel(t)
	return e, e.occupied(t, "x"), filepath.Join(t.TempDir(), "x.ticket")
}

// TestTicket repeats one command until it has its turn, in the order of the queue, and leaves no file behind.
func TestTicket(t *testing.T) {
	e, held, file := behind(t)
	slice := func() outcome {
		return e.execute(t, "run", "x", "--wait", "1", "--keep", "10m", "--ticket", file, "--", "echo", "turn")
	}
	var o outcome
	until(t, "a look shows its position", func() bool { // the wait may end as one is under way
		o = slice()
		return strings.Contains(o.stderr, "place 1 of")
	})
	o.ends(t, exitKept, "is kept until", "repeat the command")
	first := e.state(t, "x").Waiting[0]
	if first.KeptSince.IsZero() || first.Remaining < 5*time.Minute {
		t.Errorf("%+v", first)
	}
	e.execute(t, "status", "x").shows(t, 0, first.Ticket.Short()+" keeps its place until", "no process waits in it")
	e.execute(t, "status", "x", "-o", "json").shows(t, 0, `"kept_since":"2`)
	e.execute(t, "ls").shows(t, 0, "(1 kept)")
	slice().ends(t, exitKept)
	if again := e.state(t, "x").Waiting; len(again) != 1 || again[0].Ticket != first.Ticket {
		t.Errorf("%+v", again)
	}
	e.execute(t, "run", "x", "--wait", "1", "--", "true").ends(t, exitNotAcquired, "was waiter 2")
	locktest.OK(t, held.Release(t.Context()))
	slice().prints(t, 0, "turn\n")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file of a place that has ended is there: %v", err)
	}
	e.mustBeIdle(t, "x")
}

// TestTicketIsGone begins again at the end of the queue if the place was passed, and says so to a caller that has the handle itself.
func TestTicketIsGone(t *testing.T) {
	e, held, file := behind(t)
	run := []string{"run", "x", "--wait", "1", "--keep", "15s", "--ticket", file, "--", "echo", "turn"}
	e.execute(t, run...).ends(t, exitKept)
	text := string(locktest.Must(os.ReadFile(file)))
	locktest.OK(t, e.client(t).Leave(t.Context(), first(parseHandle(text)).Handle))
	locktest.OK(t, held.Release(t.Context()))
	locktest.OK(t, e.occupied(t, "x").Release(t.Context())) // passes it
	e.execute(t, "lock", "x", "--wait", "1", "--resume", strings.TrimSpace(text)).ends(t, exitNotAcquired, "the place of --resume has ended")
	e.execute(t, run...).prints(t, 0, "turn\n")
}

func first(h savedHandle, _ error) savedHandle { return h }

// TestWaitOfAPassedPlace waits for --wait in all, in the place of the file and in the one after it, if another was granted the
// lock while the process could not renew its place.
func TestWaitOfAPassedPlace(t *testing.T) {
	const wait, cut = time.Minute, 25 * time.Second
	locktest.WithTable(t, func(t *testing.T, table *queuelocktest.Table) {
		holder, _ := locktest.Open(t, table, "holder", queuelock.Config{})
		waiter, network := locktest.Open(t, table, "waiter", locktest.TenSeconds)
		held := locktest.Acquire(t, holder, waitpolicy.NoWait)
		_, err := waiter.Acquire(t.Context(), locktest.Order, waitpolicy.For(time.Second), queuelock.KeepPlace(minKeep))
		e, ok := errors.AsType[*queuelock.NotAcquiredError](err)
		if !ok || e.Handle == nil {
			t.Fatal(err)
		}
		f := &lockFlags{keys: []queuelock.Key{locktest.Order}, policyFlags: policyFlags{maxWaiters: -1}, placeFlags: placeFlags{ticket: filepath.Join(t.TempDir(), "x.ticket"), keep: minKeep, place: e.Handle}}
		begun := time.Now()
		waits := locktest.Background(func() (*queuelock.Lock, error) {
			return f.takePlace(t.Context(), waiter, waitpolicy.For(wait), nil)
		})
		time.Sleep(time.Second)
		off := network.Inject(queuelocktest.LoseRequest())
		next := locktest.QueueUp(t.Context(), holder, waitpolicy.Forever)
		time.Sleep(cut)
		locktest.Release(t, held)
		locktest.Lock(t, <-next)
		off.Remove()
		got := <-waits
		locktest.Is(t, got.Err, queuelock.ErrNotAcquired)
		if took := time.Since(begun); took < wait || took > wait+5*time.Second {
			t.Errorf("it waited for %v, want %v", took, wait)
		}
		if text := locktest.Must(os.ReadFile(f.ticket)); first(parseHandle(string(text))).Ticket == e.Handle.Ticket {
			t.Error("the place of the file was not passed")
		}
	})
}

// TestTicketInUse refuses a second process with the file of one that waits, or is in its turn: they would take the place, and
// the lock with its ticket, from each other.
func TestTicketInUse(t *testing.T) {
	e, held, file := behind(t)
	slice := func(command ...string) []string {
		return append([]string{"run", "x", "--wait", "60", "--keep", "10m", "--ticket", file, "--"}, command...)
	}
	refused := func() {
		t.Helper()
		e.execute(t, slice("echo", "second")...).ends(t, exitNotAcquired, "another process waits with this file, or is in its turn")
	}
	run := e.program(t, slice("cat")...)
	read, write := pipe(t)
	run.Stdin = read
	locktest.OK(t, run.Start())
	until(t, "it waits", func() bool { return len(e.state(t, "x").Waiting) == 1 })
	ticket := e.state(t, "x").Waiting[0].Ticket
	refused()
	e.execute(t, "unlock", "--ticket", file).ends(t, exitNotAcquired, "another process")
	locktest.OK(t, held.Release(t.Context()))
	until(t, "its turn begins", func() bool { s := e.state(t, "x").Serving; return len(s) == 1 && s[0].Ticket == ticket })
	refused()
	write.Close()
	locktest.OK(t, run.Wait())
	e.execute(t, slice("echo", "third")...).prints(t, 0, "third\n")
	if left := locktest.Must(filepath.Glob(file + "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestReserve lets one at a time have a file, although each removes what it has locked.
func TestReserve(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.ticket")
	var inside, times atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 3000 {
				free, err := reserve(path)
				if err != nil {
					continue
				}
				if times.Add(1); inside.Add(1) > 1 {
					t.Error("two have the file")
				}
				runtime.Gosched()
				inside.Add(-1)
				free()
			}
		})
	}
	all.Wait()
	if times.Load() == 0 {
		t.Error("no one had the file")
	}
}

// TestUnlockWithoutLook releases a lock although the look fails that says whether its lease was over.
func TestUnlockWithoutLook(t *testing.T) {
	e := inParallel(t)
	handle := strings.TrimSpace(e.execute(t, "lock", "x", "--no-keeper", "--ttl", "10m").stdout)
	var once atomic.Bool
	refuse := func(w http.ResponseWriter, r *http.Request) bool {
		first := strings.HasSuffix(r.Header.Get("X-Amz-Target"), "Query") && once.CompareAndSwap(true, false)
		if first {
			refuses(w, "AccessDeniedException")
		}
		return first
	}
	e.instead.Store(&refuse)
	once.Store(true)
	e.execute(t, "renew", handle).ends(t, exitUnavailable, "denies")
	once.Store(true)
	e.execute(t, "unlock", handle).prints(t, 0, "")
	e.instead.Store(nil)
	e.mustBeIdle(t, "x")
}

// TestScopeOfHandle renews, checks and ends what was taken with any --scope: the handle names it.
func TestScopeOfHandle(t *testing.T) {
	t.Parallel()
	for scope := range scopes {
		e := newServer(t)
		o := e.execute(t, "lock", "x", "--no-keeper", "--ttl", "10m", "--scope", scope)
		handle := strings.TrimSpace(o.stdout)
		e.execute(t, "check", handle).prints(t, 0, "")
		handle = strings.TrimSpace(e.execute(t, "renew", handle).stdout)
		file := filepath.Join(t.TempDir(), "x.ticket")
		e.execute(t, "run", "x", "--scope", scope, "--wait", "1", "--keep", "1h", "--ticket", file, "--", "true").ends(t, exitKept)
		if scope != "queue" {
			e.execute(t, "run", "x", "--wait", "1", "--keep", "1h", "--ticket", file, "--", "true").ends(t, exitUsage, "other values of", "--scope")
		}
		e.execute(t, "unlock", "--ticket", file).prints(t, 0, "")
		e.execute(t, "unlock", handle).prints(t, 0, "")
		e.mustBeIdle(t, "x")
	}
}

// TestUnprintedPlace leaves a place of which no one hears the handle.
func TestUnprintedPlace(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--no-keeper", "--ttl", "10m"}} {
		e := newServer(t)
		e.keepers(t)
		e.occupied(t, "x")
		cmd := e.program(t, append([]string{"lock", "x", "--wait", "1", "--keep", "24h"}, flags...)...)
		read, write := pipe(t)
		read.Close()
		cmd.Stdout = write
		locktest.OK(t, cmd.Start())
		if code := codeAfter(t, cmd); code == exitKept || code == 0 { // the pipe may have ended it
			t.Errorf("%q: exit code %d", flags, code)
		}
		until(t, "the place is left", func() bool { return len(e.state(t, "x").Waiting) == 0 })
	}
}

// TestUnlockPlace leaves a place, by its handle or its file, so that the others do not wait for it.
func TestUnlockPlace(t *testing.T) {
	e, held, file := behind(t)
	e.execute(t, "run", "x", "--wait", "1", "--keep", "1h", "--ticket", file, "--", "true").ends(t, exitKept)
	handle := strings.TrimSpace(string(locktest.Must(os.ReadFile(file))))
	e.execute(t, "unlock", handle).prints(t, 0, "")
	e.execute(t, "unlock", handle).prints(t, 0, "")
	e.execute(t, "unlock", "--ticket", file).prints(t, 0, "")
	e.execute(t, "unlock", "--ticket", file).ends(t, exitFailed, "no such file")
	e.mustHave(t, "x", 1, 0)
	locktest.OK(t, held.Release(t.Context()))
}

// TestKeptForPrograms reports a place that is kept as JSON.
func TestKeptForPrograms(t *testing.T) {
	e, _, file := behind(t)
	o := e.execute(t, "run", "x", "--wait", "1", "--keep", "1h", "--ticket", file, "--progress", "json", "--", "true")
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	o.stderr, o.stdout = "", lines[len(lines)-1]
	o.code -= exitKept
	end := object[progress.Outcome](t, o)
	if end.Event != "kept" || end.Place == nil || end.Place.Position > 1 || end.Place.Until == nil || !strings.HasPrefix(end.Place.Handle, handlePrefix) {
		t.Errorf("%+v", end)
	}
}

// TestWrongPlace refuses what cannot be meant, in one line, and leaves files as they are.
func TestWrongPlace(t *testing.T) {
	e, _, file := behind(t)
	keep := func(more ...string) []string {
		return append(append([]string{"run", "x", "--wait", "1", "--keep", "1h"}, more...), "--", "true")
	}
	e.execute(t, keep("--ticket", file)...).ends(t, exitKept)
	handle := strings.TrimSpace(string(locktest.Must(os.ReadFile(file))))
	other := filepath.Join(t.TempDir(), "other")
	locktest.OK(t, os.WriteFile(other, []byte("notes\n"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	locktest.OK(t, os.WriteFile(empty, nil, 0o600))
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "x", "--keep", "5m", "--ticket", file, "--", "true"}, "add --wait"},
		{keep(), "add --ticket"},
		{[]string{"run", "x", "--wait", "1", "--ticket", file, "--", "true"}, "add --keep"},
		{[]string{"run", "x", "--wait", "0", "--keep", "5m", "--ticket", file, "--", "true"}, "has no place"},
		{[]string{"run", "x", "--wait", "1", "--keep", "1s", "--ticket", file, "--", "true"}, "--keep"},
		{keep("--ticket", file, "--shared"), "other values of --shared"},
		{keep("--ticket", file, "--table", "another"), "it is of the table"},
		{keep("--ticket", file, "--reason", "another"), "and not of"},
		{keep("--ticket", file, "--fail-closed"), "excludes"},
		{keep("--ticket", other), "no handle of queuelock"},
		{[]string{"lock", "x", "--wait", "1", "--resume", handle[:len(handle)/2]}, "damaged or cut"},
		{[]string{"lock", "x", "--wait", "1", "--resume", ""}, "give the handle that --keep has printed"},
		{[]string{"unlock", "--ticket", file, handle}, "use one of them"},
		{[]string{"unlock", handle, "--table", "another"}, "the handle is of the table"},
	} {
		e.execute(t, test.args...).ends(t, exitUsage, test.says)
	}
	if text := string(locktest.Must(os.ReadFile(other))); text != "notes\n" {
		t.Errorf("the file of another program has %q", text)
	}
	if again := strings.TrimSpace(string(locktest.Must(os.ReadFile(file)))); again != handle {
		t.Errorf("the handle has changed: %q", again)
	}
	e.execute(t, keep("--ticket", empty)...).ends(t, exitKept)
	e.execute(t, keep("--ticket", filepath.Join(t.TempDir(), "missing", "x"))...).ends(t, exitUsage, "no such file")
	e.mustHave(t, "x", 1, 2) // and no place that no caller knows
}

// TestLockPlace prints the handle of the place, and a later call prints that of the lock.
func TestLockPlace(t *testing.T) {
	e := inParallel(t)
	e.keepers(t)
	held := e.occupied(t, "x")
	o := e.execute(t, "lock", "x", "--wait", "1", "--keep", "10m")
	place := strings.TrimSpace(o.stdout)
	o.stdout = ""
	o.ends(t, exitKept, "--resume")
	if s := e.state(t, "x"); len(s.Waiting) != 1 || s.Waiting[0].KeptSince.IsZero() { // its keeper has ended
		t.Errorf("the place is not kept: %+v", s.Waiting)
	}
	o = e.execute(t, "lock", "x", "--wait", "1", "--keep", "10m", "--resume", place, "--env")
	again, named := strings.CutPrefix(strings.TrimSpace(o.stdout), "QUEUELOCK_PLACE=")
	o.stdout = ""
	o.ends(t, exitKept)
	if !named {
		t.Errorf("--env prints no variable: %q", again)
	}
	ticket := first(parseHandle(place)).Ticket
	if h := first(parseHandle(again)); h.Ticket != ticket || again == place {
		t.Errorf("%+v", h)
	}
	locktest.OK(t, held.Release(t.Context()))
	handle := e.locked(t, "--wait", "1", "--resume", again)
	if s := e.state(t, "x"); len(s.Serving) != 1 || s.Serving[0].Ticket != ticket {
		t.Errorf("%+v", s.Serving)
	}
	e.execute(t, "unlock", handle).prints(t, 0, "")
	e.mustBeIdle(t, "x")
}

// TestSignalKeepsPlace keeps the place of a wait that a signal ends if the next call can find it, and else leaves it.
func TestSignalKeepsPlace(t *testing.T) {
	t.Parallel()
	for _, kept := range []int{1, 0} { // with and without a file
		e := newServer(t)
		held := e.occupied(t, "x")
		args := []string{"lock", "x", "--wait", "60", "--keep", "10m"}
		if kept > 0 {
			args = append(args, "--ticket", filepath.Join(t.TempDir(), "x.ticket"))
		}
		e.keepers(t)
		waits := e.program(t, args...)
		locktest.OK(t, waits.Start())
		until(t, "it waits", func() bool { return len(e.state(t, "x").Waiting) == 1 })
		locktest.OK(t, waits.Process.Signal(syscall.SIGTERM))
		exits(t, waits, 128+int(syscall.SIGTERM))
		until(t, "it has left", func() bool {
			s := e.state(t, "x").Waiting
			return len(s) == kept && (kept == 0 || !s[0].KeptSince.IsZero())
		})
		locktest.OK(t, held.Release(t.Context()))
	}
}

// TestNoKeeper holds a lock over several commands without a process, which any host may continue.
func TestNoKeeper(t *testing.T) {
	e := inParallel(t)
	take := func(args ...string) string {
		o := e.execute(t, args...)
		if o.code != 0 || o.stderr != "" {
			t.Fatalf("%v: %+v", args, o)
		}
		return strings.TrimSpace(o.stdout)
	}
	handle := take("lock", "x", "--no-keeper", "--ttl", "10m")
	if s := e.state(t, "x"); len(s.Serving) != 1 || s.Serving[0].Remaining < 9*time.Minute {
		t.Fatalf("%+v", s.Serving)
	}
	e.execute(t, "check", handle).prints(t, 0, "")
	e.execute(t, "run", "x", "-n", "--", "true").ends(t, exitNotAcquired)
	again := take("renew", handle, "--ttl", "1h")
	if s := e.state(t, "x"); len(s.Serving) != 1 || s.Serving[0].Remaining < 50*time.Minute {
		t.Errorf("%+v", s.Serving)
	}
	for _, old := range [][]string{{"check", handle}, {"renew", handle}, {"unlock", handle}} {
		e.execute(t, old...).ends(t, exitLost, "the lock of", "was lost, or was released before")
	}
	e.execute(t, "check", again).prints(t, 0, "")
	e.execute(t, "unlock", again).prints(t, 0, "")
	e.execute(t, "unlock", again).ends(t, exitLost, "was released before")
	e.mustBeIdle(t, "x")
	over := take("lock", "x", "--no-keeper", "--ttl", "1s")
	until(t, "its lease ends", func() bool { s := e.state(t, "x").Serving; return len(s) == 1 && s[0].Expired() })
	for _, name := range []string{"check", "renew", "unlock"} {
		e.execute(t, name, over).ends(t, exitLost, "its lease is over")
	}
	e.mustBeIdle(t, "x")
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"lock", "x", "--no-keeper"}, "add --ttl"},
		{[]string{"lock", "x", "--no-keeper", "--ttl", "1m", "--max-hold", "1h"}, "excludes --max-hold"},
		{[]string{"renew", "/tmp/queuelock.sock"}, "a keeper renews its lock itself"},
	} {
		e.execute(t, test.args...).ends(t, exitUsage, test.says)
	}
}
