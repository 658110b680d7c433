package value

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxNesting is how many levels an item may have, itself included: DynamoDB
// Local takes 31 maps or lists inside one another, and
// docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
// speaks of 32 levels.
const MaxNesting = 32

// UnmarshalJSON reads the wire form {"S": "text"}. The error is Malformed for
// JSON of the wrong shape and Invalid for values that DynamoDB refuses.
func (v *Value) UnmarshalJSON(data []byte) error {
	got, err := decode(data, 0)
	if err == nil {
		*v = got
	}
	return err
}

func decode(data []byte, depth int) (Value, error) {
	if kind, text, ok := plainScalar(data); ok {
		return scalar(kind, text)
	}
	wire, err := unmarshal[map[Kind]json.RawMessage](data)
	if err != nil {
		return Value{}, err
	}
	for kind, raw := range wire {
		if string(raw) == "null" {
			delete(wire, kind) // the same as not being there
		}
	}
	switch {
	case len(wire) == 0:
		return Value{}, Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case len(wire) > 1:
		return Value{}, Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	for kind, raw := range wire {
		return decodeKind(kind, raw, depth)
	}
	panic("unreachable: the map has one entry")
}

// plainScalar reads a string, number or binary value without spaces and escapes,
// as nearly all are. The data is valid JSON.
func plainScalar(data []byte) (kind Kind, text string, ok bool) {
	const open, end = `{"S":"`, `"}`
	if len(data) < len(open)+len(end) || data[1] != '"' || data[3] != '"' || data[4] != ':' || data[5] != '"' || data[len(data)-2] != '"' {
		return "", "", false
	}
	kind, inner := Kind(data[2:3]), data[len(open):len(data)-len(end)]
	if kind != String && kind != Num && kind != Binary || bytes.IndexByte(inner, '"') >= 0 || bytes.IndexByte(inner, '\\') >= 0 || !utf8.Valid(inner) {
		return "", "", false
	}
	return kind, string(inner), true
}

func decodeKind(kind Kind, raw json.RawMessage, depth int) (Value, error) {
	switch kind {
	case String, Num, Binary:
		text, err := unmarshal[string](raw)
		if err != nil {
			return Value{}, err
		}
		return scalar(kind, text)
	case Bool, Null:
		return decodeBool(kind, raw)
	case StringSet, NumberSet, BinarySet:
		members, err := unmarshal[[]string](raw)
		if err != nil {
			return Value{}, err
		}
		return set(kind, members)
	case List, Map:
		if depth+1 >= MaxNesting {
			return Value{}, Invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
		}
		if kind == List {
			return decodeList(raw, depth+1)
		}
		return decodeMap(raw, depth+1)
	}
	return Value{}, Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

func decodeBool(kind Kind, raw json.RawMessage) (Value, error) {
	is, err := unmarshal[bool](raw)
	switch {
	case err != nil:
		return Value{}, err
	case kind == Bool:
		return Value{Kind: Bool, Bool: is}, nil
	case !is:
		return Value{}, Invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
	}
	return Value{Kind: Null}, nil
}

func decodeList(raw json.RawMessage, depth int) (Value, error) {
	elems, err := unmarshal[[]json.RawMessage](raw)
	if err != nil {
		return Value{}, err
	}
	v := Value{Kind: List, Elems: make([]Value, len(elems))}
	for i, raw := range elems {
		if v.Elems[i], err = decode(raw, depth); err != nil {
			return Value{}, err
		}
	}
	return v, nil
}

func decodeMap(raw json.RawMessage, depth int) (Value, error) {
	fields, err := unmarshal[map[string]json.RawMessage](raw)
	if err != nil {
		return Value{}, err
	}
	v := Value{Kind: Map, Fields: make(Item, len(fields))}
	for name, raw := range fields {
		if err := CheckName(name); err != nil {
			return Value{}, err
		}
		if v.Fields[name], err = decode(raw, depth); err != nil {
			return Value{}, err
		}
	}
	return v, nil
}

func scalar(kind Kind, text string) (Value, error) {
	switch kind {
	case Num:
		n, err := ParseNumber(text)
		return Value{Kind: Num, Number: n}, err
	case Binary:
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return Value{}, Malformed("Base64 decoding of a binary value failed")
		}
		return Value{Kind: Binary, Text: string(raw)}, nil
	}
	return Value{Kind: kind, Text: text}, nil
}

func set(kind Kind, members []string) (Value, error) {
	if len(members) == 0 && kind == BinarySet {
		return Value{}, Invalid("One or more parameter values were invalid: Binary sets should not be empty")
	}
	if len(members) == 0 {
		name := strings.ToLower(strings.TrimSuffix(kind.Name(), "_SET"))
		return Value{}, Invalid("One or more parameter values were invalid: An " + name + " set  may not be empty")
	}
	v := Value{Kind: kind, Elems: make([]Value, 0, len(members))}
	seen := make(map[string]bool, len(members))
	for _, text := range members {
		e, err := scalar(kind.Member(), text)
		if err != nil {
			return Value{}, err
		}
		key := e.Text
		if kind == NumberSet {
			key = e.Number.String()
		}
		if seen[key] {
			if kind == NumberSet {
				return Value{}, Invalid("Input collection contains duplicates")
			}
			of := "]"
			if kind == BinarySet {
				of = "]of type BS" // without a space, as on the service
			}
			return Value{}, Invalid("One or more parameter values were invalid: Input collection [" +
				strings.Join(members, ", ") + of + " contains duplicates.")
		}
		seen[key] = true
		v.Elems = append(v.Elems, e)
	}
	slices.SortFunc(v.Elems, order)
	return v, nil
}

func unmarshal[T any](data []byte) (T, error) {
	var got T
	if err := json.Unmarshal(data, &got); err != nil {
		return got, Malformed("Unexpected field type")
	}
	return got, nil
}

// MarshalJSON writes the wire form.
func (v Value) MarshalJSON() ([]byte, error) { return v.append(nil), nil }

// MarshalJSON writes the item with its attributes in the order of their names.
func (i Item) MarshalJSON() ([]byte, error) {
	if i == nil {
		return []byte("null"), nil
	}
	return i.append(nil), nil
}

func (v Value) append(b []byte) []byte {
	b = fmt.Appendf(b, `{"%s":`, v.Kind)
	switch v.Kind {
	case String, Num, Binary:
		b = v.appendScalar(b)
	case Bool:
		b = fmt.Append(b, v.Bool)
	case Null:
		b = append(b, "true"...)
	case Map:
		b = v.Fields.append(b)
	case List:
		b = appendAll(b, v.Elems, Value.append)
	default:
		b = appendAll(b, v.Elems, Value.appendScalar)
	}
	return append(b, '}')
}

func (v Value) appendScalar(b []byte) []byte {
	switch v.Kind {
	case Num:
		return appendString(b, v.Number.String())
	case Binary:
		return appendString(b, base64.StdEncoding.EncodeToString([]byte(v.Text)))
	}
	return appendString(b, v.Text)
}

func appendAll(b []byte, elems []Value, one func(Value, []byte) []byte) []byte {
	b = append(b, '[')
	for i, e := range elems {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(e, b)
	}
	return append(b, ']')
}

func (i Item) append(b []byte) []byte {
	names := make([]string, 0, len(i))
	for name := range i {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for n, name := range names {
		if n > 0 {
			b = append(b, ',')
		}
		b = appendString(b, name)
		b = append(b, ':')
		b = i[name].append(b)
	}
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	if isPlain(s) {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("a string always has a JSON form: " + err.Error())
	}
	return append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
}

// isPlain reports whether the string is its own JSON form.
func isPlain(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
