// Package keeper keeps a lock between the commands of a script. A process that holds the
// lock listens at a socket, whose path is the handle that a script passes to unlock.
//
// # What it promises
//
//   - The path is random, in a directory that its user alone may enter: only that user, on
//     that host, can unlock.
//   - An Unlock returns Released only if the lock was held until then.
//   - A Check returns Kept only if the lock was held when the keeper answered, and changes nothing.
//   - A keeper that has ended otherwise leaves the reason in place of the socket, for the
//     Unlock that comes later.
//   - A running keeper makes its socket again if a cleaner of temporary files has removed it.
//     An Unlock waits for that while the process of the handle runs, and then returns a
//     *SilentError. It returns ErrNoLock once there is no such process.
//
// # What it does not promise
//
// A script does not notice that its lock is lost before it calls Check or Unlock. A keeper that was
// killed leaves the socket: Unlock returns Lost then, and the lease ends the lock.
package keeper

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// nameLength is how many letters of a random text of 26 make the name: 100 bits.
	nameLength = 20

	// maxPath is the longest path of a socket on any system, on macOS.
	maxPath = 103

	// messageLimit bounds how long a keeper waits for the request of a client that has
	// connected.
	messageLimit = 10 * time.Second

	// keep is how long the reason of an ended keeper waits for an Unlock. Later keepers
	// remove older ones.
	keep = 7 * 24 * time.Hour

	// touchInterval is how often a keeper marks its socket as used, for cleaners by age.
	touchInterval = time.Hour
)

// watchInterval is how often a keeper looks whether its socket is there. An Unlock without
// a socket waits for two looks and a half. Tests shorten it.
var watchInterval = time.Second

// Result says what became of a lock.
type Result string

// The results.
const (
	Kept     Result = "kept" // of a Check
	Released Result = "released"
	Lost     Result = "lost"   // it ended before Unlock
	Failed   Result = "failed" // the release failed: the lease ends it
)

// Outcome is what has become of a lock.
type Outcome struct {
	Result  Result `json:"result"`
	Message string `json:"message,omitempty"`
}

// Held is a lock to keep.
type Held interface {
	Done() <-chan struct{}
	Err() error
	Release(context.Context) error
}

// ErrNoLock reports that no lock has the handle: it was unlocked before, or the handle is
// wrong.
var ErrNoLock = errors.New("no lock has this handle: it was unlocked before, or the handle is wrong")

// SilentError reports that there is no socket, and that a process with the id of its keeper
// runs: a stopped keeper, one that is ending, or another program that has its id now.
type SilentError struct{ Pid int }

func (e *SilentError) Error() string {
	return fmt.Sprintf("process %d has no socket for this handle", e.Pid)
}

// Keeper listens for the Unlock of one lock.
type Keeper struct {
	path     string
	listener *net.UnixListener
	touched  time.Time
	requests chan net.Conn // each has asked to unlock
}

// Listen makes a keeper that can be reached, in the directory of the user. It removes what
// crashed keepers have left there long ago.
func Listen() (*Keeper, error) {
	dir, err := directory()
	if err != nil {
		return nil, err
	}
	sweep(dir)
	path := filepath.Join(dir, fmt.Sprintf("%s-%d", strings.ToLower(rand.Text()[:nameLength]), os.Getpid()))
	if len(path) > maxPath {
		return nil, fmt.Errorf("%s is too long for a socket, by %d bytes: set TMPDIR to a shorter path", dir, len(path)-maxPath)
	}
	k := &Keeper{path: path, requests: make(chan net.Conn)}
	if err := k.bind(); err != nil {
		return nil, err
	}
	return k, nil
}

// bind makes the socket, which can be connected to from the moment on at which it is at the
// path.
func (k *Keeper) bind() error {
	name := k.path[:len(k.path)-len(".new")] + ".new" // no longer than the path
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Rename(name, k.path); err != nil {
		_ = listener.Close()
		return err
	}
	k.listener, k.touched = listener, time.Now()
	return nil
}

// restore makes the socket again if it was removed, and reports whether it did.
func (k *Keeper) restore() bool {
	if _, err := os.Lstat(k.path); !errors.Is(err, fs.ErrNotExist) {
		if now := time.Now(); now.Sub(k.touched) >= touchInterval {
			_ = os.Chtimes(k.path, now, now) // the next look finds out what becomes of it
			k.touched = now
		}
		return false
	}
	former := k.listener
	if dir, err := directory(); err != nil || dir != filepath.Dir(k.path) || k.bind() != nil {
		return false // until the next look
	}
	_ = former.Close()
	return true
}

