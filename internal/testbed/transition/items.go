package transition

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/attr"
	"github.com/queuelock/queuelock/internal/embedded/value"
	"github.com/queuelock/queuelock/internal/testbed/av"
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
