// Package itemkey names a user's item that carries a lock: it validates and prints its
// primary key, and derives from it the partition key of its queue.
package itemkey

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/clause"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Validate returns an error if the item's table or key cannot be used.
func Validate(home *queue.Home) error {
	switch {
	case table.NameProblem(home.Table) != "":
		return fmt.Errorf("the item's table %s", table.NameProblem(home.Table))
	case len(home.Key) == 0:
		return errors.New("the item's key is empty: give its partition key, and its sort key if it has one")
	case len(home.Key) > 2:
		return fmt.Errorf("the item's key has %d attributes: a primary key has one or two", len(home.Key))
	}
	for _, name := range slices.Sorted(maps.Keys(home.Key)) {
		_, problem := keyText(home.Key[name])
		switch {
		case name == "" || len(name) > 255 || !utf8.ValidString(name):
			return fmt.Errorf("the item's key has an attribute named %q: 1 to 255 bytes of UTF-8 are needed", name)
		case strings.ContainsAny(name, "[]"):
			return fmt.Errorf("the item's key has an attribute named %q: the SDK's expressions cannot name it", name)
		case home.Owns(name):
			return fmt.Errorf("the item's key attribute %q is also the lock's: choose another Config.ItemPrefix", name)
		case problem != "":
			return fmt.Errorf("the item's key attribute %q is %s", name, problem)
		}
	}
	return nil
}

// keyText prints a value of a key, and describes what is wrong with it; "" if it can be
// used. Values that are one key to DynamoDB have one text: 1, 1.0 and 10e-1.
func keyText(value types.AttributeValue) (text, problem string) {
	if p := reflect.ValueOf(value); p.Kind() == reflect.Pointer && p.IsNil() {
		return "?", fmt.Sprintf("a nil %T: a value is needed", value)
	}
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		if v.Value == "" {
			problem = "empty"
		} else if !utf8.ValidString(v.Value) {
			problem = fmt.Sprintf("%q, which is not valid UTF-8", v.Value)
		}
		return "S:" + strconv.Quote(v.Value), problem
	case *types.AttributeValueMemberN:
		n, ok := clause.Rational(v.Value, 300) // DynamoDB has 38 digits, and exponents to 126
		if !ok {
			return `N:""`, fmt.Sprintf("%.64q, which is no number of DynamoDB's", v.Value)
		}
		return "N:" + strconv.Quote(n.RatString()), ""
	case *types.AttributeValueMemberB:
		if len(v.Value) == 0 {
			problem = "empty"
		}
		return "B:" + strconv.Quote(base64.StdEncoding.EncodeToString(v.Value)), problem
	}
	return "?", clause.TypeName(value) + ": a string, a number or binary is needed"
}

// Entity returns the partition key of the item's queue rows: the table, the prefix of the
// lock's attributes, and the key, sorted by name. No two items have the same one. A text
// that is too long for a partition key ends with the SHA-256 of the whole.
//
//	item "orders" "lock_" "id" S:"order-7"
func Entity(home *queue.Home) string {
	var b strings.Builder
	fmt.Fprintf(&b, "item %q %q", home.Table, home.Prefix)
	for _, name := range slices.Sorted(maps.Keys(home.Key)) {
		value, _ := keyText(home.Key[name])
		fmt.Fprintf(&b, " %q %s", name, value)
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

// Text prints an item's key for display: "orders" {id S:"7"}.
func Text(tableName string, key clause.Item) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(key)) {
		value, _ := keyText(key[name])
		parts = append(parts, nameText(name)+" "+value)
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

// The text of Entity.
const goString = `"(?:[^"\\]|\\.)*"`

var (
	itemAttribute = regexp.MustCompile(` (` + goString + `) ([SNB]:` + goString + `)`)
	itemEntity    = regexp.MustCompile(`^item (` + goString + `) ` + goString + `((?:` + itemAttribute.String() + `)+)$`)
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

// ValidPrefix returns an error if the prefix of the lock's attributes cannot be used.
func ValidPrefix(prefix string) error {
	switch {
	case len(prefix) > 200: // the longest name follows it
		return fmt.Errorf("ItemPrefix has %d bytes: at most 200 are possible", len(prefix))
	case !utf8.ValidString(prefix):
		return fmt.Errorf("ItemPrefix %q is not valid UTF-8", prefix)
	case strings.ContainsAny(prefix, "[]"):
		return fmt.Errorf("ItemPrefix %q has a bracket: the SDK's expressions cannot name such attributes", prefix)
	}
	return nil
}
