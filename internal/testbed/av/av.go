// Package av makes and prints DynamoDB items and attribute values in few words, for tests.
package av

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/embedded/value"
)

// Item is an item, or the key of one.
type Item = map[string]types.AttributeValue

// Str returns a string.
func Str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Num returns a number: v as fmt prints it.
func Num(v any) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(v)} }

// Bin returns bytes.
func Bin(b ...byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// Object returns a map.
func Object(m Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }

// Text returns the text of a string, and panics if v is not a string.
func Text(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }

// With returns a copy of m with the attributes of more added or replaced.
func With(m, more Item) Item {
	m = maps.Clone(m)
	maps.Copy(m, more)
	return m
}

// Without returns a copy of m without an attribute.
func Without(m Item, name string) Item {
	m = maps.Clone(m)
	delete(m, name)
	return m
}

// Strip returns a copy of m without the attributes of those names, at any depth of maps.
func Strip(m Item, names ...string) Item {
	rest := Item{}
	for name, v := range m {
		if inner, ok := v.(*types.AttributeValueMemberM); ok {
			v = Object(Strip(inner.Value, names...))
		}
		if !slices.Contains(names, name) {
			rest[name] = v
		}
	}
	return rest
}

// Print returns a value as text. Two values are the same to DynamoDB exactly if their texts are.
func Print(v types.AttributeValue) string { return string(Append(nil, v)) }

// Append appends the text of [Print].
func Append(b []byte, v types.AttributeValue) []byte {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return strconv.AppendQuote(b, v.Value)
	case *types.AttributeValueMemberN:
		return append(b, plain(v.Value)...)
	case *types.AttributeValueMemberB:
		return base64.StdEncoding.AppendEncode(append(b, "base64 "...), v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(b, v.Value)
	case *types.AttributeValueMemberSS:
		return fmt.Appendf(b, "%q", slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberNS:
		return fmt.Appendf(b, "%s", slices.Sorted(slices.Values(v.Value)))
	case *types.AttributeValueMemberL:
		b = append(b, '[')
		for _, element := range v.Value {
			b = append(Append(b, element), ", "...)
		}
		return append(b, ']')
	case *types.AttributeValueMemberM:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v.Value)) {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = Append(append(append(b, name...), ": "...), v.Value[name])
		}
		return append(b, '}')
	}
	return fmt.Appendf(b, "%#v", v)
}

// plain is a number in the form in which an engine prints it.
func plain(number string) string {
	if strings.Trim(number, "0123456789") == "" {
		return number
	}
	if n, err := value.ParseNumber(number); err == nil {
		return n.String()
	}
	return number
}
