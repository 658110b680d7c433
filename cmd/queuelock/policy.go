package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/progress"
	"github.com/queuelock/queuelock/queue"
)

type policyFlags struct {
	maxWaiters int // below zero: no limit
	latest     bool
	cancels    bool // the holder; implies latest
	group      string
	superseded int // the exit code
}

func (f *policyFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	within(flags, &f.maxWaiters, "max-waiters", "", -1, 0, queue.MaxWaiters, "do not wait behind `N` waiters or more, at most 10000")
	flags.Lookup("max-waiters").DefValue = "0" // none is shown: there is no limit
	flags.BoolVar(&f.latest, "latest", false, "leave the queue once a later waiter with --latest comes")
	flags.BoolVar(&f.cancels, "cancel-in-progress", false, "the same as --latest, and ask the holder of the group to give way: see --on-revoke")
	flags.StringVar(&f.group, "group", "", "with --latest: only waiters of the same group `NAME` count")
	needs(flags, "group", fmt.Sprintf("need 1 to %d bytes", queue.MaxGroup), func() bool { return f.group != "" && len(f.group) <= queue.MaxGroup })
	within(flags, &f.superseded, "superseded-exit-code", "", exitSuperseded, 0, maxCode, "the exit `CODE` if a later waiter has come")
}

func (f *policyFlags) policy(cmd *cobra.Command, keys int) (options []queuelock.AcquireOption, err error) {
	limited := cmd.Flags().Changed("max-waiters")
	f.latest = f.latest || f.cancels
	switch {
	case limited && f.latest:
		return nil, usagef("--max-waiters and --latest or --cancel-in-progress: a waiter that has superseded another might be refused itself; use one of them")
	case keys > 1 && (limited || f.latest):
		return nil, usagef("--all excludes --max-waiters, --latest and --cancel-in-progress, as each queue would decide alone; use one entity")
	case cmd.Flags().Changed("group") && !f.latest:
		return nil, usagef("--group is only for --latest and --cancel-in-progress: add one of them")
	case cmd.Flags().Changed("superseded-exit-code") && !f.latest:
		return nil, usagef("--superseded-exit-code is only for --latest and --cancel-in-progress: add one of them")
	}
	if f.latest {
		options = append(options, queuelock.Supersede(f.supersede()...))
	}
	return options, nil
}

// limit returns that of the waiters, which a place that is resumed has not.
func (f *policyFlags) limit() (options []queuelock.AcquireOption) {
	if f.maxWaiters >= 0 {
		options = append(options, queuelock.MaxWaiters(f.maxWaiters))
	}
	return options
}

func (f *policyFlags) supersede() (options []queuelock.SupersedeOption) {
	if f.group != "" {
		options = append(options, queuelock.Group(f.group))
	}
	if f.cancels {
		options = append(options, queuelock.CancelHolder)
	}
	return options
}

// why says for programs what has ended a wait, and by which ticket.
func why(err error) (why *progress.Why, by *string) {
	switch {
	case errors.Is(err, queuelock.ErrQueueFull):
		return new(progress.Full), nil
	case errors.Is(err, queuelock.ErrSuperseded):
		if e, ok := errors.AsType[*queuelock.NotAcquiredError](err); ok {
			by = new(e.SupersededBy.String())
		}
		return new(progress.Superseded), by
	}
	return new(progress.Busy), nil
}

// policyLine says for people that a policy has ended a wait, before what is known of the holder.
func policyLine(e *queuelock.NotAcquiredError) string {
	switch {
	case errors.Is(e.Policy, queuelock.ErrQueueFull):
		return fmt.Sprintf("at most %d may wait; ", e.MaxWaiters)
	case errors.Is(e.Policy, queuelock.ErrSuperseded):
		return fmt.Sprintf("superseded by ticket %s; ", e.SupersededBy.Short())
	}
	return ""
}
