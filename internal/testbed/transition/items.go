package transition

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/internal/testbed/av"
)

// ItemOf returns an item of the engine as the library reads it.
func ItemOf(stored value.Item) clause.Item {
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
	var members []string
	for _, e := range v.Elems {
		text := e.Text
		if v.Kind == value.NumberSet {
			text = e.Number.String()
		}
		members = append(members, text)
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
		return &types.AttributeValueMemberM{Value: ItemOf(v.Fields)}
	case value.StringSet:
		return &types.AttributeValueMemberSS{Value: members}
	case value.NumberSet:
		return &types.AttributeValueMemberNS{Value: members}
	}
	return &types.UnknownUnionMember{Tag: string(v.Kind)} // the library writes no other
}

// textOf prints an item, or that there is none.
func textOf(item clause.Item) string {
	if item == nil {
		return "none"
	}
	return av.Print(av.Object(item))
}

// timeless returns the item without times, at any depth.
func timeless(item clause.Item) clause.Item {
	return av.Strip(item, attr.Until, attr.Since, attr.CreatedAt, attr.Kept, "expiresAt")
}
