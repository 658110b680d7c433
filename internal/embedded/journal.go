package embedded

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Journal keeps what an engine holds, so that a later engine goes on with it: see
// Restore.
//
// No answer leaves before all that it may depend on is kept. That includes what
// other requests have changed: a reader must not see what a crash undoes.
type Journal interface {
	// Append takes entries that are to be kept together, all or none, and after
	// those of earlier calls. It is called with the engine's mutex held, so it must
	// not wait. Positions rise.
	Append(entries []Entry) (position uint64)

	// Keep waits until all entries up to the position are kept. After an error they
	// may be or not, and the engine answers with status 500.
	Keep(position uint64) error
}

// EntryKind says what an Entry is.
type EntryKind int

// The kinds of entries.
const (
	TableEntry EntryKind = iota // the definition of a table
	ItemEntry
	TokenEntry // the client request token of a transaction
)

// Entry is a part of what an engine holds, in the form in which it is kept.
type Entry struct {
	Kind  EntryKind
	Table string // not of a token
	Key   string // of an item within its table, or the token
	Value []byte // JSON; nil: it is gone, and with a table all of its items
}

// keptTable is the value of a TableEntry.
type keptTable struct {
	Request createTableRequest // that would create it
	Created time.Time
	TTL     string `json:",omitempty"`
}

// keptToken is the value of a TokenEntry.
type keptToken struct {
	Request []byte // see tokenUse
	Until   time.Time
	Tables  []string
	Reads   map[string]float64
}

// changed takes note of an entry for the journal. A nil value says that it is gone.
func (e *Engine) changed(kind EntryKind, table, key string, v any) {
	if e.cfg.Journal == nil {
		return
	}
	entry := Entry{Kind: kind, Table: table, Key: key}
	if v != nil {
		text, err := json.Marshal(v)
		if err != nil {
			panic("what an engine holds always has a JSON form: " + err.Error())
		}
		entry.Value = text
	}
	e.entries = append(e.entries, entry)
}

// flush hands the journal what one request, or one item of a split transaction, has
// changed.
func (e *Engine) flush() {
	if len(e.entries) > 0 {
		e.position = e.cfg.Journal.Append(e.entries)
		e.entries = nil
	}
}

// keep waits until everything that an answer may depend on is kept.
func (e *Engine) keep() error {
	if e.cfg.Journal == nil {
		return nil
	}
	e.mu.Lock()
	position := e.position
	e.mu.Unlock()
	return e.cfg.Journal.Keep(position)
}

// Restore puts kept entries into an engine that has not served yet. A table comes before its items.
func (e *Engine) Restore(entries iter.Seq[Entry]) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for entry := range entries {
		if err := e.restore(entry); err != nil {
			return fmt.Errorf("entry %q of table %q: %w", entry.Key, entry.Table, err)
		}
	}
	slices.SortFunc(e.recent, func(a, b string) int { return e.tokens[a].until.Compare(e.tokens[b].until) })
	return nil
}

func (e *Engine) restore(entry Entry) error {
	switch entry.Kind {
	case TableEntry:
		var kept keptTable
		if err := json.Unmarshal(entry.Value, &kept); err != nil {
			return err
		}
		t, err := newTable(&kept.Request, kept.Created)
		if err != nil {
			return err
		}
		t.ttl = kept.TTL
		e.tables[t.name] = t
	case ItemEntry:
		t := e.tables[entry.Table]
		if t == nil {
			return errNotFound()
		}
		var item value.Item
		if err := json.Unmarshal(entry.Value, &item); err != nil {
			return err
		}
		k, err := t.itemKey(item)
		if err != nil {
			return err
		}
		t.put(k, item)
	case TokenEntry:
		var kept keptToken
		if err := json.Unmarshal(entry.Value, &kept); err != nil {
			return err
		}
		e.tokens[entry.Key] = tokenUse{
			request: string(kept.Request), until: kept.Until, reads: tally{tables: kept.Tables, cost: kept.Reads},
		}
		e.recent = append(e.recent, entry.Key)
	}
	return nil
}
