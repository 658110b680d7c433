//go:build unix

package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// startLimit bounds the time in which the supervisor starts the command.
	startLimit = 10 * time.Second

	// supervisorLimit is the time after which a supervisor that does not end its tree is
	// killed too. Its processes then become this process's children.
	supervisorLimit = time.Second
)

// Tree is a command that was started, with all that it has started.
type Tree struct {
	command    Command
	supervisor *exec.Cmd
	conn       *os.File     // to the supervisor
	before     map[int]bool // the children that this process had before
	pid        int          // of the command, and of its group
	events     chan Event
	done       chan struct{}
	code       int // read it after Ended or done
	ended      atomic.Bool
	expired    atomic.Bool
	kill       sync.Once
}

// Start starts the command. On failure nothing runs.
func Start(c Command) (*Tree, error) {
	t := &Tree{command: c, before: make(map[int]bool), events: make(chan Event), done: make(chan struct{})}
	if !c.Leave {
		_ = adopt() // without it, the group alone is known
	}
	for _, m := range descendants(os.Getpid()) {
		t.before[m.pid] = true
	}
	if err := t.supervise(); err != nil {
		return nil, err
	}
	reports := bufio.NewReader(t.conn)
	err := t.ask(reports)
	_, refused := errors.AsType[*os.PathError](err)
	go t.wait(reports, refused)
	if err != nil {
		<-t.done
		return nil, err
	}
	return t, nil
}

// supervise starts the supervisor. The number of its end of the socket is high: low ones
// may be the user's, such as those of make's job server.
func (t *Tree) supervise() error {
	path, err := program()
	if err != nil {
		return err
	}
	ours, theirs, err := socketpair()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(theirs) }()
	t.conn = os.NewFile(uintptr(ours), "supervisor")
	// Not by its usual name, so that pkill -f does not kill both processes at once.
	t.supervisor = exec.Command(path)
	t.supervisor.Args = []string{"lock-supervisor", Name, strconv.Itoa(theirs)}
	t.supervisor.Stdin, t.supervisor.Stdout, t.supervisor.Stderr = t.command.Stdin, t.command.Stdout, t.command.Stderr
	t.supervisor.WaitDelay = pipeGrace
	t.supervisor.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := t.supervisor.Start(); err != nil {
		return errors.Join(err, t.conn.Close())
	}
	return nil
}

// socketpair returns an end for this process alone, and one that its children inherit.
func socketpair() (ours, theirs int, err error) {
	syscall.ForkLock.RLock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, 0, os.NewSyscallError("socketpair", err)
	}
	const low = 10
	theirs, err = unix.FcntlInt(uintptr(pair[1]), unix.F_DUPFD, low)
	err = errors.Join(os.NewSyscallError("fcntl", err), unix.Close(pair[1]), unix.SetNonblock(pair[0], true))
	if err != nil {
		return 0, 0, errors.Join(err, unix.Close(pair[0]))
	}
	return pair[0], theirs, nil
}

// ask lets the supervisor start the command.
func (t *Tree) ask(reports *bufio.Reader) error {
	c := t.command
	env := (&exec.Cmd{Env: c.Env}).Environ() // of two settings of one variable, the last
	o := order{
		Path: []byte(c.Path), Args: convert[[]byte](c.Args), Env: convert[[]byte](env),
		Leave: c.Leave, Foreground: c.Foreground, Grace: c.Grace,
	}
	if c.Until > 0 {
		o.Clock = clock() + c.Until
	}
	_ = t.conn.SetDeadline(time.Now().Add(startLimit))
	defer func() { _ = t.conn.SetDeadline(time.Time{}) }()
	err := send(t.conn, o)
	var text []byte
	if err == nil {
		text, err = reports.ReadBytes('\n')
	}
	var r report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && r.Started > 0 {
		t.pid = r.Started
		return nil
	}
	if r.Failed != 0 {
		return &os.PathError{Op: "exec", Path: c.Path, Err: r.Failed}
	}
	_ = t.supervisor.Process.Kill()
	return errors.Join(errors.New("its supervisor does not start it"), err)
}

