package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/queuelock/queuelock/internal/testbed/chaos/worker"
)

// until takes events, and what is to be done, until that is so.
func (r *run) until(ctx context.Context, limit time.Duration, what string, so func() bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for !so() {
		var err error
		select {
		case e := <-r.crew.events:
			err = r.took(e)
		case do := <-r.todo:
			do()
		case <-timer.C:
			err = fmt.Errorf("waited for %v until %s", limit, what)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// after has the goroutine of Run do something later.
func (r *run) after(d time.Duration, do func()) {
	r.helper.Go(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			r.do(do)
		case <-r.over:
		}
	})
}

// do has the goroutine of Run do something. It is for other goroutines.
func (r *run) do(do func()) {
	select {
	case r.todo <- do:
	case <-r.over:
	}
}

func (r *run) show(what string) { r.Show(worker.Now().Sub(r.Began), what) }

// took reacts to an event.
func (r *run) took(e event) error {
	p := e.process
	switch {
	case e.err != nil:
		return e.err
	case e.ended:
		return r.left(p)
	}
	r.add(p, e.record)
	switch e.record.Kind {
	case worker.Ready:
		p.ready = true
	case worker.Granted:
		if e.record.Doubted == 0 {
			r.served(p)
		}
	}
	return nil
}

// left reacts to the end of a process.
func (r *run) left(p *process) error {
	p.gone = true
	at := worker.Now()
	r.History.over(p, at)
	switch {
	case p.killed && p.Killed():
		return r.hire(p.number)
	case p.Code() != 0 || !p.done:
		r.Errors = append(r.Errors, Error{p.name, fmt.Sprintf("ended unasked, or not cleanly: %v: %s", p.State(), p.failure)})
		if !r.ending {
			return r.hire(p.number)
		}
	}
	return nil
}
