// Package planted leaves conditions out of writes: mistakes that a test plants to see them found.
package planted

import "github.com/queuelock/queuelock/clause"

// Leave, if not nil, says of a named condition of a write that it is left out of what is sent. It is set before the
// first write.
var Leave func(w clause.Write, condition string) bool

// In returns the write without the conditions that Leave names.
func In(w clause.Write) clause.Write {
	if Leave == nil {
		return w
	}
	whole := w
	for _, name := range w.Conditions() {
		if Leave(whole, name) {
			w, _ = w.Without(name)
		}
	}
	return w
}
