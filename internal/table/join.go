package table

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/queue"
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
	e := Expressions{names: maps.Clone(own.names), values: maps.Clone(own.values),
		write: clause.Write{Repeat: own.write.Repeat}}
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

// UsersUpdate builds a caller's update of the item, which must leave the key and the lock's own attributes alone, and
// its conditions.
func UsersUpdate(
	h *queue.Home, update expression.UpdateBuilder, cond []expression.ConditionBuilder,
) (expression.Expression, error) {
	b := expression.NewBuilder().WithUpdate(update)
	switch len(cond) {
	case 0:
	case 1:
		b = b.WithCondition(cond[0])
	default:
		b = b.WithCondition(expression.And(cond[0], cond[1], cond[2:]...))
	}
	users, err := b.Build()
	if unset, ok := errors.AsType[expression.UnsetParameterError](err); ok {
		switch text := unset.Error(); {
		case strings.HasSuffix(text, "UpdateBuilder"):
			return users, errors.New("the update is empty: set, add, delete or remove an attribute, or call Release")
		case strings.HasSuffix(text, "ConditionBuilder"):
			return users, errors.New("a condition is empty: leave it out")
		}
		return users, fmt.Errorf("a name in the update or in a condition is empty: %w", err)
	}
	if err != nil {
		return users, err
	}
	for _, name := range slices.Sorted(slices.Values(topNames(users))) {
		switch _, key := h.Key[name]; {
		case key:
			return users, fmt.Errorf("the update names the item's key attribute %q, which cannot be changed", name)
		case h.Owns(name):
			return users, fmt.Errorf("the update names the lock's own attribute %q", name)
		}
	}
	return users, nil
}

// topNames returns the attributes of the item that an update names.
func topNames(e expression.Expression) []string {
	var names []string
	for _, match := range tops.FindAllStringSubmatch(*e.Update(), -1) {
		names = append(names, e.Names()[match[1]])
	}
	return names
}
