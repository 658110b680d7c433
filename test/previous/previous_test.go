// Package previous_test runs clients of an earlier version of the library beside clients of
// this one, at one table. The earlier version is the archive in testdata, which "make
// snapshot" writes at a release. It is built with the present versions of its dependencies.
//
// Each client is a process. The table is an audited engine, which reports two holders at
// once, a ticket granted out of order, and whatever was removed before its lease had ended.
package previous_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/testbed/audit"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

// limit bounds each test. It is no measure: the tests wait for events.
const limit = 2 * time.Minute

// Leases. A client that is going to be killed has the short one, so that others need not
// wait for long. The others do not lose a lock on a machine that is busy.
const (
	long  = "30s"
	short = "3s"
)

const versions = 2

// programs are the clients of each version.
var programs [versions]string

var names = [versions]string{"previous", "present"}

func TestMain(m *testing.M) { locktest.Main(m) }

// TestPrevious runs both versions at one table.
func TestPrevious(t *testing.T) {
	if err := build(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Run("Turns", turns)
	t.Run("Order", eachWay(order))
	t.Run("CrashedHolder", eachWay(crashedHolder))
	t.Run("CrashedWaiter", eachWay(crashedWaiter))
	t.Run("Fence", eachWay(fence))
	t.Run("Heartbeat", eachWay(heartbeat))
	t.Run("Shared", eachWay(shared))
}

// build builds both clients from one source.
func build(dir string) error {
	archives, err := filepath.Glob("testdata/queuelock-*.tar.gz")
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("need one archive in testdata, found %q (%v)", archives, err)
	}
	library := filepath.Join(dir, "library")
	if err := unpack(archives[0], library); err != nil {
		return fmt.Errorf("%s: %w", archives[0], err)
	}
	for from, to := range map[string]string{"client/main.go": "client/main.go", "../../go.mod": "go.mod", "../../go.sum": "go.sum"} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(library, to), strings.NewReader(string(text))); err != nil {
			return err
		}
	}
	// The test's result is cached by what it opens. The sources that are built are among that.
	err = filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && strings.Trim(path, "./") != "" {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, source := range [versions]string{library, "."} {
		programs[i] = filepath.Join(dir, names[i])
		cmd := exec.Command("go", "build", "-o", programs[i], "./client")
		cmd.Dir = source
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("the client of the %s version: %w\n%s", names[i], err, out)
		}
	}
	return nil
}

func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for entries := tar.NewReader(plain); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("%s is outside", header.Name)
		}
		if err := write(filepath.Join(dir, header.Name), entries); err != nil {
			return err
		}
	}
}

func write(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// world is a table and the processes that use it.
type world struct {
	*testing.T
	ctx      context.Context
	table    *audit.Audit
	endpoint string

	mu      sync.Mutex
	removed map[string]string // guarded by mu; owner of a holder → who removed it
	dated   bool              // guarded by mu; a holder's lease has an end on the table's clock
	sent    map[string]int    // guarded by mu; sender → requests that were answered
	changed *sync.Cond        // of mu
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, removed: map[string]string{}, sent: map[string]int{}}
	w.changed = sync.NewCond(&w.mu)
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	context.AfterFunc(w.ctx, w.changed.Broadcast)
	w.table = audit.New(embedded.Config{Applied: w.applied}, "queuelock", time.Now)
	w.table.Actor = sender
	w.table.Removed = func(by *http.Request, _, _, owner string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.removed[owner] = sender(by)
	}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.endpoint = server.URL
	t.Cleanup(func() {
		if found := w.table.Violations(); len(found) > 0 {
			t.Errorf("the table shows:\n%s", strings.Join(found, "\n"))
		}
	})
	return w
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.table.ServeHTTP(rw, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[sender(r)]++
	w.changed.Broadcast()
}

func (w *world) applied(_ *http.Request, changes []embedded.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range changes {
		for _, h := range c.Item["holders"].Fields {
			if _, ok := h.Fields["until"]; ok {
				w.dated = true
			}
		}
	}
}

// await waits until the condition is true, which it asks after each request.
func (w *world) await(what string, condition func() bool) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !condition() {
		if w.ctx.Err() != nil {
			w.Fatalf("not within %v: %s", limit, what)
		}
		w.changed.Wait()
	}
}

// sender is the name of the process that sent a request: the user of its signature.
func sender(r *http.Request) string {
	_, after, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	name, _, _ := strings.Cut(after, "/")
	return name
}

