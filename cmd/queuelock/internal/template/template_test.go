package template_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/template"
	"github.com/queuelock/queuelock/internal/testbed/locktest"
)

var plain = template.Config{Table: "locks", PartitionKey: "pk", SortKey: "sk", TTLAttribute: "expiresAt"}

// full has each option, and texts that need quoting in each format.
var full = template.Config{
	Table: "locks.v2", PartitionKey: `the "key"`, SortKey: "yes", TTLAttribute: "42", Prefix: `ci/${x}*%{y}"`, CounterKey: "ticket-master",
	Protection: true, Recovery: true, Tags: []template.Tag{{"team", "a: b"}, {"empty", ""}},
}

// policyOf is the policy of a role for a resource, as JSON has it.
func policyOf(t *testing.T, c template.Config, name, resource string) any {
	t.Helper()
	role, ok := template.Find(name)
	if !ok {
		t.Fatalf("there is no role %s", name)
	}
	text := strings.ReplaceAll(template.IAM(c, role, "r", "a"), "arn:aws:dynamodb:r:a:table/"+c.Table, resource)
	return decoded(t, []byte(text))
}

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestCloudFormation checks the template as a YAML parser reads it.
func TestCloudFormation(t *testing.T) {
	for _, c := range []template.Config{plain, full} {
		var parsed struct {
			Version   string `yaml:"AWSTemplateFormatVersion"`
			Resources map[string]struct {
				Type       string         `yaml:"Type"`
				Deletion   string         `yaml:"DeletionPolicy"`
				Properties map[string]any `yaml:"Properties"`
			} `yaml:"Resources"`
			Outputs map[string]any `yaml:"Outputs"`
		}
		text := template.Text("cloudformation", c)
		d := yaml.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&parsed); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if parsed.Version != "2010-09-09" || len(parsed.Resources) != 4 || len(parsed.Outputs) != 3 {
			t.Errorf("%+v", parsed)
		}
		table := parsed.Resources["Table"]
		want := map[string]any{
			"TableName": c.Table, "BillingMode": "PAY_PER_REQUEST",
			"AttributeDefinitions": []any{
				map[string]any{"AttributeName": c.PartitionKey, "AttributeType": "S"}, map[string]any{"AttributeName": c.SortKey, "AttributeType": "S"},
			},
			"KeySchema": []any{
				map[string]any{"AttributeName": c.PartitionKey, "KeyType": "HASH"}, map[string]any{"AttributeName": c.SortKey, "KeyType": "RANGE"},
			},
			"TimeToLiveSpecification": map[string]any{"AttributeName": c.TTLAttribute, "Enabled": true},
		}
		if c.Protection {
			want["DeletionProtectionEnabled"] = true
			want["PointInTimeRecoverySpecification"] = map[string]any{"PointInTimeRecoveryEnabled": true}
			want["Tags"] = []any{map[string]any{"Key": "team", "Value": "a: b"}, map[string]any{"Key": "empty", "Value": ""}}
		}
		if diff := cmp.Diff(want, table.Properties); diff != "" || table.Type != "AWS::DynamoDB::Table" || table.Deletion != "Retain" {
			t.Errorf("%s\n%s", diff, text)
		}
		for _, role := range []string{"worker", "observer", "operator"} {
			policy := parsed.Resources[strings.ToUpper(role[:1])+role[1:]+"Policy"]
			got := locktest.Must(json.Marshal(policy.Properties["PolicyDocument"]))
			resource := `"Resource":{"Fn::GetAtt":["Table","Arn"]}`
			got = []byte(strings.ReplaceAll(string(got), resource, `"Resource":"ARN"`))
			if diff := cmp.Diff(policyOf(t, c, role, "ARN"), decoded(t, got)); diff != "" || policy.Type != "AWS::IAM::ManagedPolicy" {
				t.Errorf("%s: %s", role, diff)
			}
		}
	}
}

var update = flag.Bool("update", false, "write testdata")

// TestTerraform compares the module with testdata. After a change, see that "terraform validate" accepts both files. The
// policies are those of TestCloudFormation: they come from one function.
func TestTerraform(t *testing.T) {
	for name, c := range map[string]template.Config{"plain": plain, "full": full} {
		file, got := filepath.Join("testdata", name+".tf"), template.Text("terraform", c)
		if *update {
			locktest.OK(t, os.WriteFile(file, []byte(got), 0o644))
		}
		if want := string(locktest.Must(os.ReadFile(file))); got != want {
			t.Errorf("not as in %s (-want +got):\n%s", file, cmp.Diff(want, got))
		}
	}
}

// TestCDK checks that the construct has the table, each action and each escaped text.
func TestCDK(t *testing.T) {
	text := template.Text("cdk", full)
	for _, part := range []string{
		`tableName: "locks.v2"`, `name: "the \"key\""`, `timeToLiveAttribute: "42"`, "deletionProtection: true", "RemovalPolicy.RETAIN",
		`.add("team", "a: b")`, `"dynamodb:ConditionCheckItem"`, `"dynamodb:LeadingKeys": ["ci/${$}{x}${*}%{y}\"*", "ticket-master"]`,
		`"Null": { "dynamodb:LeadingKeys": ["false"] }`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %s in\n%s", part, text)
		}
	}
	for _, pair := range []string{"{}", "()", "[]"} {
		// The prefix has one pair of braces.
		if strings.Count(text, pair[:1]) != strings.Count(text, pair[1:]) {
			t.Errorf("%s do not match", pair)
		}
	}
}

// TestPrefix checks that a policy for a prefix restricts each request on items, and allows no scan.
func TestPrefix(t *testing.T) {
	c := plain
	c.Prefix = "ci/*"
	for _, role := range template.Roles {
		var p template.Policy
		locktest.OK(t, json.Unmarshal([]byte(template.IAM(c, role, "", "")), &p))
		for _, s := range p.Statement {
			want := map[string]map[string][]string{"ForAllValues:StringLike": {"dynamodb:LeadingKeys": {"ci/${*}*"}}, "Null": {"dynamodb:LeadingKeys": {"false"}}}
			if strings.HasSuffix(s.Sid, "Table") {
				want = nil
			}
			if !reflect.DeepEqual(s.Condition, want) || s.Resource != "arn:aws:dynamodb:*:*:table/locks" {
				t.Errorf("%s: %+v", role.Name, s)
			}
			for _, action := range s.Action {
				item := slices.Contains(role.Items, strings.TrimPrefix(action, "dynamodb:"))
				if action == "dynamodb:Scan" || item != (want != nil) {
					t.Errorf("%s may %s", s.Sid, action)
				}
			}
		}
	}
}
