package table

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/attr"
)

// Layout names a table, and those of its attributes that the user chooses.
type Layout struct {
	Table string // table name or ARN
	PK    string // partition key, S
	SK    string // sort key, S
	TTL   string // the table's TTL attribute, N in epoch seconds; on queue rows, and on idle records with Queue.Forget
}

// Validate returns an error if a name cannot be used.
func (l Layout) Validate() error {
	if problem := NameProblem(l.Table); problem != "" {
		return fmt.Errorf("the table name %s", problem)
	}
	seen := map[string]string{}
	for _, r := range attr.Reserved() {
		seen[r] = "an attribute of the library's own"
	}
	names := []struct{ what, name string }{{"partition key", l.PK}, {"sort key", l.SK}, {"TTL attribute", l.TTL}}
	for _, n := range names {
		switch other, taken := seen[n.name]; {
		case n.name == "":
			return fmt.Errorf("the name of the %s is empty", n.what)
		case len(n.name) > 255:
			return fmt.Errorf("the name of the %s has %d bytes, at most 255 are allowed", n.what, len(n.name))
		case !utf8.ValidString(n.name):
			return fmt.Errorf("the %s is named %q: valid UTF-8 is needed", n.what, clip(n.name))
		case strings.ContainsAny(n.name, "[]"):
			return fmt.Errorf("the %s is named %q: the SDK's expressions cannot name it: choose a name without brackets", n.what,
				clip(n.name))
		case taken:
			return fmt.Errorf("the %s is named %q, which is also %s: choose another name", n.what, n.name, other)
		}
		seen[n.name] = "the " + n.what
	}
	return nil
}

func (l Layout) need() string {
	return fmt.Sprintf("partition key %q (S) and sort key %q (S)", l.PK, l.SK)
}

func (l Layout) check(t *types.TableDescription) bool { return keysOf(t) == l.need() }

// keysOf describes the keys of a table.
func keysOf(t *types.TableDescription) (found string) {
	kinds, sort := attributeTypes(t), " and no sort key"
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		if k.KeyType == types.KeyTypeHash {
			found = fmt.Sprintf("partition key %q (%s)", name, kinds[name])
		} else {
			sort = fmt.Sprintf(" and sort key %q (%s)", name, kinds[name])
		}
	}
	return found + sort
}

func attributeTypes(t *types.TableDescription) map[string]types.ScalarAttributeType {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range t.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	return kinds
}

// A table's name; DynamoDB also accepts its ARN.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

// NameProblem describes what is wrong with a table's name or ARN; "" if it can be used.
func NameProblem(name string) string {
	arn := strings.HasPrefix(name, "arn:")
	_, last, _ := strings.Cut(name, ":table/")
	switch {
	case name == "":
		return "is empty"
	case arn && len(name) > 1024:
		return fmt.Sprintf("is an ARN of %d bytes: at most 1024 are possible", len(name))
	case arn && !tableName.MatchString(last):
		return fmt.Sprintf(`is %q: an ARN that ends with ":table/" and a table's name is needed`, clip(name))
	case !arn && !tableName.MatchString(name):
		return fmt.Sprintf(`is %q: 3 to 255 letters, digits, "_", "-" and "." are possible, or an ARN`, clip(name))
	}
	return ""
}

// clip shortens a hostile value for errors and logs.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