// removedBy returns the process that ended the turn of another.
func (w *world) removedBy(p *process) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.removed[p.name]
}

// process is a client.
type process struct {
	world  *world
	name   string
	cmd    *exec.Cmd
	input  io.Writer
	events *bufio.Scanner
}

// start starts a client of a version.
func (w *world) start(version int, name, lease string) *process {
	w.Helper()
	p := &process{world: w, name: names[version] + "-" + name}
	p.cmd = exec.CommandContext(w.ctx, programs[version], w.endpoint, p.name, lease)
	p.cmd.Stderr = os.Stderr
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	input, err := p.cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	p.input, p.events = input, bufio.NewScanner(output)
	if err := p.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.want("ready")
	return p
}

// ask sends a command.
func (p *process) ask(command string) {
	p.world.Helper()
	if _, err := fmt.Fprintln(p.input, command); err != nil {
		p.world.Fatalf("%s does not take %q: %v", p.name, command, err)
	}
}

// next returns the next event.
func (p *process) next() string {
	p.world.Helper()
	if !p.events.Scan() {
		p.world.Fatalf("%s ended, or said nothing for %v: %v", p.name, limit, p.events.Err())
	}
	return p.events.Text()
}

// want waits for the next event, and returns what follows the word.
func (p *process) want(word string) string {
	p.world.Helper()
	event := p.next()
	rest, ok := strings.CutPrefix(event, word)
	if !ok {
		p.world.Fatalf("%s: %q, want %q", p.name, event, word)
	}
	return strings.TrimSpace(rest)
}

// then sends a command and waits for the event.
func (p *process) then(command, word string) string {
	p.world.Helper()
	p.ask(command)
	return p.want(word)
}

// granted waits for the grant, whatever was reported of the wait before.
func (p *process) granted() {
	p.world.Helper()
	event := p.next()
	for event == "waiting" {
		event = p.next()
	}
	if !strings.HasPrefix(event, "granted ") {
		p.world.Fatalf("%s: %q, want a grant", p.name, event)
	}
}

func (p *process) signal(s syscall.Signal) {
	p.world.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.world.Fatal(err)
	}
}

// empty checks that no process has left anything in the table.
func (w *world) empty(processes ...*process) {
	w.Helper()
	for _, p := range processes {
		for {
			w.mu.Lock()
			sent := w.sent[p.name]
			w.mu.Unlock()
			left := w.table.Traces(p.name, true)
			if len(left) == 0 {
				break
			}
			// The row is deleted in the background.
			w.await(fmt.Sprintf("a request of %s, which has left %q", p.name, left), func() bool { return w.sent[p.name] > sent })
		}
	}
}

// queues lets a process ask for the lock and wait. It says that it waits before its row is in the table.
func (w *world) queues(p *process) {
	w.Helper()
	p.then("acquire", "waiting")
	for {
		w.mu.Lock()
		sent := w.sent[p.name]
		w.mu.Unlock()
		if len(w.table.Traces(p.name, true)) > 0 {
			return
		}
		w.await("a request of "+p.name+", which has no row", func() bool { return w.sent[p.name] > sent })
	}
}

// eachWay runs a test with either version in the first part.
func eachWay(f func(w *world, first, second int)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for first := range names {
			t.Run(names[first]+"First", func(t *testing.T) {
				t.Parallel()
				f(newWorld(t), first, 1-first)
			})
		}
	}
}

// turns lets three clients of each version compete. Each turn adds one to the number of
// a ledger, which only the locks protect.
func turns(t *testing.T) {
	t.Parallel()
	const clients, rounds = 3, 8
	w := newWorld(t)
	var all []*process
	for i := range clients {
		for version := range names {
			all = append(all, w.start(version, strconv.Itoa(i), long))
		}
	}
	for _, p := range all {
		p.ask(fmt.Sprintf("turns %d", rounds))
	}
	for _, p := range all {
		event := p.next()
		for event == "waiting" {
			event = p.next()
		}
		if event != "done" {
			t.Errorf("%s: %q", p.name, event)
		}
	}
	last := all[0]
	last.ask("acquire")
	last.granted()
	if got, want := last.then("write", "wrote"), strconv.Itoa(len(all)*rounds+1); got != want {
		t.Errorf("the ledger has %s lines, want %s", got, want)
	}
	last.then("release", "released")
	if got, want := w.table.Grants(), len(all)*rounds+1; got != want {
		t.Errorf("%d grants, want %d", got, want)
	}
	w.empty(all...)
}

