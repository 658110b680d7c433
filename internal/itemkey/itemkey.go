// Package itemkey names the items of users that carry locks: it validates their
// primary keys, prints them, and derives the partition key of their queues.
package itemkey

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

// Text prints an item's key for display: "orders" {id S:"7"}.
func Text(tableName string, key table.Item) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(key)) {
		parts = append(parts, nameText(name)+" "+keyText(key[name]))
	}
	return fmt.Sprintf("%q {%s}", tableName, strings.Join(parts, ", "))
}

// nameText returns an attribute's name, quoted if that is needed.
func nameText(name string) string {
	if quoted := strconv.Quote(name); strings.ContainsAny(name, " ,{}") || quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// Validate returns an error if the item's table or key cannot be used. No attribute of the
// key may have one of the lock's names.
func Validate(home *table.Home) error {
	switch {
	case table.NameProblem(home.Table) != "":
		return fmt.Errorf("the item's table %s", table.NameProblem(home.Table))
	case len(home.Key) == 0:
		return errors.New("the item's key is empty: give its partition key, and its sort key if it has one")
	case len(home.Key) > 2:
		return fmt.Errorf("the item's key has %d attributes: a primary key has one or two", len(home.Key))
	}
	for _, name := range slices.Sorted(maps.Keys(home.Key)) {
		value := home.Key[name]
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

// keyProblem describes what is wrong with a value of a key; "" if it can be used.
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

// keyText prints a value of a key. Two values have the same text if they are the same key
// to DynamoDB, in whatever form a number is written.
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

// plainNumber writes a number in one form: 1, 1.0 and 10e-1 are the same key.
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

// Entity returns the partition key of the item's queue rows: the table, the prefix of the
// lock's attributes, and each attribute of the key with its type and value, sorted by name
// and quoted. No two items have the same one. A text that is too long for a partition key
// ends with the SHA-256 of the whole.
//
//	item "orders" "lock_" "id" S:"order-7"
func Entity(home *table.Home) string {
	var b strings.Builder
	fmt.Fprintf(&b, "item %q %q", home.Table, home.Prefix)
	for _, name := range slices.Sorted(maps.Keys(home.Key)) {
		fmt.Fprintf(&b, " %q %s", name, keyText(home.Key[name]))
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

// The text of Entity.
const goString = `"(?:[^"\\]|\\.)*"`

var (
	itemEntity    = regexp.MustCompile(`^item (` + goString + `) ` + goString + `((?: ` + goString + ` [SNB]:` + goString + `)+)$`)
	itemAttribute = regexp.MustCompile(` (` + goString + `) ([SNB]:` + goString + `)`)
)

// TextOf prints the item of a queue, as Text does, or returns "" if the entity was
// shortened or is not of an item.
func TextOf(entity string) string {
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

// maxPrefix leaves room for the longest name behind it.
const maxPrefix = 200

// ValidPrefix returns an error if the prefix of the lock's attributes cannot be used.
func ValidPrefix(prefix string) error {
	switch {
	case len(prefix) > maxPrefix:
		return fmt.Errorf("ItemPrefix has %d bytes: at most %d are possible", len(prefix), maxPrefix)
	case !utf8.ValidString(prefix):
		return fmt.Errorf("ItemPrefix %q is not valid UTF-8", prefix)
	case strings.ContainsAny(prefix, "[]"):
		return fmt.Errorf("ItemPrefix %q has a bracket: the SDK's expressions cannot name such attributes", prefix)
	}
	return nil
}
