package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/progress"
	"github.com/queuelock/queuelock/waitpolicy"
)

// The bounds of queuelock.KeepPlace.
const (
	minKeep = 15 * time.Second
	maxKeep = 24 * time.Hour
)

// placeFlags are about a place in the queue that outlives the command.
type placeFlags struct {
	keep   time.Duration // zero: the place ends with the wait
	ticket string        // the path of a file with its handle; empty: none
	resume string        // a handle; empty: none

	place *queuelock.Handle           // what the command goes on with; nil: it takes a new place
	kept  string                      // the handle of what it has left, unless that is in a file
	quit  func(context.Context) error // gives that up
}

func (f *placeFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	within(flags, &f.keep, "keep", "", 0, minKeep, maxKeep, "if --wait is over, keep the place for so long, 15s to 24h, and exit with 79")
	flags.StringVar(&f.ticket, "ticket", "", "the `FILE` that has the place between two calls: repeat the command until it exits with 0")
	needs(flags, "ticket", "name a file", func() bool { return f.ticket != "" })
}

// checkPlace refuses what cannot be combined, and reads the handle of --resume. It makes no request.
func (f *lockFlags) checkPlace(cmd *cobra.Command, wait waitpolicy.Wait) error {
	given := f.keep > 0 || f.ticket != "" || f.resume != ""
	switch tries, _ := wait.Tries(); {
	case !given:
		return nil
	case f.keep > 0 && !cmd.Flags().Changed("wait"):
		return usagef("--keep %v: add --wait, which says how long this call waits, such as --wait 9m", f.keep)
	case tries > 0:
		return usagef("--keep, --ticket and --resume need a --wait of some time: who does not wait has no place")
	case f.ticket != "" && f.keep == 0:
		return usagef("--ticket: add --keep, which says for how long the place is kept between two calls, such as --keep 5m")
	case f.ticket != "" && f.resume != "":
		return usagef("--ticket and --resume: use one of them")
	case len(f.keys) > 1 || f.failClosed:
		return usagef("--keep excludes --all and --fail-closed: use one of them")
	}
	return f.goOn("--resume", f.resume)
}

// openTicket reads the handle in the file of --ticket, and lets no other process use that file until free is called.
func (f *lockFlags) openTicket() (free func(), err error) {
	if f.ticket == "" {
		return func() {}, nil
	}
	if free, err = reserve(f.ticket); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(f.ticket)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = usagef("--ticket: %w", err)
	} else {
		err = f.goOn("--ticket "+f.ticket, string(content))
	}
	if err != nil {
		free()
	}
	return free, err
}

// goOn takes the place of a handle. Without one it takes a new place.
func (f *lockFlags) goOn(from, text string) (err error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if f.place, err = f.handleOf(text); err != nil {
		return usagef("%s: %w", clip(from, 60), err)
	}
	return nil
}

// reserve lets no other process use a file of --ticket until free is called. Two at the same time would take the place, or the
// lock, from each other. The file beside it is locked, as the file is replaced.
func reserve(path string) (free func(), err error) {
	beside := path + ".lock"
	for {
		file, err := os.OpenFile(beside, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, usagef("--ticket: %w", err)
		}
		switch err := lockFile(file); {
		case errors.Is(err, errLocked):
			file.Close()
			return nil, failed(exitNotAcquired, "--ticket %s: another process waits with this file, or is in its turn: wait until it has ended, or name another file", clip(path, 60))
		case err != nil: // a file system without locks
			file.Close()
			return nil, usagef("--ticket: %s cannot be locked: %w: name a file of another file system", clip(beside, 60), err)
		}
		locked, err := file.Stat()
		if now, nowErr := os.Stat(beside); err == nil && nowErr == nil && os.SameFile(locked, now) {
			return func() { _, _ = os.Remove(beside), file.Close() }, nil
		}
		file.Close() // its last user has removed it meanwhile: once more
	}
}

// handleOf reads a handle, and checks that it is of a place in the queue of the command.
func (f *lockFlags) handleOf(text string) (*queuelock.Handle, error) {
	h, err := parseHandle(text)
	key := f.keys[0]
	if key.Reason == "" {
		key.Reason = queuelock.DefaultReason
	}
	switch {
	case err != nil:
		return nil, err
	case h.Table != f.table:
		return nil, fmt.Errorf("it is of the table %s: add --table %s", clip(h.Table, 40), quoted(clip(h.Table, 40)))
	case h.Key != key:
		return nil, fmt.Errorf("it is of %s, and not of %s", brief(h.Key), brief(key))
	case h.Held:
		return nil, fmt.Errorf("it is of a lock that is held, and not of a place: see 'queuelock status'")
	case h.Shared != f.shared || h.Permits != f.permits || scopes[h.Scope] != scopes[f.scope]:
		return nil, errors.New("it was taken with other values of --shared, --permits or --scope: give the same")
	}
	return &h.Handle, nil
}

// handlePrefix begins a handle as text, so that another text is not taken for one.
const handlePrefix = "ql1."

// savedHandle is a handle with what a client needs for it.
type savedHandle struct {
	Table string `json:"table"`
	Scope string `json:"scope,omitempty"`
	queuelock.Handle
}

