package keeper

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

func TestMain(m *testing.M) {
	watchInterval = 100 * time.Millisecond
	goleak.VerifyTestMain(m)
}

const limit = 10 * time.Second

// lock is a lock that fails as a test wants.
type lock struct {
	done    chan struct{}
	lost    error
	release error
}

func (l *lock) Done() <-chan struct{}         { return l.done }
func (l *lock) Err() error                    { return l.lost }
func (l *lock) Release(context.Context) error { return l.release }

// shortDir is a directory for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir := locktest.Must(os.MkdirTemp("/tmp", "ql"))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serve starts a keeper of the lock.
func serve(t *testing.T, l *lock) (*Keeper, <-chan Outcome) {
	t.Helper()
	t.Setenv("TMPDIR", shortDir(t))
	k := locktest.Must(Listen())
	outcomes := make(chan Outcome, 1)
	go func() { outcomes <- k.Serve(t.Context(), l, limit) }()
	return k, outcomes
}

// is checks what a Check or an Unlock of the keeper's handle returns.
func is(t *testing.T, ask func(context.Context, string) (Outcome, error), k *Keeper, want Outcome) {
	t.Helper()
	if o, err := ask(t.Context(), k.Handle()); err != nil || o != want {
		t.Fatalf("%v, %v; want %v", o, err, want)
	}
}

func TestUnlock(t *testing.T) {
	failure := errors.New("no answer")
	for name, test := range map[string]struct {
		lock *lock
		want Outcome
	}{
		"Released": {&lock{}, Outcome{Result: Released}},
		"Lost":     {&lock{lost: failure, release: failure}, Outcome{Lost, "no answer"}},
		"Failed":   {&lock{release: failure}, Outcome{Failed, "no answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			k, outcomes := serve(t, test.lock)
			is(t, Unlock, k, test.want)
			if o := <-outcomes; o != test.want {
				t.Errorf("the keeper: %v", o)
			}
			o, err := Unlock(t.Context(), k.Handle())
			if silent, ok := errors.AsType[*SilentError](err); !ok || silent.Pid != os.Getpid() {
				t.Errorf("again, in the process that kept it: %v, %v", o, err)
			}
		})
	}
}

// TestCheck checks that a Check reports what became of a lock, and leaves that for the Unlock.
func TestCheck(t *testing.T) {
	lost := Outcome{Lost, "no answer"}
	t.Run("ReportsKept", func(t *testing.T) {
		k, outcomes := serve(t, &lock{})
		is(t, Check, k, Outcome{Result: Kept})
		is(t, Check, k, Outcome{Result: Kept})
		is(t, Unlock, k, Outcome{Result: Released})
		<-outcomes
	})
	t.Run("ReportsLossBeforeRelease", func(t *testing.T) {
		k, outcomes := serve(t, &lock{lost: errors.New("no answer")}) // whose Done is late
		is(t, Check, k, lost)
		locktest.Must(Unlock(t.Context(), k.Handle()))
		<-outcomes
	})
	t.Run("ReportsWhatKeeperLeft", func(t *testing.T) {
		ended := make(chan struct{})
		close(ended)
		k, outcomes := serve(t, &lock{done: ended, lost: errors.New("no answer")})
		<-outcomes
		is(t, Check, k, lost)
		is(t, Check, k, lost)
		is(t, Unlock, k, lost)
	})
	t.Run("ReportsCrash", func(t *testing.T) {
		t.Setenv("TMPDIR", shortDir(t))
		k := locktest.Must(Listen())
		locktest.OK(t, k.listener.Close())
		killed := Outcome{Lost, "its keeper was killed; the lease ends it, or an operator if it has none"}
		is(t, Check, k, killed)
		is(t, Check, k, killed)
	})
}

