package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
	"github.com/queuelock/queuelock/waitpolicy"
	"github.com/queuelock/queuelock/wake"
)

// The bounds of queuelock.Config.TTL. To the library zero means its default; on a command
// line it is a mistake.
const (
	minTTL = time.Second
	maxTTL = 7 * 24 * time.Hour
)

// maxPermits is the bound of queuelock.Permits.
const maxPermits = 500

// maxDelay is the bound of queuelock.LockDelay.
const maxDelay = 24 * time.Hour

// maxAtLeast is the bound of queuelock.HoldAtLeast.
const maxAtLeast = queue.MaxAtLeast

// maxData and maxSharedData are the bounds of queuelock.WithData.
const (
	maxData       = 4096
	maxSharedData = 256
)

const maxCode = 255

type lockFlags struct {
	settings
	modeFlags
	waitFlags
	policyFlags
	placeFlags
	bellFlags
	all          bool
	reason, data string
	owner        string // empty: not given

	keys   []queuelock.Key // of the arguments
	handle string          // of a keeper
	hurry  bool            // end at once: clean up no more
	failed bool            // the release, which was reported
	spared bool            // leave the lock to its lease
}

type modeFlags struct {
	scope              string
	ttl, delay         time.Duration
	atLeast, every     time.Duration // zero: not given
	shared, failClosed bool
	exclusive          bool // the default, which scripts for flock may spell out
	permits            int  // zero: a lock
}

type waitFlags struct {
	wait, progress           string
	nonblock, quiet, verbose bool
	conflict                 int // the exit code of a busy lock
}

func (f *lockFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	cmd.ValidArgsFunction = f.offerEntities(func(before []string) bool { return len(before) == 0 || f.all })
	flags.BoolVar(&f.all, "all", false, "the locks of several entities, all or none")
	flags.BoolVarP(&f.nonblock, "nonblock", "n", false, "do not wait if the lock is busy, as with --wait 0")
	flags.StringVarP(&f.wait, "wait", "w", "forever", "how long: `SECONDS`, 5m, 0, forever, 5x2s")
	flags.BoolVarP(&f.shared, "shared", "s", false, "together with other shared holders")
	flags.BoolVarP(&f.exclusive, "exclusive", "x", false, "one holder at a time, which is the default")
	_ = flags.MarkHidden("exclusive") // there is such a flag
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing while waiting, nor if the lock is busy")
	within(flags, &f.ttl, "ttl", "", time.Minute, minTTL, maxTTL, "the lease: a crashed holder delays others for so long")
	progressNames.addFlag(cmd, &f.progress, "progress", "", "how to report the wait")
	within(flags, &f.conflict, "conflict-exit-code", "E", exitNotAcquired, 0, maxCode, "the exit `CODE` if the lock was not acquired in time")
	addReason(flags, &f.reason)
	flags.StringVar(&f.data, "data", "", "the `TEXT` that status shows (default: the command line)")
	flags.StringVar(&f.owner, "owner", "", "the `NAME` that others see (default: QUEUELOCK_OWNER, else host and process)")
	within(flags, &f.permits, "permits", "", 0, 1, maxPermits, "a semaphore of `N` holders, at most 500")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "report when the lock is acquired and released")
	addScope(cmd, &f.scope)
	within(flags, &f.delay, "lock-delay", "", 0, 0, maxDelay, "keep the lock closed for so long after a loss, at most 24h")
	within(flags, &f.atLeast, "at-least", "", 0, time.Millisecond, maxAtLeast, "keep the queue closed for so long after the grant, at most 144h")
	within(flags, &f.every, "every", "", 0, time.Millisecond, maxAtLeast, "grant the lock at most once in so long, which is the same")
	flags.BoolVar(&f.failClosed, "fail-closed", false, "without a lease: after a crash an operator evicts")
	f.policyFlags.addFlags(cmd)
	f.placeFlags.addFlags(cmd)
	f.bellFlags.addFlag(flags)
	f.settings.addFlags(cmd)
}

type plan struct {
	cfg     queuelock.Config
	wait    waitpolicy.Wait
	options []queuelock.AcquireOption
}

// name takes the entities that are locked.
func (f *lockFlags) name(entities []string) {
	for _, entity := range entities {
		f.keys = append(f.keys, queuelock.Key{Entity: entity, Reason: f.reason})
	}
}

// plan checks the flags. It makes no request. title is the data of the holder without
// --data.
func (f *lockFlags) plan(cmd *cobra.Command, title string) (p plan, err error) {
	if p.wait, err = f.waiting(cmd); err != nil {
		return p, err
	}
	if p.options, err = f.options(); err != nil {
		return p, err
	}
	policy, err := f.policy(cmd, len(f.keys))
	if err != nil {
		return p, err
	}
	p.options = append(p.options, policy...)
	owner, err := f.ownerOf(cmd)
	if err != nil {
		return p, err
	}
	p.cfg = f.config(queuelock.Config{TTL: f.ttl, Owner: owner, Scope: scopes[f.scope]})
	for _, key := range f.keys {
		switch {
		case key.Entity == "":
			return p, usagef("ENTITY is empty: name what is to be locked")
		case p.cfg.Scope == ticket.ScopeEntity && key.Entity != f.keys[0].Entity:
			return p, usagef("--scope entity: different entities have no common ticket: use --scope table")
		}
		if err := checkArguments(f.table, p.cfg, key); err != nil {
			return p, err
		}
	}
	if err := f.checkPlace(cmd, p.wait); err != nil {
		return p, err
	}
	if err := f.refuseNested(); err != nil {
		return p, err
	}
	return p, f.publish(cmd, &p, title)
}