// directory returns the directory of the sockets. Another user may have made one of that
// name where all may write.
func directory() (string, error) {
	dir := filepath.Join(os.TempDir(), "queuelock-"+user())
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || !private(info) {
		return "", fmt.Errorf("%s is not a directory of yours alone: remove it, or set TMPDIR", dir)
	}
	return dir, nil
}

// sweep removes reasons and sockets of keepers that ended long ago.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // it costs some room, and no correctness
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < keep {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		if conn, err := net.Dial("unix", path); err == nil {
			conn.Close() // it lives
			continue
		}
		_ = os.Remove(path)
	}
}

// Handle returns what Unlock takes.
func (k *Keeper) Handle() string { return k.path }

// Discard ends a keeper that has not kept anything.
func (k *Keeper) Discard() {
	_ = k.listener.Close()
	_ = os.Remove(k.path)
}

// Serve keeps the lock until an Unlock, until it is lost, or until ctx ends, whose cause
// says why the lock is released then. It releases the lock within the limit.
func (k *Keeper) Serve(ctx context.Context, held Held, limit time.Duration) Outcome {
	accepting, stop := context.WithCancel(context.Background())
	defer stop()
	state := func() Outcome {
		if err := cmp.Or(held.Err(), context.Cause(ctx)); err != nil {
			return Outcome{Lost, err.Error()}
		}
		return Outcome{Result: Kept}
	}
	var accepts sync.WaitGroup
	accept := func() {
		listener := k.listener
		accepts.Go(func() { k.accept(accepting, listener, state) })
	}
	accept()
	defer func() {
		stop()
		_ = k.listener.Close()
		accepts.Wait()
	}()
	watch := time.NewTicker(watchInterval)
	defer watch.Stop()
	for {
		if k.restore() {
			accept()
		}
		select {
		case <-watch.C:
			continue
		case conn := <-k.requests:
			defer conn.Close()
			outcome := release(ctx, held, limit)
			_ = os.Remove(k.path) // before the answer: then the handle is no more
			_ = conn.SetWriteDeadline(time.Now().Add(messageLimit))
			if err := json.NewEncoder(conn).Encode(outcome); err != nil && outcome.Result != Released {
				k.leave(outcome)
			}
			return outcome
		case <-held.Done():
			outcome := release(ctx, held, limit)
			k.leave(outcome)
			return outcome
		case <-ctx.Done():
			outcome := release(ctx, held, limit)
			if outcome.Result == Released {
				outcome = Outcome{Lost, "it was released before: " + context.Cause(ctx).Error()}
			}
			k.leave(outcome)
			return outcome
		}
	}
}

func release(ctx context.Context, held Held, limit time.Duration) Outcome {
	loss := held.Err()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := held.Release(ctx)
	switch {
	case loss != nil:
		return Outcome{Lost, loss.Error()}
	case err != nil && held.Err() != nil && errors.Is(err, held.Err()):
		return Outcome{Lost, err.Error()}
	case err != nil:
		return Outcome{Failed, err.Error()}
	}
	return Outcome{Result: Released}
}

// leave puts the outcome in place of the socket, in one step, so that each Unlock finds one
// or the other.
func (k *Keeper) leave(o Outcome) {
	text, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(k.path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(k.path+".new", k.path)
	}
	_ = err // a socket without a keeper says that the lock was lost too
}

// accept takes connections and reads their requests. It answers with the state at once, also while another request releases the lock.
func (k *Keeper) accept(ctx context.Context, listener net.Listener, state func() Outcome) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		go func() {
			_ = conn.SetReadDeadline(time.Now().Add(messageLimit))
			unhook := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
			defer unhook()
			line, err := bufio.NewReader(io.LimitReader(conn, 16)).ReadString('\n')
			switch {
			case err == nil && line == check.line:
				_ = conn.SetWriteDeadline(time.Now().Add(messageLimit))
				_ = json.NewEncoder(conn).Encode(state())
				conn.Close()
				return
			case err != nil || line != unlock.line:
				conn.Close()
				return
			}
			select {
			case k.requests <- conn:
			case <-ctx.Done():
				conn.Close() // the lock has ended meanwhile: the client finds out why
			}
		}()
	}
}

// request is what a client asks of a keeper.
type request struct {
	line  string
	takes bool // what the keeper has left: then the handle is no more
}

var (
	unlock = request{"unlock\n", true}
	check  = request{"check\n", false}
)