// TestNoLock checks that an Unlock waits for no socket of a process that has ended.
func TestNoLock(t *testing.T) {
	usual := watchInterval
	watchInterval = time.Minute
	defer func() { watchInterval = usual }()
	ended := exec.Command(os.Args[0], "-test.run=^$")
	locktest.OK(t, ended.Run())
	begun, dir := time.Now(), filepath.Join(shortDir(t), "queuelock-1")
	for name, handle := range map[string]string{
		"Unlocked":  filepath.Join(dir, "a-"+strconv.Itoa(ended.Process.Pid)),
		"NoProcess": filepath.Join(dir, "a"), "Nonsense": "nonsense", "Elsewhere": "/etc/a-1", "Negative": filepath.Join(dir, "a--1"),
	} {
		t.Run(name, func(t *testing.T) {
			if o, err := Unlock(t.Context(), handle); !errors.Is(err, ErrNoLock) {
				t.Errorf("%v, %v", o, err)
			}
		})
	}
	if took := time.Since(begun); took > watchInterval/60 {
		t.Errorf("it took %v", took)
	}
}

// TestRunning checks that a process whose exit code was not asked for has ended.
func TestRunning(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not say")
	}
	cmd := exec.Command("sleep", "1000")
	locktest.OK(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	if !Running(cmd.Process.Pid) {
		t.Error("a running process has ended")
	}
	locktest.OK(t, cmd.Process.Kill())
	for begun := time.Now(); Running(cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Since(begun) > limit {
			t.Fatal("a killed process still runs")
		}
	}
}

// TestStrangers checks that a client that does not ask to unlock ends nothing, and delays no other.
func TestStrangers(t *testing.T) {
	k, outcomes := serve(t, &lock{})
	for _, text := range []string{"", "lock\n", "a long line that is no request\n"} {
		conn := locktest.Must(net.Dial("unix", k.Handle()))
		defer conn.Close()
		locktest.Must(io.WriteString(conn, text))
	}
	is(t, Unlock, k, Outcome{Result: Released})
	<-outcomes
}

// TestSweep checks that what crashed keepers have left is removed after a week, and a live keeper is not.
func TestSweep(t *testing.T) {
	k, outcomes := serve(t, &lock{})
	dir := filepath.Dir(k.Handle())
	dead := locktest.Must(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "dead"), Net: "unix"}))
	dead.SetUnlinkOnClose(false)
	dead.Close()
	for _, name := range []string{"reason", "recent-1"} {
		locktest.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(`{"result":"lost"}`), 0o600))
	}
	old := time.Now().Add(-keep - time.Hour)
	for _, name := range []string{"reason", "dead", filepath.Base(k.Handle())} {
		locktest.OK(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	sweep(dir)
	for name, want := range map[string]bool{"reason": false, "dead": false, "recent-1": true, filepath.Base(k.Handle()): true} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	if o, err := Unlock(t.Context(), filepath.Join(dir, "recent-1")); err != nil || o.Result != Lost {
		t.Errorf("a reason: %v, %v", o, err)
	}
	is(t, Unlock, k, Outcome{Result: Released})
	<-outcomes
}

// removeDirectory removes the directory of a socket. It goes in one step: a keeper could put
// its socket back into a directory that is being emptied.
func removeDirectory(path string) error {
	gone := filepath.Dir(path) + ".gone"
	return errors.Join(os.Rename(filepath.Dir(path), gone), os.RemoveAll(gone))
}

// TestCleaner checks that a lock can be unlocked after a cleaner of temporary files has
// removed the socket, or its directory, of a keeper that runs.
func TestCleaner(t *testing.T) {
	for name, clean := range map[string]func(path string) error{
		"UnlocksAfterRemovalOfSocket":    os.Remove,
		"UnlocksAfterRemovalOfDirectory": removeDirectory,
	} {
		t.Run(name, func(t *testing.T) {
			k, outcomes := serve(t, &lock{})
			locktest.OK(t, clean(k.Handle()))
			is(t, Unlock, k, Outcome{Result: Released})
			if o := <-outcomes; o.Result != Released {
				t.Errorf("the keeper: %v", o)
			}
		})
	}
	t.Run("SocketStaysYoung", func(t *testing.T) {
		t.Setenv("TMPDIR", shortDir(t))
		k := locktest.Must(Listen())
		defer k.Discard()
		old := time.Now().Add(-240 * time.Hour)
		locktest.OK(t, os.Chtimes(k.Handle(), old, old))
		k.touched = old
		if k.restore() {
			t.Error("a socket that was there was made again")
		}
		if info, err := os.Lstat(k.Handle()); err != nil || time.Since(info.ModTime()) > touchInterval {
			t.Errorf("%v, %v", info, err)
		}
	})
}
