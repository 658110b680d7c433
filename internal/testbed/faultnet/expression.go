package faultnet

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var placeholder = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

// Expression is all expressions of the request as one text, with names and
// values in place of their placeholders, such as
//
//	SET granted = 5 IF size(holders) = 0 AND granted < 5
//
// A batch or transaction gives one such text for each action, joined by "; ".
func (r Request) Expression() string {
	var all []string
	for _, action := range r.actions() {
		if text := expression(action); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

func expression(action map[string]any) string {
	names, _ := action["ExpressionAttributeNames"].(map[string]any)
	values, _ := action["ExpressionAttributeValues"].(map[string]any)
	resolve := func(token string) string {
		if name, ok := names[token].(string); ok {
			return name
		}
		if value, ok := values[token]; ok {
			return Literal(value)
		}
		return token
	}
	var parts []string
	for _, field := range []struct{ name, prefix string }{
		{"KeyConditionExpression", ""},
		{"UpdateExpression", ""},
		{"ConditionExpression", "IF "},
		{"FilterExpression", "FILTER "},
		{"ProjectionExpression", "PROJECT "},
	} {
		if text, _ := action[field.name].(string); text != "" {
			parts = append(parts, field.prefix+placeholder.ReplaceAllStringFunc(text, resolve))
		}
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// Literal writes an attribute value, as JSON decodes it, the way a person
// would: 5, "text", {beat: 0}, [1, 2].
func Literal(value any) string {
	typed, _ := value.(map[string]any)
	for kind, v := range typed {
		switch v := v.(type) {
		case string:
			if kind == "N" {
				return v
			}
			return fmt.Sprintf("%q", v)
		case []any:
			parts := make([]string, len(v))
			for i, member := range v {
				if kind == "L" {
					parts[i] = Literal(member)
				} else {
					parts[i] = fmt.Sprint(member)
				}
			}
			return "[" + strings.Join(parts, ", ") + "]"
		case map[string]any:
			return "{" + attributes(v) + "}"
		case bool:
			if kind == "NULL" {
				return "null"
			}
			return fmt.Sprint(v)
		}
	}
	return "?"
}

func attributes(item map[string]any) string {
	parts := make([]string, 0, len(item))
	for _, name := range sortedKeys(item) {
		parts = append(parts, name+": "+Literal(item[name]))
	}
	return strings.Join(parts, ", ")
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

var zeros = regexp.MustCompile(`0{8,}`)

// Describe is a short text for people: which items, and what is done to them.
func (r Request) Describe() string {
	var parts []string
	for _, item := range r.Items() {
		parts = append(parts, "{"+attributes(item)+"}")
	}
	if text := r.Expression(); text != "" {
		parts = append(parts, text)
	}
	return shorten(zeros.ReplaceAllString(strings.Join(parts, " "), "0…"), describeLimit)
}

const describeLimit = 320 // runes; a TAKE with its condition fits

func shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}
