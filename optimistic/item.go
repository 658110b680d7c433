package optimistic

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item with its version in the table. New items are written as Item{Attributes: …}. Others come from
// Load, and keep their version when Attributes change.
type Item struct {
	// Attributes are the item's own with its key, without those of the version.
	Attributes map[string]types.AttributeValue

	stored  bool // it is in the table
	version int64
	tokens  []string // of its latest writes, the latest first
	key     map[string]types.AttributeValue
}

// Version returns how often the item was saved. Zero means never.
func (i Item) Version() int64 { return i.version }

// Exists reports whether the item was in the table when it was loaded.
func (i Item) Exists() bool { return i.stored }

// Tag returns a short text, such as for an HTTP ETag, that is equal for two items of one key only if nothing
// was saved in between. It is empty if the item is not in the table, and "0" for items without a version.
func (i Item) Tag() string {
	switch {
	case !i.stored:
		return ""
	case len(i.tokens) == 0:
		return strconv.FormatInt(i.version, 10)
	}
	return fmt.Sprintf("%d-%s", i.version, i.tokens[0])
}

// Wrote reports whether one of the 16 latest writes to the item had the token.
func (i Item) Wrote(token string) bool { return slices.Contains(i.tokens, token) }

// state names the version in errors.
func (i Item) state() string {
	switch {
	case !i.stored:
		return "no item"
	case i.version == 0:
		return "no version"
	}
	return fmt.Sprintf("version %d", i.version)
}

const (
	// maxTokens is how many writes an item remembers. It is the same for all programs, so an item with fewer
	// tokens has forgotten none.
	maxTokens  = 16
	maxVersion = math.MaxInt64 - 1 // leaves room for one more
)

// decode takes the version out of an item of the table.
func (t *Table) decode(found map[string]types.AttributeValue) (*Item, error) {
	i := &Item{Attributes: maps.Clone(found), stored: true, key: t.keyOf(found)}
	version, hasVersion := found[t.cfg.VersionAttribute]
	tokens, hasTokens := found[t.cfg.TokenAttribute]
	delete(i.Attributes, t.cfg.VersionAttribute)
	delete(i.Attributes, t.cfg.TokenAttribute)
	malformed := func(attribute, problem string, args ...any) error {
		problem = fmt.Sprintf(problem, args...)
		return &MalformedError{Table: t.name, Key: t.show(i.key), Attribute: attribute, Problem: problem}
	}
	if n, ok := version.(*types.AttributeValueMemberN); hasVersion {
		if ok {
			i.version, ok = parseVersion(n.Value)
		}
		if !ok {
			return nil, malformed(t.cfg.VersionAttribute, "found %s, need a number from 1 to %d",
				show(version), int64(maxVersion))
		}
	}
	if s, ok := tokens.(*types.AttributeValueMemberS); hasTokens {
		if ok {
			i.tokens = strings.Fields(s.Value)
		}
		switch {
		case !ok || len(i.tokens) == 0 || len(i.tokens) > maxTokens || strings.Join(i.tokens, " ") != s.Value:
			return nil, malformed(t.cfg.TokenAttribute, "found %s, need 1 to %d tokens with a space between",
				show(tokens), maxTokens)
		case !hasVersion:
			return nil, malformed(t.cfg.VersionAttribute, "found none beside %q", t.cfg.TokenAttribute)
		}
	}
	return i, nil
}

// parseVersion reads a whole number as DynamoDB prints it.
func parseVersion(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 1 && n <= maxVersion && strconv.FormatInt(n, 10) == s
}

// next returns the item as a save with that token leaves it.
func (t *Table) next(i Item, token string) Item {
	tokens := append([]string{token}, i.tokens...)
	return Item{
		Attributes: maps.Clone(i.Attributes), stored: true, key: t.keyOf(i.Attributes),
		version: i.version + 1, tokens: tokens[:min(len(tokens), maxTokens)],
	}
}

// encode returns the item with its version, as it is in the table.
func (t *Table) encode(i Item) map[string]types.AttributeValue {
	stored := maps.Clone(i.Attributes)
	stored[t.cfg.VersionAttribute] = &types.AttributeValueMemberN{Value: strconv.FormatInt(i.version, 10)}
	stored[t.cfg.TokenAttribute] = &types.AttributeValueMemberS{Value: strings.Join(i.tokens, " ")}
	return stored
}

func (t *Table) keyOf(attributes map[string]types.AttributeValue) map[string]types.AttributeValue {
	key := map[string]types.AttributeValue{}
	for _, name := range t.keys {
		key[name] = attributes[name]
	}
	return key
}

// validate checks an item that is to be written.
func (t *Table) validate(i Item) error {
	if err := t.validateKey(i.Attributes); err != nil {
		return err
	}
	for _, name := range []string{t.cfg.VersionAttribute, t.cfg.TokenAttribute} {
		if _, ok := i.Attributes[name]; ok {
			return fmt.Errorf("item %s: attribute %q is the version's own: leave it out of the item", t.show(i.Attributes), name)
		}
	}
	switch {
	case i.stored && !reflect.DeepEqual(t.keyOf(i.Attributes), i.key):
		return fmt.Errorf("item %s was loaded as %s: an item's key cannot be changed", t.show(i.Attributes), t.show(i.key))
	case i.version >= maxVersion:
		return fmt.Errorf("item %s has version %d, and there is none above it", t.show(i.Attributes), i.version)
	}
	return nil
}

// validateKey checks that the key attributes exist and have a type of a key.
func (t *Table) validateKey(attributes map[string]types.AttributeValue) error {
	for _, name := range t.keys {
		if text(attributes[name]) == "" {
			return fmt.Errorf("key attribute %q is %s: need a value of type S, N or B that is not empty",
				name, show(attributes[name]))
		}
	}
	return nil
}

// show prints the key of an item.
func (t *Table) show(attributes map[string]types.AttributeValue) string {
	var parts []string
	for _, name := range t.keys {
		parts = append(parts, name+"="+text(attributes[name]))
	}
	return strings.Join(parts, ", ")
}

// show names a value's type, and a simple value.
func show(value types.AttributeValue) string {
	if value == nil {
		return "missing"
	}
	kind := strings.TrimPrefix(reflect.TypeOf(value).Elem().Name(), "AttributeValueMember")
	if s := text(value); s != "" {
		return kind + " " + s
	}
	return "an " + kind
}

// text prints the start of a value; "" if it is empty or of a type that no key has.
func text(value types.AttributeValue) (s string) {
	if value == nil || reflect.ValueOf(value).IsNil() {
		return ""
	}
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		s = v.Value
	case *types.AttributeValueMemberN:
		s = v.Value
	case *types.AttributeValueMemberB:
		s = base64.StdEncoding.EncodeToString(v.Value)
	}
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return s
}
