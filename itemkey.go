package queuelock

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/table"
)

// ItemKey names an item of the caller's own.
type ItemKey struct {
	// Table is the item's table, by name or ARN, in the region of the client's
	// own: 3 to 255 of a-z, A-Z, 0-9, "_", "-" and ".", or up to 1024 bytes of
	// ARN. Every process must name it in the same way.
	Table string
	// Key is the item's primary key: one attribute or two, each of type S, N or
	// B.
	Key map[string]types.AttributeValue
}

// ItemReason is the reason of the queues of items.
const ItemReason = "item"

// String prints the key for people.
func (k ItemKey) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(k.Key)) {
		parts = append(parts, nameText(name)+" "+keyText(k.Key[name]))
	}
	return fmt.Sprintf("%q {%s}", k.Table, strings.Join(parts, ", "))
}

// nameText is an attribute's name, quoted if that is needed.
func nameText(name string) string {
	if quoted := strconv.Quote(name); strings.ContainsAny(name, " ,{}") || quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// validate also says what stands in the way of the lock's attributes, whose
// names begin with prefix.
func (k ItemKey) validate(home *table.Home) error {
	switch {
	case table.NameProblem(k.Table) != "":
		return fmt.Errorf("the item's table %s", table.NameProblem(k.Table))
	case len(k.Key) == 0:
		return errors.New("the item's key is empty: give its partition key, and its sort key if it has one")
	case len(k.Key) > 2:
		return fmt.Errorf("the item's key has %d attributes: a primary key has one or two", len(k.Key))
	}
	for _, name := range slices.Sorted(maps.Keys(k.Key)) {
		value := k.Key[name]
		switch {
		case name == "" || len(name) > 255 || !utf8.ValidString(name):
			return fmt.Errorf("the item's key has an attribute named %q: 1 to 255 bytes of UTF-8 are needed", name)
		case strings.ContainsAny(name, "[]"):
			return fmt.Errorf("the item's key has an attribute named %q: the SDK's expressions cannot name it", name)
		case home.Owns(name):
			return fmt.Errorf("the item's key attribute %q is also the lock's: choose another Config.ItemPrefix", name)
		case nilValue(value):
			return fmt.Errorf("the item's key attribute %q is a nil %T: a value is needed", name, value)
		case table.KeyType(value) == "":
			return fmt.Errorf("the item's key attribute %q is %s: a string, a number or binary is needed", name, table.TypeName(value))
		}
		if problem := keyProblem(value); problem != "" {
			return fmt.Errorf("the item's key attribute %q %s", name, problem)
		}
	}
	return nil
}

// nilValue reports whether the value is a nil pointer of one of the SDK's types.
func nilValue(v types.AttributeValue) bool {
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

// keyProblem is what is wrong with a value of a key, or "".
func keyProblem(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		switch {
		case v.Value == "":
			return "is empty"
		case !utf8.ValidString(v.Value):
			return fmt.Sprintf("is %q, which is not valid UTF-8", v.Value)
		}
	case *types.AttributeValueMemberN:
		if _, ok := plainNumber(v.Value); !ok {
			return fmt.Sprintf("is %.64q, which is no number of DynamoDB's", v.Value)
		}
	case *types.AttributeValueMemberB:
		if len(v.Value) == 0 {
			return "is empty"
		}
	}
	return ""
}

// keyText is a value of a key: the same text for the same key, however its
// number is written, and another for another.
func keyText(v types.AttributeValue) string {
	if nilValue(v) {
		return "?"
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return "S:" + strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		n, _ := plainNumber(v.Value)
		return "N:" + strconv.Quote(n)
	case *types.AttributeValueMemberB:
		return "B:" + strconv.Quote(base64.StdEncoding.EncodeToString(v.Value))
	}
	return "?"
}

// plainNumber writes a number as DynamoDB understands it in one way only: 1, 1.0
// and 10e-1 are the same key.
func plainNumber(s string) (string, bool) {
	const maxLength, maxExponent = 300, 300 // DynamoDB has 38 digits, and exponents to 126
	if s == "" || len(s) > maxLength || strings.Trim(s, "0123456789.eE+-") != "" {
		return "", false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(s[i+1:]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "", false
		}
	}
	n, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", false
	}
	return n.RatString(), true
}

// entity is the partition key of the item's queue rows: the table, the prefix of
// the lock's attributes, and each attribute of the key with its type and value,
// in the order of their names and quoted as Go does it, so that no two items
// have the same. One that is longer than a partition key can be ends, instead of
// its rest, with the SHA-256 of the whole.
//
//	item "orders" "lock_" "id" S:"order-7"
func (k ItemKey) entity(prefix string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "item %q %q", k.Table, prefix)
	for _, name := range slices.Sorted(maps.Keys(k.Key)) {
		fmt.Fprintf(&b, " %q %s", name, keyText(k.Key[name]))
	}
	whole := b.String()
	if len(whole) <= table.MaxPartitionKey {
		return whole
	}
	sum := fmt.Sprintf(" %x", sha256.Sum256([]byte(whole)))
	end := table.MaxPartitionKey - len(sum)
	for !utf8.RuneStart(whole[end]) {
		end--
	}
	return whole[:end] + sum
}

// An entity of an item, and the attributes of the key in it; see ItemKey.entity.
const goString = `"(?:[^"\\]|\\.)*"`

var (
	itemEntity    = regexp.MustCompile(`^item (` + goString + `) ` + goString + `((?: ` + goString + ` [SNB]:` + goString + `)+)$`)
	itemAttribute = regexp.MustCompile(` (` + goString + `) ([SNB]:` + goString + `)`)
)

// itemText prints the item whose queue has that entity as ItemKey.String does; ""
// if it is no item's, or one that was cut.
func itemText(entity string) string {
	found := itemEntity.FindStringSubmatch(entity)
	if found == nil {
		return ""
	}
	var parts []string
	for _, attribute := range itemAttribute.FindAllStringSubmatch(found[2], -1) {
		name, err := strconv.Unquote(attribute[1])
		if err != nil {
			return ""
		}
		parts = append(parts, nameText(name)+" "+attribute[2])
	}
	return fmt.Sprintf("%s {%s}", found[1], strings.Join(parts, ", "))
}

// maxItemPrefix leaves room for the longest name behind it.
const maxItemPrefix = 200

func validItemPrefix(prefix string) error {
	switch {
	case len(prefix) > maxItemPrefix:
		return fmt.Errorf("ItemPrefix has %d bytes: at most %d are possible", len(prefix), maxItemPrefix)
	case !utf8.ValidString(prefix):
		return fmt.Errorf("ItemPrefix %q is not valid UTF-8", prefix)
	case strings.ContainsAny(prefix, "[]"):
		return fmt.Errorf("ItemPrefix %q has a bracket: the SDK's expressions cannot name such attributes", prefix)
	}
	return nil
}
