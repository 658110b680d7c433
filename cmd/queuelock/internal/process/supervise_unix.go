//go:build unix

package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is between a holder and its command.
type supervisor struct {
	order  order
	holder *os.File
	pid    int // of the command
	reaper bool
	limit  atomic.Int64 // until
	ended  atomic.Bool  // the command, but not all of the tree
	orphan chan struct{}
	lines  *Lines
}

// Supervise is the whole program of a supervisor. Its argument is the number of the file
// that leads to the holder. It returns an exit code.
func Supervise(file string) int {
	fd, err := strconv.Atoi(file)
	if err != nil {
		return 1
	}
	unix.CloseOnExec(fd)
	_ = unix.SetNonblock(fd, true)
	disguise("lock-supervisor")
	s := &supervisor{holder: os.NewFile(uintptr(fd), "holder"), orphan: make(chan struct{}), lines: NewLines(os.Stderr)}
	// The kernel kills the command when the thread that started it ends.
	runtime.LockOSThread()
	deaf(unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	if !signal.Ignored(unix.SIGHUP) {
		deaf(unix.SIGHUP)
	}
	// With this channel, a write to a closed pipe is an error and no signal.
	deaf(unix.SIGPIPE)
	in := bufio.NewReader(s.holder)
	text, err := in.ReadBytes('\n')
	if err != nil || json.Unmarshal(text, &s.order) != nil {
		return 1 // the holder is gone
	}
	s.limit.Store(int64(s.order.Clock))
	if !s.order.Leave {
		s.reaper = adopt() == nil
	}
	if s.pid, err = s.start(); err != nil {
		errno, ok := errors.AsType[syscall.Errno](err)
		if !ok {
			errno = syscall.EIO
		}
		_ = send(s.holder, report{Failed: errno})
		return 1
	}
	_ = send(s.holder, report{Started: s.pid})
	go s.listen(in)
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() { defer close(watched); s.watch(over) }()
	s.wait()
	_ = send(s.holder, report{Done: true})
	close(over)
	<-watched
	s.lines.Close()
	return 0
}

// start starts the command as the leader of a group.
func (s *supervisor) start() (int, error) {
	attr := &syscall.ProcAttr{Env: convert[string](s.order.Env), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if s.order.Foreground {
		attr.Sys.Foreground, attr.Sys.Ctty = true, 0
		signal.Ignore(unix.SIGTSTP) // a Ctrl-Z would stop the command while its lease goes on
	}
	dieWithParent(attr.Sys)
	return syscall.ForkExec(string(s.order.Path), convert[string](s.order.Args), attr)
}

// listen receives until the holder is gone.
func (s *supervisor) listen(in *bufio.Reader) {
	defer close(s.orphan)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var u until
		if json.Unmarshal(text, &u) == nil {
			s.limit.Store(int64(u.Clock))
		}
	}
}

// wait reports what becomes of the command, and returns when the tree has ended.
func (s *supervisor) wait() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED|unix.WCONTINUED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil: // no children: on Linux there is no descendant then
			for !s.order.Leave && !s.reaper && !empty(s.pid) {
				time.Sleep(poll)
			}
			return
		case pid != s.pid:
			continue // an orphan
		case status.Stopped():
			_ = send(s.holder, report{Stopped: int(status.StopSignal())})
		case status.Continued():
			_ = send(s.holder, report{Continued: true})
		default:
			s.ended.Store(true)
			_ = send(s.holder, report{Ended: true, Code: code(status)})
			if s.order.Leave {
				return
			}
		}
	}
}

// watch ends the tree when the holder is gone, or has said nothing for too long: then it
// is stopped or hangs, and its lease is over.
func (s *supervisor) watch(over <-chan struct{}) {
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		select {
		case <-over:
			return
		case <-s.orphan:
			s.end(over, "run was killed")
			return
		case <-look.C:
			// Often near the end, and sometimes before: the host may have been suspended.
			left := s.left()
			if left <= 0 {
				_ = send(s.holder, report{Expired: true})
				s.kill(over, "run is stopped, and its lease ends")
				return
			}
			look.Reset(min(max(left/2, poll), time.Second))
		}
	}
}

// left is the time until everything is ended unless the holder says otherwise.
func (s *supervisor) left() time.Duration {
	if limit := s.limit.Load(); limit > 0 {
		return time.Duration(limit) - clock()
	}
	return math.MaxInt64
}

// end brings the tree to its end, within what is left of the lease.
func (s *supervisor) end(over <-chan struct{}, why string) {
	grace := max(0, min(s.order.Grace, s.left()))
	s.signal(unix.SIGTERM)
	s.signal(unix.SIGCONT) // a process that is stopped cannot end
	s.say(fmt.Sprintf("%s: SIGTERM was sent to the command, SIGKILL follows in %v", why, grace.Round(10*time.Millisecond)))
	select {
	case <-over:
	case <-time.After(grace):
		s.kill(over, why)
	}
}

// kill kills until nothing is left. Processes start others meanwhile.
func (s *supervisor) kill(over <-chan struct{}, why string) {
	s.say(why + ": SIGKILL was sent to the command")
	for {
		s.signal(unix.SIGKILL)
		select {
		case <-over:
			return
		case <-time.After(poll):
		}
	}
}

// signal signals the tree; with Leave, the command's group.
func (s *supervisor) signal(sig unix.Signal) {
	root := os.Getpid()
	if s.order.Leave {
		root = nowhere
	}
	signalAll(s.pid, root, !s.ended.Load(), sig)
}

// say prints a line where run's would be. A terminal must not stop this process, which is
// in its background.
func (s *supervisor) say(line string) {
	signal.Ignore(unix.SIGTTOU)
	s.lines.Print("queuelock: " + line)
}
