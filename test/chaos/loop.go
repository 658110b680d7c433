package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/queuelock/queuelock/internal/workload/crew"
	"github.com/queuelock/queuelock/internal/workload/turns"
)

// loop is what other goroutines give to the goroutine of Run.
type loop struct {
	ctx    context.Context // ends when nothing is taken from todo any more
	end    context.CancelFunc
	todo   chan func()
	helper sync.WaitGroup // goroutines that send to todo
}

// until takes events, and what is to be done, until so holds.
func (r *run) until(limit time.Duration, what string, so func() bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for !so() {
		var err error
		select {
		case e := <-r.crew.Events():
			err = r.took(&e)
		case do := <-r.todo:
			do()
		case <-timer.C:
			err = fmt.Errorf("waited for %v until %s", limit, what)
		case <-r.ctx.Done():
			err = context.Cause(r.ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// after calls do on the goroutine of Run, after d.
func (l *loop) after(d time.Duration, do func()) {
	l.helper.Go(func() {
		select {
		case <-time.After(d):
			l.do(do)
		case <-l.ctx.Done():
		}
	})
}

// do calls do on the goroutine of Run. It is for other goroutines.
func (l *loop) do(do func()) {
	select {
	case l.todo <- do:
	case <-l.ctx.Done():
	}
}

func (r *run) show(what string) { r.Show(turns.Now().Sub(r.Began), what) }

// took reacts to an event.
func (r *run) took(e *crew.Event) error {
	if err := r.crew.Note(e); err != nil {
		return err
	}
	if e.Ended {
		return r.left(e.Process)
	}
	r.add(e.Process, e.Record)
	if e.Record.Kind == turns.Granted && e.Record.Doubted == 0 {
		r.served(e.Process, e.Turn)
	}
	return nil
}

// left reacts to the end of a process.
func (r *run) left(p *crew.Process) error {
	switch {
	case p.KilledAt != 0 && p.Killed():
		return r.hire(p.Number)
	case p.Code() != 0 || !p.Done:
		r.Errors = append(r.Errors, Error{p.Worker, fmt.Sprintf("ended unasked, or not cleanly: %v: %s", p.State(), p.Failure)})
		if !r.ending {
			return r.hire(p.Number)
		}
	}
	return nil
}