// Unlock asks the keeper of the handle to release its lock, and returns what became of it.
func Unlock(ctx context.Context, handle string) (Outcome, error) { return unlock.of(ctx, handle) }

// Check asks the keeper of the handle whether its lock is held. Unlock returns the same later if it is not.
func Check(ctx context.Context, handle string) (Outcome, error) { return check.of(ctx, handle) }

// of asks the keeper of the handle, or reads what it has left.
func (r request) of(ctx context.Context, handle string) (Outcome, error) {
	pid, ok := keeperOf(handle)
	if !ok {
		return Outcome{}, ErrNoLock
	}
	const attempts = 10 // a keeper that ends meanwhile needs two
	var failure error
	for range attempts {
		o, err := r.found(ctx, handle, pid)
		if !errors.Is(err, errSocket) {
			return o, err
		}
		if o, failure = r.ask(ctx, handle); failure == nil {
			return o, nil
		}
		operation, ok := errors.AsType[*net.OpError](failure)
		switch {
		case ctx.Err() != nil:
			return o, ctx.Err()
		case refused(failure):
			// A keeper leaves why it has ended before it closes its socket, unless it was killed.
			if o, err := r.left(handle); errors.Is(err, fs.ErrNotExist) {
				continue
			} else if !errors.Is(err, errSocket) {
				return o, err
			}
			if r.takes {
				_ = os.Remove(handle)
			}
			return Outcome{Lost, "its keeper was killed; the lease ends it, or an operator if it has none"}, nil
		case ok && operation.Op == "dial" && !errors.Is(failure, fs.ErrNotExist):
			return o, failure
		}
	}
	return Outcome{}, failure
}

// keeperOf returns the id of the process that has made a handle.
func keeperOf(handle string) (pid int, ok bool) {
	dir, name := filepath.Split(handle)
	_, id, ok := strings.Cut(name, "-")
	pid, err := strconv.Atoi(id)
	return pid, ok && err == nil && pid > 0 && filepath.IsAbs(handle) && strings.HasPrefix(filepath.Base(dir), "queuelock-")
}

// found returns what left returns, but waits while a keeper that runs may make its socket
// again.
func (r request) found(ctx context.Context, handle string, pid int) (Outcome, error) {
	for deadline := time.Now().Add(watchInterval * 5 / 2); ; time.Sleep(watchInterval / 20) {
		runs := Running(pid) // before the look: a keeper leaves its outcome before it ends
		o, err := r.left(handle)
		switch {
		case !errors.Is(err, fs.ErrNotExist):
			return o, err
		case !runs:
			return o, ErrNoLock
		case ctx.Err() != nil:
			return o, ctx.Err()
		case time.Now().After(deadline):
			return o, &SilentError{pid}
		}
	}
}

var errSocket = errors.New("there is a socket")

// left returns the outcome that a keeper has left, and takes it. It returns
// fs.ErrNotExist if there is neither that nor a socket.
func (r request) left(path string) (Outcome, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return Outcome{}, err
	case info.Mode()&fs.ModeSocket != 0:
		return Outcome{}, errSocket
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Outcome{}, err
	}
	var o Outcome
	if err := json.Unmarshal(text, &o); err != nil || o.Result == "" {
		return Outcome{}, ErrNoLock
	}
	if !r.takes {
		return o, nil
	}
	return o, os.Remove(path)
}

// ask sends the request to a keeper and reads its answer.
func (r request) ask(ctx context.Context, path string) (o Outcome, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return o, err
	}
	defer conn.Close()
	unhook := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer unhook()
	if _, err := io.WriteString(conn, r.line); err != nil {
		return o, err
	}
	return o, json.NewDecoder(conn).Decode(&o)
}

// Limits end a keeper whose script has ended, or has forgotten it.
type Limits struct {
	MaxHold   time.Duration // zero: none
	ParentPid int           // zero: none
}

// Parent returns a context that ends with the process of ParentPid, with that as its cause.
func (l Limits) Parent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(context.Canceled) }
	if l.ParentPid == 0 {
		return ctx, stop
	}
	ended := func() { cancel(fmt.Errorf("process %d of --parent-pid has ended", l.ParentPid)) }
	process, err := os.FindProcess(l.ParentPid)
	if err != nil {
		ended()
		return ctx, stop
	}
	go func() {
		watch(ctx, process, ended)
		_ = process.Release()
	}()
	return ctx, stop
}

// Hold returns a context that ends after MaxHold, with that as its cause. It counts from the call.
func (l Limits) Hold(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.MaxHold == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, l.MaxHold, fmt.Errorf("--max-hold %v is over", l.MaxHold))
}
