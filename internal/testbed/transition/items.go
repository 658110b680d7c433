package transition

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/embedded/value"
)

func itemOf(stored value.Item) clause.Item {
	if stored == nil {
		return nil
	}
	item := make(clause.Item, len(stored))
	for name, v := range stored {
		item[name] = valueOf(v)
	}
	return item
}

func valueOf(v value.Value) types.AttributeValue {
	members := func() (texts []string) {
		for _, e := range v.Elems {
			texts = append(texts, e.Text)
		}
		return texts
	}
	switch v.Kind {
	case value.String:
		return &types.AttributeValueMemberS{Value: v.Text}
	case value.Num:
		return &types.AttributeValueMemberN{Value: v.Number.String()}
	case value.Binary:
		return &types.AttributeValueMemberB{Value: []byte(v.Text)}
	case value.Bool:
		return &types.AttributeValueMemberBOOL{Value: v.Bool}
	case value.Map:
		return &types.AttributeValueMemberM{Value: itemOf(v.Fields)}
	case value.StringSet:
		return &types.AttributeValueMemberSS{Value: members()}
	case value.NumberSet:
		set := &types.AttributeValueMemberNS{}
		for _, e := range v.Elems {
			set.Value = append(set.Value, e.Number.String())
		}
		return set
	}
	return &types.UnknownUnionMember{Tag: string(v.Kind)} // the library writes no other
}

// textOf prints an item. Two items are the same exactly if their texts are.
func textOf(item clause.Item) string {
	if item == nil {
		return "none"
	}
	return text(&types.AttributeValueMemberM{Value: item})
}

func text(v types.AttributeValue) string { return string(appendText(nil, v)) }

func appendText(b []byte, v types.AttributeValue) []byte {
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
	case *types.AttributeValueMemberM:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v.Value)) {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(append(b, name...), ": "...)
			b = appendText(b, v.Value[name])
		}
		return append(b, '}')
	}
	return fmt.Appendf(b, "%#v", v)
}

// plain is a number in the form in which the engine prints it.
func plain(number string) string {
	if strings.Trim(number, "0123456789") == "" {
		return number
	}
	if n, err := value.ParseNumber(number); err == nil {
		return n.String()
	}
	return number
}

func with(item, more clause.Item) clause.Item {
	all := maps.Clone(item)
	maps.Copy(all, more)
	return all
}

// timeless returns the item without times, at any depth.
func timeless(item clause.Item) clause.Item {
	rest := clause.Item{}
	for name, v := range item {
		if m, ok := v.(*types.AttributeValueMemberM); ok {
			v = clause.Map(timeless(m.Value))
		}
		if !slices.Contains([]string{attr.Until, attr.Since, attr.CreatedAt, "expiresAt"}, name) {
			rest[name] = v
		}
	}
	return rest
}
