package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/display"
	"github.com/queuelock/queuelock/queue"
)

// The variables by which a command knows its locks.
const (
	envEntity   = "QUEUELOCK_ENTITY"   // of one lock
	envReason   = "QUEUELOCK_REASON"   // of all of them
	envTicket   = "QUEUELOCK_TICKET"   // of one lock, or common to all
	envSlot     = "QUEUELOCK_SLOT"     // of one permit
	envOwner    = "QUEUELOCK_OWNER"    // as other clients see it
	envTable    = "QUEUELOCK_TABLE"    //
	envEntities = "QUEUELOCK_ENTITIES" // a JSON list
	envTickets  = "QUEUELOCK_TICKETS"  // a JSON list, in the order of the entities
	envHeld     = "QUEUELOCK_HELD"     // all locks of this process and those above it
)

// owner is the name of this process for other clients.
func owner() string { return ownerAt(os.Hostname()) }

func ownerAt(host string, err error) string {
	const most = 200 // of the 256 bytes of an owner
	host = host[:min(len(host), most)]
	if err != nil || !display.Printable(host) { // the library refuses such an owner
		host = "unknown-host"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// ownerOf is the name that --owner or its variable gives, or else that of this process.
func (f *lockFlags) ownerOf(cmd *cobra.Command) (string, error) {
	name, by := f.owner, "--owner"
	if !cmd.Flags().Changed("owner") {
		name, by = os.Getenv(envOwner), envOwner
		if name == "" || ofAnother(name) {
			return owner(), nil
		}
	}
	switch {
	case name == "":
		return "", usagef("--owner is empty: name the holder, or leave it out")
	case len(name) > queue.MaxOwner:
		return "", usagef("%s has %d bytes: at most %d are possible", by, len(name), queue.MaxOwner)
	case !display.Printable(name):
		return "", usagef("%s %s: only printable characters are possible", by, clip(display.Escape(name), 40))
	}
	return name, nil
}

// processOwner is a name that owner makes.
var processOwner = regexp.MustCompile(`:[0-9]+$`)

// ofAnother reports whether the name is that of a process above this one on this host, which its user has not chosen.
func ofAnother(name string) bool {
	host := processOwner.ReplaceAllString(owner(), "")
	return os.Getenv(envHeld) != "" && processOwner.ReplaceAllString(name, "") == host && name != host
}

type heldLock struct {
	Table  string `json:"table"`
	Entity string `json:"entity"`
	Reason string `json:"reason"`
	Handle string `json:"handle,omitempty"` // of one that a keeper holds
}

func (h heldLock) same(other heldLock) bool {
	return h.Table == other.Table && h.Entity == other.Entity && h.Reason == other.Reason
}

// unlocked reports whether its keeper has ended: variables outlive it, as those of a CI job.
func (h heldLock) unlocked() bool {
	if h.Handle == "" {
		return false
	}
	_, err := os.Lstat(h.Handle)
	return errors.Is(err, fs.ErrNotExist)
}

func (f *lockFlags) held(key queuelock.Key) heldLock {
	return heldLock{f.table, key.Entity, cmp.Or(key.Reason, queuelock.DefaultReason), f.handle}
}

// inherited are the locks of the processes above this one, and of keepers. A variable
// that a shell has spoilt is refused before, by refuseNested.
func inherited() (held []heldLock) {
	if text := os.Getenv(envHeld); text != "" {
		_ = json.Unmarshal([]byte(text), &held)
		return slices.DeleteFunc(held, heldLock.unlocked)
	}
	if entity := os.Getenv(envEntity); entity != "" {
		held = append(held, heldLock{os.Getenv(envTable), entity, cmp.Or(os.Getenv(envReason), queuelock.DefaultReason), ""})
	}
	return held
}

// refuseNested refuses a lock that a process above this one holds: it would wait for
// itself. A shared lock may do so too, behind a writer between the two.
func (f *lockFlags) refuseNested() error {
	if text := os.Getenv(envHeld); text != "" && !json.Valid([]byte(text)) {
		return usagef("%s cannot be read: set it as 'queuelock lock --export' prints it, or unset it", envHeld)
	}
	above := inherited()
	for _, key := range f.keys {
		if slices.ContainsFunc(above, f.held(key).same) {
			return failed(exitNested, "%s is held by a command above this one: it would wait for itself; use another entity or --reason", brief(key))
		}
	}
	return nil
}

func (f *lockFlags) environment(t *turn, owner string) []string {
	held := inherited()
	var entities, tickets []string
	for _, lock := range t.locks {
		if h := f.held(lock.Key()); !slices.ContainsFunc(held, h.same) {
			held = append(held, h)
		}
		entities, tickets = append(entities, lock.Key().Entity), append(tickets, lock.Ticket().String())
	}
	env := slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return name == envEntity || name == envTicket || name == envSlot // those of a lock above this one
	})
	env = append(env,
		envReason+"="+t.locks[0].Key().Reason,
		envOwner+"="+owner,
		envTable+"="+f.table,
		envEntities+"="+list(entities),
		envTickets+"="+list(tickets),
		envHeld+"="+list(held),
	)
	if len(entities) == 1 {
		env = append(env, envEntity+"="+entities[0])
		if slot, ok := t.locks[0].Slot(); ok {
			env = append(env, envSlot+"="+strconv.Itoa(slot))
		}
	}
	if n, ok := t.Ticket(); ok {
		env = append(env, envTicket+"="+n.String())
	}
	return env
}

func list[T any](values []T) string {
	text, err := json.Marshal(values)
	if err != nil {
		return "[]" // strings and structs of them have no such error
	}
	return string(text)
}

// brief is a key for people, shortened to fit into a line.
func brief(key queuelock.Key) string {
	const most = 60
	key.Entity = clipped(key.Entity, most)
	key.Reason = clipped(key.Reason, most/2)
	return key.String()
}
