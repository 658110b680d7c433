package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/waitpolicy"
)

// job is one run of a job.
type job struct {
	name     string
	resource string        // what it shares with other jobs
	wait     time.Duration // for its turn
	locks    *queuelock.Client
	log      *slog.Logger
}

// run waits for the job's turn and calls work. The context of work ends when the lock is
// lost, and when ctx ends. The error matches queuelock.ErrNotAcquired if the turn did
// not come in time, and queuelock.ErrLost if the lock was lost during the work.
func (j job) run(ctx context.Context, work func(context.Context) error) error {
	begun := time.Now()
	return j.locks.Do(ctx, queuelock.Key{Entity: j.resource}, waitpolicy.For(j.wait),
		func(ctx context.Context, lock *queuelock.Lock) error {
			j.log.Info("running", "job", j.name, "ticket", lock.Ticket(), "waited", time.Since(begun).Round(time.Second))
			if err := work(ctx); err != nil {
				return err
			}
			j.log.Info("done", "job", j.name)
			return nil
		},
		queuelock.WithData([]byte(j.name)), // "queuelock status" shows it
		queuelock.OnProgress(j.report))
}

// report logs each change of the job's place in the queue.
func (j job) report(p queuelock.Progress) {
	attrs := []any{"job", j.name, "position", p.Position}
	if p.Serving != nil {
		attrs = append(attrs, "behind", string(p.Serving.Data), "runs", p.Serving.Age.Round(time.Second))
	}
	j.log.Info("queued", attrs...)
}

// exitCode returns the codes of "queuelock run", by which a scheduler can choose what to
// do: 75 and 69 to try again later, 70 to look at the work that was interrupted.
func exitCode(err error) int {
	switch {
	case errors.Is(err, queuelock.ErrLost):
		return 70
	case errors.Is(err, queuelock.ErrNotAcquired):
		return 75
	case errors.Is(err, queuelock.ErrUnavailable):
		return 69
	}
	return 1
}
