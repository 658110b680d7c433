package audit

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/queuelock/queuelock/internal/embedded"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

type item map[string]struct {
	S, N string
	BOOL bool
	M    item
}

// refresh takes over an item that may be a queue's.
func (a *Audit) refresh(c embedded.Change) {
	key := [2]string{c.Key["pk"].Text, c.Key["sk"].Text}
	switch {
	case c.Table != a.table || !strings.Contains(key[1], "/"):
	case c.Item == nil:
		delete(a.items, key)
	default:
		a.items[key] = itemOf(c.Item)
	}
}

// itemOf is the part of an item that is judged.
func itemOf(stored value.Item) (it item) {
	text, err := json.Marshal(stored)
	if err == nil {
		err = json.Unmarshal(text, &it)
	}
	if err != nil {
		panic(fmt.Sprintf("audit: %v: %s", err, text))
	}
	return it
}
