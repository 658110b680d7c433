package table

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is a conditional update in the form of a request.
type Write struct {
	Update, Condition string
	Names             map[string]string
	Values            map[string]types.AttributeValue
}

var (
	placeholders = regexp.MustCompile(`([#:])(\d+)`)         // of the SDK's builder: #0, :0
	tops         = regexp.MustCompile(`(?:^|[^.#\w])(#\d+)`) // placeholders at the beginning of a path
)

// Join returns one write of the lock's own update and the user's, on both conditions.
// Neither is changed.
func Join(own, users expression.Expression) (Write, error) {
	w := Write{Names: maps.Clone(own.Names()), Values: maps.Clone(own.Values())}
	if w.Values == nil {
		w.Values = map[string]types.AttributeValue{}
	}
	for placeholder, name := range users.Names() {
		w.Names[apart(placeholder)] = name
	}
	for placeholder, value := range users.Values() {
		w.Values[apart(placeholder)] = value
	}
	if len(w.Values) == 0 {
		w.Values = nil // DynamoDB refuses an empty map
	}
	parts := map[string][]string{} // the builder begins a line with each keyword
	for _, text := range []string{*own.Update(), apart(*users.Update())} {
		for line := range strings.Lines(text) {
			keyword, actions, _ := strings.Cut(strings.TrimSpace(line), " ")
			parts[keyword] = append(parts[keyword], actions)
		}
	}
	for _, keyword := range []string{"ADD", "DELETE", "REMOVE", "SET"} {
		if actions := parts[keyword]; len(actions) > 0 {
			w.Update += keyword + " " + strings.Join(actions, ", ") + "\n"
			delete(parts, keyword)
		}
	}
	if len(parts) > 0 {
		return Write{}, fmt.Errorf("the update expression %q cannot be read", *users.Update())
	}
	w.Condition = *own.Condition()
	if condition := users.Condition(); condition != nil {
		w.Condition = "(" + w.Condition + ") AND (" + apart(*condition) + ")"
	}
	return w, nil
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