// text is the handle as one word.
func (h savedHandle) text() string {
	text, err := json.Marshal(h)
	if err != nil {
		return "" // never: text and numbers have no such error
	}
	return handlePrefix + base64.RawURLEncoding.EncodeToString(text)
}

// parseHandle reads such a word.
func parseHandle(text string) (h savedHandle, err error) {
	word, ok := strings.CutPrefix(strings.TrimSpace(text), handlePrefix)
	if !ok {
		return h, errors.New("it has no handle of queuelock: give what 'queuelock lock --keep' has printed")
	}
	content, err := base64.RawURLEncoding.DecodeString(word)
	if err == nil {
		err = json.Unmarshal(content, &h)
	}
	if err != nil || h.ID == "" || h.Ticket.IsZero() || h.Table == "" || h.Key.Entity == "" {
		return savedHandle{}, errors.New("its handle is damaged or cut: give all of it")
	}
	return h, nil
}

// textOf is a handle of the command as one word.
func (f *lockFlags) textOf(h queuelock.Handle) string {
	return savedHandle{f.table, f.scope, h}.text()
}

// save keeps the handle for the next call. A process that is killed meanwhile leaves the one before, or this one.
func (f *lockFlags) save(h queuelock.Handle) error {
	if f.ticket == "" {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(f.ticket), ".queuelock-*")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(f.textOf(h) + "\n")
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), f.ticket)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

// forget drops a handle that is worth nothing any more.
func (f *lockFlags) forget() {
	if f.ticket != "" {
		_ = os.Remove(f.ticket) // what is left of it is found out by the next call
	}
}

// takePlace acquires the lock of a place that outlives the command. stopped says that a signal has ended the wait.
func (f *lockFlags) takePlace(ctx context.Context, client *queuelock.Client, wait waitpolicy.Wait, options []queuelock.AcquireOption) (lock *queuelock.Lock, err error) {
	begun := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if f.keep > 0 {
		options = append(options, queuelock.KeepPlace(f.keep))
	}
	if f.ticket != "" {
		options = append(options, queuelock.OnHandle(func(h queuelock.Handle) {
			if err := f.save(h); err != nil {
				cancel(failed(exitFailed, "the file of --ticket cannot be written: %w", err))
			}
		}))
	}
	if f.place != nil {
		lock, err = client.Resume(ctx, *f.place, wait, options...)
	}
	if f.place == nil || errors.Is(err, queuelock.ErrGone) && f.ticket != "" { // it was passed: the call begins again
		lock, err = client.Acquire(ctx, f.keys[0], remaining(wait, begun), append(options, f.limit()...)...)
	}
	e, _ := errors.AsType[*queuelock.NotAcquiredError](err)
	switch unsaved, _ := errors.AsType[*exitError](context.Cause(ctx)); {
	case err == nil, errors.Is(err, queuelock.ErrGone), e != nil && e.Policy != nil:
		f.forget()
	case e == nil || e.Handle == nil:
	case unsaved != nil, ctx.Err() != nil && f.ticket == "": // no next call has its handle
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		err = errors.Join(err, client.Leave(ending, *e.Handle))
		if unsaved != nil {
			return nil, unsaved
		}
	case f.ticket == "":
		f.kept = f.textOf(*e.Handle)
		f.quit = func(ctx context.Context) error { return client.Leave(ctx, *e.Handle) }
	default:
		if saving := f.save(*e.Handle); saving != nil {
			return nil, failed(exitFailed, "the file of --ticket cannot be written: %w", saving)
		}
	}
	return lock, err
}

// next is the command that goes on with the place, for people and programs.
func (f *lockFlags) next() string {
	if f.ticket != "" {
		return "repeat the command"
	}
	return "repeat the command with --resume and the handle that it has printed"
}

// keptLine says in one line that a place is kept, and what follows.
func (f *lockFlags) keptLine(e *queuelock.NotAcquiredError) error {
	text := fmt.Sprintf("waits on in %s", brief(e.Key))
	if e.Position > 0 {
		text = fmt.Sprintf("place %d of %s is kept", e.Position, brief(e.Key))
	}
	if !e.KeptUntil.IsZero() {
		text += " until " + display.At(e.KeptUntil)
	}
	if e.Estimated {
		text += ", turn in about " + display.Age(e.EstimatedWait.Round(time.Second))
	}
	return errors.New(text + ": " + f.next())
}

// keptOutcome adds what programs read of a place that is kept.
func (f *lockFlags) keptOutcome(o *progress.Outcome, e *queuelock.NotAcquiredError) {
	o.Event, o.Why, o.Message = "kept", nil, f.keptLine(e).Error()
	o.Place = &progress.Place{Position: e.Position, Handle: f.textOf(*e.Handle), Next: f.next()}
	o.Tickets = append(o.Tickets, e.Handle.Ticket.String())
	if !e.KeptUntil.IsZero() {
		o.Place.Until = new(e.KeptUntil.UTC())
	}
	if e.Estimated {
		o.Place.Expected = new(display.Seconds(e.EstimatedWait))
	}
}