// wait passes on reports, and waits for the end. refused says that the command was not
// started.
func (t *Tree) wait(reports *bufio.Reader, refused bool) {
	defer close(t.done)
	defer func() { _ = t.conn.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	heard := make(chan bool, 1)
	go func() { heard <- t.hear(ctx, reports) }()
	_ = t.supervisor.Wait()
	// What it has sent is there. Other children of this process may have its end of the
	// socket, if they were started in the same instant.
	_ = t.conn.SetReadDeadline(time.Now().Add(pipeGrace))
	complete := <-heard
	cancel()
	if complete || refused {
		return
	}
	t.sweep()
	if !t.ended.Swap(true) {
		t.code = 128 + int(unix.SIGKILL)
	}
}

// hear receives reports, and returns whether the last one has come.
func (t *Tree) hear(ctx context.Context, reports *bufio.Reader) bool {
	for {
		text, err := reports.ReadBytes('\n')
		if err != nil {
			return t.command.Leave && t.ended.Load()
		}
		var r report
		if json.Unmarshal(text, &r) != nil {
			continue
		}
		var e Event
		switch {
		case r.Stopped > 0:
			e = Event{Stopped, syscall.Signal(r.Stopped)}
		case r.Continued:
			e.Kind = Continued
		case r.Ended:
			t.code = r.Code
			t.ended.Store(true)
			e.Kind = Ended
		case r.Expired:
			t.expired.Store(true)
			continue
		case r.Done:
			return true
		default:
			continue
		}
		select {
		case t.events <- e:
		case <-ctx.Done():
		}
	}
}

// sweep kills what a supervisor that was killed has left. Its processes are children of
// this process now; the kernel kills the command itself.
func (t *Tree) sweep() {
	for {
		left := 0
		for _, m := range t.orphans() {
			_ = unix.Kill(m.pid, unix.SIGKILL)
			if pid, err := unix.Wait4(m.pid, nil, unix.WNOHANG, nil); err != nil || pid != m.pid {
				left++
			}
		}
		if (t.command.Leave || !seesOrphans()) && t.pid > 0 && !empty(t.pid) {
			_ = unix.Kill(-t.pid, unix.SIGKILL)
			left++
		}
		if left == 0 {
			return
		}
		time.Sleep(poll)
	}
}

// orphans are the processes below this one, without the children that were there before
// and what is below those. With Leave there are none.
func (t *Tree) orphans() []member {
	if t.command.Leave {
		return nil
	}
	var found []member
	others := maps.Clone(t.before)
	for _, m := range descendants(os.Getpid()) { // parents first
		if others[m.pid] || others[m.parent] {
			others[m.pid] = true
		} else {
			found = append(found, m)
		}
	}
	return found
}

// Pid is the process id of the command, and the id of its group.
func (t *Tree) Pid() int { return t.pid }

// Events reports changes of the command's state. Receive until Done.
func (t *Tree) Events() <-chan Event { return t.events }

// Done is closed when nothing of the tree is left.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Code is the exit code of the command as a shell gives it. Call it after Ended or Done.
func (t *Tree) Code() int { return t.code }

// Expired reports whether the supervisor killed the tree because the time of Until was
// over: this process was stopped.
func (t *Tree) Expired() bool { return t.expired.Load() }

// Wake lets a supervisor continue that was stopped. Call it now and then.
func (t *Tree) Wake() { _ = t.supervisor.Process.Signal(unix.SIGCONT) }

// Until says when the supervisor kills the tree unless it is called again: this process is
// stopped then.
func (t *Tree) Until(lease time.Duration) {
	_ = t.conn.SetWriteDeadline(time.Now().Add(pipeGrace))
	_ = send(t.conn, until{clock() + lease})
}

// Signal sends a signal to the command's group, which receives it even if it is stopped.
func (t *Tree) Signal(sig syscall.Signal) {
	if !t.ended.Load() {
		_ = unix.Kill(-t.pid, sig)
		_ = unix.Kill(-t.pid, unix.SIGCONT)
	}
}

// Continue lets the command's group continue.
func (t *Tree) Continue() {
	if !t.ended.Load() {
		_ = unix.Kill(-t.pid, unix.SIGCONT)
	}
}

// Terminate sends SIGTERM to all of the tree. spareGroup leaves out the command's group,
// which has received the signal before.
func (t *Tree) Terminate(spareGroup bool) {
	if !spareGroup {
		t.signal(unix.SIGTERM)
	} else {
		for _, m := range descendants(t.root()) {
			if m.group != t.pid && !m.zombie {
				_ = unix.Kill(m.pid, unix.SIGTERM)
			}
		}
	}
	t.signal(unix.SIGCONT)
}

// Kill kills all of the tree, in the background, until nothing is left.
func (t *Tree) Kill() { t.kill.Do(func() { go t.killing() }) }

func (t *Tree) killing() {
	begun := time.Now()
	for {
		t.signal(unix.SIGKILL)
		_ = t.supervisor.Process.Signal(unix.SIGCONT)
		if time.Since(begun) > supervisorLimit {
			_ = t.supervisor.Process.Kill()
		}
		select {
		case <-t.done:
			return
		case <-time.After(poll):
		}
	}
}

func (t *Tree) signal(sig unix.Signal) { signalAll(t.pid, t.root(), !t.ended.Load(), sig) }

func (t *Tree) root() int {
	if t.command.Leave {
		return nowhere
	}
	return t.supervisor.Process.Pid
}

// Left are the processes that the command has left, by name and id.
func (t *Tree) Left() []string {
	var left []string
	for _, m := range descendants(t.root()) {
		if !m.zombie {
			left = append(left, m.name+" ("+strconv.Itoa(m.pid)+")")
		}
	}
	return left
}
