package table

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/clause"
)

var (
	placeholders = regexp.MustCompile(`([#:])(\d+)`)         // of the SDK's builder: #0, :0
	tops         = regexp.MustCompile(`(?:^|[^.#\w])(#\d+)`) // placeholders at the beginning of a path
)

// Join returns the expressions of one write of the lock's own update and the user's, on both
// conditions. Neither is changed.
func Join(own Expressions, users expression.Expression) Expressions {
	if own.err != nil {
		return own
	}
	e := Expressions{names: maps.Clone(own.names), values: maps.Clone(own.values), write: clause.Write{Repeat: own.write.Repeat}}
	if e.values == nil {
		e.values = map[string]types.AttributeValue{}
	}
	for placeholder, name := range users.Names() {
		e.names[apart(placeholder)] = name
	}
	for placeholder, value := range users.Values() {
		e.values[apart(placeholder)] = value
	}
	if len(e.values) == 0 {
		e.values = nil // DynamoDB refuses an empty map
	}
	parts := map[string][]string{} // the builder begins a line with each keyword
	for _, text := range []string{*own.update, apart(*users.Update())} {
		for line := range strings.Lines(text) {
			keyword, actions, _ := strings.Cut(strings.TrimSpace(line), " ")
			parts[keyword] = append(parts[keyword], actions)
		}
	}
	update := ""
	for _, keyword := range []string{"ADD", "DELETE", "REMOVE", "SET"} {
		if actions := parts[keyword]; len(actions) > 0 {
			update += keyword + " " + strings.Join(actions, ", ") + "\n"
			delete(parts, keyword)
		}
	}
	if len(parts) > 0 {
		return Expressions{err: fmt.Errorf("the update expression %q cannot be read", *users.Update())}
	}
	condition := *own.condition
	if its := users.Condition(); its != nil {
		condition = "(" + condition + ") AND (" + apart(*its) + ")"
	}
	e.update, e.condition = &update, &condition
	return e
}

// apart gives the user's placeholders names that the lock's own do not have.
func apart(text string) string { return placeholders.ReplaceAllString(text, "${1}u$2") }

// TopNames returns the attributes of the item that an update names.
func TopNames(e expression.Expression) []string {
	var names []string
	for _, match := range tops.FindAllStringSubmatch(*e.Update(), -1) {
		names = append(names, e.Names()[match[1]])
	}
	return names
}
