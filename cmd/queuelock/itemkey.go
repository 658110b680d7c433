package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const keyForms = `need NAME=TEXT, NAME:N=NUMBER, or JSON such as {"id":{"S":"7"}}`

// parseItemKey reads the primary key of an item, from JSON as the AWS command line takes
// it, or from NAME=TEXT and NAME:TYPE=VALUE.
func parseItemKey(parts []string) (map[string]types.AttributeValue, error) {
	key := map[string]types.AttributeValue{}
	for _, part := range parts {
		var typed map[string]map[string]string
		if strings.HasPrefix(strings.TrimSpace(part), "{") {
			if err := json.Unmarshal([]byte(part), &typed); err != nil {
				return nil, usagef("--key %.40q is no key in JSON: %s", part, keyForms)
			}
		} else {
			name, value, ok := strings.Cut(part, "=")
			if !ok {
				return nil, usagef("--key %.40q: %s", part, keyForms)
			}
			kind := "S"
			if bare, suffix, ok := strings.Cut(name, ":"); ok {
				name, kind = bare, suffix
			}
			typed = map[string]map[string]string{name: {kind: value}}
		}
		for name, value := range typed {
			if _, twice := key[name]; twice {
				return nil, usagef("--key: the attribute %.40q is named twice", name)
			}
			v, ok := keyValue(value)
			if !ok {
				return nil, usagef("--key: the attribute %.40q needs one value of type S, N or B", name)
			}
			key[name] = v
		}
	}
	return key, nil
}

func keyValue(typed map[string]string) (types.AttributeValue, bool) {
	if len(typed) != 1 {
		return nil, false
	}
	for kind, value := range typed {
		switch kind {
		case "S":
			return &types.AttributeValueMemberS{Value: value}, true
		case "N":
			return &types.AttributeValueMemberN{Value: value}, true
		case "B":
			raw, err := base64.StdEncoding.DecodeString(value)
			return &types.AttributeValueMemberB{Value: raw}, err == nil
		}
	}
	return nil, false
}
