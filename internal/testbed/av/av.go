// Package av makes DynamoDB items and attribute values in few words, for tests.
package av

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
