package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Exit codes. Those from 64 to 78 are of BSD's sysexits, and are chosen so
// that they are seldom a command's own.
const (
	exitFailed      = 1   // the demo saw something wrong; no holder to evict; what has no code of its own
	exitUsage       = 64  // wrong usage; EX_USAGE: the command line, or a name or value in it
	exitUnavailable = 69  // DynamoDB cannot be used; EX_UNAVAILABLE: nor the table, the AWS settings, a port
	exitLost        = 70  // the lock was lost while the command ran
	exitNotAcquired = 75  // the lock was not acquired in time; EX_TEMPFAIL: try later
	exitSuperseded  = 76  // a later waiter has come; EX_PROTOCOL, of --latest
	exitKept        = 79  // the place is kept: repeat; not 75, after which the next call begins at the end of the queue
	exitNested      = 78  // a command above this one holds the lock; EX_CONFIG
	exitNotRunnable = 126 // the command cannot be executed; as in a shell
	exitNotFound    = 127 // the command was not found; as in a shell
	exitSignal      = 128 // plus the signal's number, as in a shell
)

// The lines about exit codes that the help texts of several commands have.
const (
	codeWritten     = "1    the output cannot be written"
	codeUsage       = "64   wrong usage"
	codeUnavailable = "69   DynamoDB cannot be used: no answer, no such table, no rights, no AWS settings"
)

func exitCodes(lines ...string) string { return "Exit codes:\n  " + strings.Join(lines, "\n  ") }

// exitError is an error with the exit code it leads to. Without an error
// nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func failed(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

func usagef(format string, args ...any) error { return failed(exitUsage, format, args...) }

// unavailable is a failure of what the program works with, in one line that says what
// to do.
func unavailable(err error) error {
	if _, mismatch := errors.AsType[*queue.MismatchError](err); mismatch {
		return &exitError{exitUsage, mismatched(err)} // the queue is there, and is not what was asked for
	}
	return &exitError{exitUnavailable, shortened(err)}
}

// signalled is the end by a signal: silent, as the signal was intended.
func signalled(sig syscall.Signal, format string, args ...any) error {
	return failed(exitSignal+int(sig), format, args...)
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return e.signal.String() }

// signalContext is a context that ends with SIGINT, SIGTERM or SIGHUP. The
// cause says which.
func signalContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case sig := <-signals:
			cancel(signalError{sig.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}

// interrupted gives an error of something that a signal cut short the signal's
// exit code.
func interrupted(ctx context.Context, err error) error {
	if sig, ok := errors.AsType[signalError](context.Cause(ctx)); ok {
		return signalled(sig.signal, "%v", sig.signal)
	}
	return err
}

func codeOf(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, queuelock.ErrNotAcquired):
		return exitNotAcquired
	case errors.Is(err, queuelock.ErrLost):
		return exitLost
	}
	return exitFailed
}

// maxLine is the longest message of an error, in characters.
const maxLine = 160

// message is an error in one line, or nothing if there is nothing to say.
func message(err error) string {
	if exit, ok := errors.AsType[*exitError](err); ok && exit.err == nil {
		return ""
	}
	return clip("queuelock: "+oneLine(err), maxLine)
}

// details is what message leaves out of an error, for --verbose.
func details(err error) string {
	var whole []string
	if b, ok := errors.AsType[*briefError](err); ok {
		whole = append(whole, oneLine(b.err))
	}
	if text := oneLine(err); utf8.RuneCountInString("queuelock: "+text) > maxLine {
		whole = append(whole, text)
	}
	if request, ok := errors.AsType[*table.Error](err); ok {
		whole = append(whole, "the SDK's error: "+oneLine(request.Err)) // the library's text has its beginning
	}
	return strings.Join(whole, "\n")
}

func oneLine(err error) string {
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	return display.Escape(strings.TrimPrefix(text, "queuelock: "))
}

// clip shortens a text to so many characters.
func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
