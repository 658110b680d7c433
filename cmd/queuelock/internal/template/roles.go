// Package template prints what an account needs for queuelock: the table, and a policy for
// each role, for CloudFormation, Terraform, the CDK and IAM.
//
// # What it promises
//
// A role's policy allows the requests that the library and the commands of that role send,
// and no others; a test records them. The variant with a prefix restricts the requests on
// items to entities that begin with it, by dynamodb:LeadingKeys. It allows no scan, which
// has no leading key.
//
// # What it does not promise
//
// Policies for the tables of LockItem, and for the caller's own items in a transaction:
// docs/operations-table.md has them.
package template

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// Role is a use of the table.
type Role struct {
	Name    string
	Summary string
	// Items are the actions on items, which a prefix restricts. Table are those on the
	// table, and scans.
	Items, Table []string
}

// Roles are the roles, by growing power.
var Roles = []Role{
	{
		Name: "observer", Summary: "looks at queues: status, ls, history",
		Items: []string{"Query"},
		Table: []string{"DescribeTable", "Scan"},
	},
	{
		Name: "worker", Summary: "uses locks: the library, run, lock and unlock",
		Items: []string{"ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"},
	},
	{
		Name: "operator", Summary: "repairs queues: status, ls, evict, revoke, sweep",
		Items: []string{"DeleteItem", "GetItem", "Query", "UpdateItem"},
		Table: []string{"DescribeTable", "Scan"},
	},
	{
		Name: "admin", Summary: "creates the table: table create",
		Table: []string{
			"CreateTable", "DescribeTable", "DescribeTimeToLive", "TagResource", "UpdateContinuousBackups", "UpdateTimeToLive",
		},
	},
}

// Find returns the role of that name.
func Find(name string) (Role, bool) {
	i := slices.IndexFunc(Roles, func(r Role) bool { return r.Name == name })
	if i < 0 {
		return Role{}, false
	}
	return Roles[i], true
}

// Config says what the templates are for. The zero value is not valid.
type Config struct {
	Table, PartitionKey, SortKey, TTLAttribute string
	// Prefix begins the entities that the policies allow. Empty means all.
	Prefix string
	// CounterKey is the partition key of a counter of the whole table, which a prefix must
	// not exclude. Empty means that there is none.
	CounterKey string
	Protection bool // of the table against its deletion
	Recovery   bool // to a point in time
	Tags       []Tag
}

// Tag is a tag of the table.
type Tag struct{ Key, Value string }

// Statement is a statement of a policy.
type Statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  any
	Condition map[string]map[string][]string `json:",omitempty"`
}

// Policy is an IAM policy.
type Policy struct {
	Version   string
	Statement []Statement
}

func (c Config) policy(r Role, resource any) Policy {
	p := Policy{Version: "2012-10-17"}
	items, table := r.Items, r.Table
	if c.Prefix == "" {
		items, table = slices.Concat(items, table), nil
		slices.Sort(items)
	}
	table = slices.DeleteFunc(slices.Clone(table), func(action string) bool { return action == "Scan" })
	add := func(sid string, actions []string, condition map[string]map[string][]string) {
		if len(actions) > 0 {
			p.Statement = append(p.Statement, Statement{
				Sid: sid, Effect: "Allow", Action: prefixed(actions), Resource: resource, Condition: condition,
			})
		}
	}
	if c.Prefix == "" {
		add("Queuelock"+title(r.Name), items, nil)
		return p
	}
	keys := []string{literal(c.Prefix) + "*"}
	if c.CounterKey != "" {
		keys = append(keys, literal(c.CounterKey))
	}
	add("Queuelock"+title(r.Name)+"Items", items, map[string]map[string][]string{
		"ForAllValues:StringLike": {"dynamodb:LeadingKeys": keys},
		"Null":                    {"dynamodb:LeadingKeys": {"false"}}, // ForAllValues allows a request without keys
	})
	add("Queuelock"+title(r.Name)+"Table", table, nil)
	return p
}

func prefixed(actions []string) []string {
	var all []string
	for _, action := range actions {
		all = append(all, "dynamodb:"+action)
	}
	return all
}

// literal escapes the wildcards and variables of IAM.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html
func literal(text string) string {
	return strings.NewReplacer("$", "${$}", "*", "${*}", "?", "${?}").Replace(text)
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// IAM returns the policy of a role as JSON. Empty region and account allow all.
func IAM(c Config, r Role, region, account string) string {
	arn := fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", cmp.Or(region, "*"), cmp.Or(account, "*"), c.Table)
	return encoded(c.policy(r, arn), "  ") + "\n"
}

//go:embed *.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"title": title, "json": quoted, "hcl": hcl,
	"jsons": func(texts []string) string { return list(texts, quoted) },
	"hcls":  func(texts []string) string { return list(texts, hcl) },
}).ParseFS(files, "*.tmpl"))

var names = map[string]string{"cloudformation": "cloudformation.yaml.tmpl", "terraform": "terraform.tf.tmpl", "cdk": "cdk.ts.tmpl"}

// Text returns the template in a format: cloudformation, terraform or cdk. It is empty for another one.
func Text(format string, c Config) string {
	name, ok := names[format]
	if !ok {
		return ""
	}
	type policy struct {
		Role
		Policy
	}
	data := struct {
		Config
		Roles []policy
	}{Config: c}
	for _, r := range Roles {
		if r.Name != "admin" { // who applies the template is the admin
			data.Roles = append(data.Roles, policy{r, c.policy(r, nil)})
		}
	}
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, name, data); err != nil {
		panic(err) // the files have only the fields of data
	}
	return text.String()
}

// hcl returns a text as a string of HCL, whose templates begin with ${ and %{.
func hcl(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(quoted(text))
}

func list(texts []string, quote func(string) string) string {
	var all []string
	for _, text := range texts {
		all = append(all, quote(text))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// quoted returns a text as a string of JSON, which is one of YAML and TypeScript as well.
func quoted(text string) string { return encoded(text, "") }

func encoded(value any, indent string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(value); err != nil {
		panic(err) // strings and lists of them
	}
	return strings.TrimSpace(b.String())
}
