package conformance

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type (
	value = types.AttributeValue
	item  = map[string]types.AttributeValue
)

// avOptions compare attribute values by content, and sets without their order. That a list or a string of bytes is empty
// has two forms in Go; that an item is empty and that there is none are different things.
var avOptions = cmp.Options{
	cmp.FilterValues(func(a, b []value) bool { return len(a) == 0 && len(b) == 0 }, cmp.Comparer(func(a, b []value) bool { return true })),
	cmp.FilterValues(func(a, b []byte) bool { return len(a) == 0 && len(b) == 0 }, cmp.Comparer(func(a, b []byte) bool { return true })),
	cmpopts.IgnoreUnexported(
		types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberBS{},
		types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberN{},
		types.AttributeValueMemberNS{}, types.AttributeValueMemberNULL{}, types.AttributeValueMemberS{},
		types.AttributeValueMemberSS{},
	),
	cmp.FilterPath(func(p cmp.Path) bool {
		switch p.Index(-2).Type() {
		case typeOfSS, typeOfNS, typeOfBS:
			return true
		}
		return false
	}, cmp.Options{
		cmpopts.SortSlices(func(a, b string) bool { return a < b }),
		cmpopts.SortSlices(func(a, b []byte) bool { return string(a) < string(b) }),
	}),
}

func str(s string) value { return &types.AttributeValueMemberS{Value: s} }

// num takes the number as written, for the many that no Go type holds.
func num(s string) value { return &types.AttributeValueMemberN{Value: s} }

func n(i int) value { return num(strconv.Itoa(i)) }

func boolean(b bool) value { return &types.AttributeValueMemberBOOL{Value: b} }

func null() value { return &types.AttributeValueMemberNULL{Value: true} }

func binary(s string) value { return &types.AttributeValueMemberB{Value: []byte(s)} }

func list(vs ...value) value { return &types.AttributeValueMemberL{Value: vs} }

func object(it item) value { return &types.AttributeValueMemberM{Value: it} }

func strs(ss ...string) value { return &types.AttributeValueMemberSS{Value: ss} }

func nums(ss ...string) value { return &types.AttributeValueMemberNS{Value: ss} }

func binaries(ss ...string) value {
	v := &types.AttributeValueMemberBS{}
	for _, s := range ss {
		v.Value = append(v.Value, []byte(s))
	}
	return v
}

var (
	typeOfSS = reflect.TypeFor[types.AttributeValueMemberSS]()
	typeOfNS = reflect.TypeFor[types.AttributeValueMemberNS]()
	typeOfBS = reflect.TypeFor[types.AttributeValueMemberBS]()
)

// sameMembers compares the members of a set in the order in which they came, which same ignores.
func (c *check) sameMembers(set value, want ...string) {
	var got []string
	switch set := set.(type) {
	case *types.AttributeValueMemberSS:
		got = set.Value
	case *types.AttributeValueMemberNS:
		got = set.Value
	case *types.AttributeValueMemberBS:
		for _, member := range set.Value {
			got = append(got, string(member))
		}
	}
	if !slices.Equal(got, want) {
		c.Errorf("the members are %q, want %q", got, want)
	}
}