func (f *lockFlags) waiting(cmd *cobra.Command) (waitpolicy.Wait, error) {
	switch {
	case f.nonblock && cmd.Flags().Changed("wait"):
		return waitpolicy.NoWait, usagef("--nonblock and --wait: use one of them")
	case f.nonblock:
		return waitpolicy.NoWait, nil
	}
	return parseWait(f.wait)
}

func (f *lockFlags) options() ([]queuelock.AcquireOption, error) {
	if err := f.checkMode(); err != nil {
		return nil, err
	}
	var options []queuelock.AcquireOption
	if f.shared {
		options = append(options, queuelock.Shared())
	}
	if f.permits > 0 {
		options = append(options, queuelock.Permits(f.permits))
	}
	if d := max(f.atLeast, f.every); d > 0 {
		options = append(options, queuelock.HoldAtLeast(d))
	}
	if f.failClosed {
		return append(options, queuelock.FailClosed()), nil
	}
	return append(options, queuelock.LockDelay(f.delay)), nil
}

func (f *modeFlags) checkMode() error {
	for name, d := range map[string]time.Duration{"lock-delay": f.delay, "at-least": f.atLeast, "every": f.every} {
		if d%time.Millisecond != 0 {
			return usagef("--%s %v: need whole milliseconds", name, d)
		}
	}
	switch {
	case f.failClosed && f.delay > 0:
		return usagef("--fail-closed and --lock-delay: a lock without a lease is not lost by itself; use one of them")
	case f.atLeast > 0 && f.every > 0:
		return usagef("--at-least and --every mean the same: use one of them")
	case f.shared && (f.atLeast > 0 || f.every > 0):
		return usagef("--shared excludes --at-least and --every: readers would join a closed queue; use one of them")
	case f.exclusive && (f.shared || f.permits > 0):
		return usagef("--exclusive excludes --shared and --permits: use one of them")
	case f.shared && f.permits > 0:
		return usagef("--shared and --permits: a semaphore has no writers; use one of them")
	}
	return nil
}

// publish adds the data of the holder, which is part of the request that grants the lock,
// and so costs no other. Many holders of a semaphore leave little room: a title is
// shortened to it, and given data that does not fit is refused.
func (f *lockFlags) publish(cmd *cobra.Command, p *plan, title string) error {
	given := cmd.Flags().Changed("data")
	most := maxData
	if f.shared {
		most = maxSharedData
	}
	if given && len(f.data) > most {
		return usagef("--data has %d bytes: at most %d are possible", len(f.data), most)
	}
	text := f.data
	if !given {
		text = clipped(title, maxTitle)
		if f.shared || f.permits > 1 {
			text = clipped(title, maxSharedTitle)
		}
	}
	for {
		options := append(p.options[:len(p.options):len(p.options)], queuelock.WithData([]byte(text)))
		err := p.cfg.Validate(f.table, f.keys[0], options...)
		switch {
		case err == nil:
			p.options = options
			return nil
		case text == "" && f.permits > 0:
			return f.tooShort(p, err)
		case text == "":
			return usagef("%w", err)
		case given:
			if p.cfg.Validate(f.table, f.keys[0], p.options...) != nil {
				return usagef("%w", err) // it is not the data
			}
			with := fmt.Sprintf("--permits %d", f.permits)
			if f.shared {
				with = "--shared with a group"
			}
			return usagef("--data has %d bytes: too many for %s: shorten it", len(text), with)
		}
		text = clipped(title, len(text)/2)
	}
}

// tooShort is the error of a lease that is too short for so many permits: each heartbeat
// writes the entries of all holders.
func (f *lockFlags) tooShort(p *plan, err error) error {
	for ttl := f.ttl; ttl <= maxTTL; ttl += time.Second {
		cfg := p.cfg
		if cfg.TTL = ttl.Truncate(time.Second); cfg.Validate(f.table, f.keys[0], p.options...) == nil {
			return usagef("--permits %d with --ttl %v: heartbeats would write too much: need at least --ttl %v", f.permits, f.ttl, cfg.TTL)
		}
	}
	return usagef("%w", err)
}

// maxTitle is the most bytes of a command line that are published. With it the record of
// one holder stays within a write unit. Each heartbeat writes the data of all holders, so
// those of a lock that is shared have less.
const (
	maxTitle       = 256
	maxSharedTitle = 64
)

// clipped returns the text in one line of at most that many bytes.
func clipped(text string, most int) string {
	const mark = "…"
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	if len(text) <= most {
		return text
	}
	if most < len(mark) {
		return ""
	}
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

type bellFlags struct{ noBell bool }

func (f *bellFlags) addFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noBell, "no-bell", false, "do not ring other processes of this host, and look instead of being rung")
}

// hang lets the client of cfg ring and be rung on this host alone, until the function is called that it returns. That sends what is
// pending first.
func (f *bellFlags) hang(cfg *queuelock.Config) (stop func()) {
	if f.noBell {
		return func() {}
	}
	bells, err := wake.New(wake.Config{})
	if err != nil {
		return func() {} // never, without fields
	}
	cfg.Wake = bells
	return func() { _ = bells.Close() }
}