// order queues clients of both versions one after another. Each release grants the lock
// to the next, which is of the other version.
func order(w *world, first, second int) {
	var line []*process
	for i, version := range []int{first, second, first, second, first} {
		p := w.start(version, strconv.Itoa(i), long)
		if i == 0 {
			p.ask("acquire")
			p.granted()
		} else {
			w.queues(p)
		}
		line = append(line, p)
	}
	for i, p := range line {
		if i > 0 {
			p.granted()
		}
		p.then("write", "wrote "+strconv.Itoa(i+1))
		p.then("release", "released")
		if by := w.removedBy(p); by != p.name {
			w.Errorf("the turn of %s was ended by %q", p.name, by)
		}
	}
	w.empty(line...)
}

// crashedHolder kills a holder. A client of the other version evicts it.
func crashedHolder(w *world, first, second int) {
	victim, heir := w.start(first, "victim", short), w.start(second, "heir", long)
	victim.ask("acquire")
	victim.granted()
	heir.ask("acquire")
	victim.signal(syscall.SIGKILL)
	heir.granted()
	if by := w.removedBy(victim); by != heir.name {
		w.Errorf("%s was evicted by %q", victim.name, by)
	}
	heir.then("write", "wrote 1")
	heir.then("release", "released")
	w.empty(victim, heir)
}

// crashedWaiter kills a waiter. A client of the other version passes it.
func crashedWaiter(w *world, first, second int) {
	holder, victim, heir := w.start(second, "holder", long), w.start(first, "victim", short), w.start(second, "heir", long)
	holder.ask("acquire")
	holder.granted()
	w.queues(victim)
	w.queues(heir)
	victim.signal(syscall.SIGKILL)
	holder.then("release", "released")
	heir.granted()
	heir.then("release", "released")
	w.empty(holder, victim, heir)
}

// fence pauses a holder until a client of the other version has the lock. The late
// write of the first is refused.
func fence(w *world, first, second int) {
	late, heir := w.start(first, "late", short), w.start(second, "heir", long)
	late.ask("acquire")
	late.granted()
	late.then("write-as-before", "wrote 1")
	late.signal(syscall.SIGSTOP)
	heir.ask("acquire")
	heir.granted()
	heir.then("write", "wrote 2")
	late.signal(syscall.SIGCONT)
	if refusal := late.then("write-as-before", "failed:"); !strings.Contains(refusal, "TransactionCanceledException") {
		w.Errorf("the late write of %s: %s", late.name, refusal)
	}
	late.then("write", "failed:")
	heir.then("write", "wrote 3")
	heir.then("release", "released")
	late.then("release", "failed:")
	w.empty(late, heir)
}

// heartbeat lets a holder renew its lease, which then has an end on the table's clock. A
// waiter of the other version reads it, and waits for the release.
func heartbeat(w *world, first, second int) {
	holder, heir := w.start(first, "holder", long), w.start(second, "heir", long)
	holder.ask("acquire")
	holder.granted()
	heir.then("acquire", "waiting")
	seen := -1
	w.await("two looks of the waiter after a renewal", func() bool {
		if w.dated && seen < 0 {
			seen = w.sent[heir.name]
		}
		return seen >= 0 && w.sent[heir.name] >= seen+2
	})
	holder.then("write", "wrote 1")
	holder.then("release", "released")
	heir.granted()
	if by := w.removedBy(holder); by != holder.name {
		w.Errorf("the turn of %s was ended by %q", holder.name, by)
	}
	heir.then("release", "released")
	w.empty(holder, heir)
}

// shared lets readers of both versions hold together. A writer of either waits for both.
func shared(w *world, first, second int) {
	a, b, writer := w.start(first, "a", long), w.start(second, "b", long), w.start(first, "writer", long)
	a.ask("share")
	a.granted()
	b.ask("share")
	b.granted()
	if held := w.table.Holders("order-7 lock"); len(held) != 2 {
		w.Errorf("%d holders, want two readers", len(held))
	}
	writer.then("acquire", "waiting")
	a.then("release", "released")
	b.then("release", "released")
	writer.granted()
	writer.then("write", "wrote 1")
	writer.then("release", "released")
	w.empty(a, b, writer)
}
