package template

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// section is a map whose order stays.
type section []entry

type entry struct {
	key   string
	value any
}

// MarshalYAML returns the map in its order.
func (s section) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range s {
		var key, value yaml.Node
		key.SetString(e.key)
		if err := value.Encode(e.value); err != nil {
			return nil, err
		}
		node.Content = append(node.Content, &key, &value)
	}
	return node, nil
}

// CloudFormation returns a template in YAML.
func CloudFormation(c Config) string {
	attribute := func(name string) section { return section{{"AttributeName", name}, {"AttributeType", "S"}} }
	key := func(name, kind string) section { return section{{"AttributeName", name}, {"KeyType", kind}} }
	table := section{
		{"TableName", c.Table},
		{"BillingMode", "PAY_PER_REQUEST"},
		{"AttributeDefinitions", []section{attribute(c.PartitionKey), attribute(c.SortKey)}},
		{"KeySchema", []section{key(c.PartitionKey, "HASH"), key(c.SortKey, "RANGE")}},
		{"TimeToLiveSpecification", section{{"AttributeName", c.TTLAttribute}, {"Enabled", true}}},
	}
	if c.Protection {
		table = append(table, entry{"DeletionProtectionEnabled", true})
	}
	if c.Recovery {
		table = append(table, entry{"PointInTimeRecoverySpecification", section{{"PointInTimeRecoveryEnabled", true}}})
	}
	if len(c.Tags) > 0 {
		var tags []section
		for _, t := range c.Tags {
			tags = append(tags, section{{"Key", t.Key}, {"Value", t.Value}})
		}
		table = append(table, entry{"Tags", tags})
	}
	// Another table would lose the last tickets.
	resources := section{{"Table", section{
		{"Type", "AWS::DynamoDB::Table"}, {"DeletionPolicy", "Retain"}, {"UpdateReplacePolicy", "Retain"}, {"Properties", table},
	}}}
	arn := section{{"Fn::GetAtt", []string{"Table", "Arn"}}}
	var outputs section
	for _, r := range Roles {
		if r.Name == "admin" {
			continue // CloudFormation is the admin
		}
		p := c.policy(r, arn)
		var statements []section
		for _, s := range p.Statement {
			statement := section{{"Sid", s.Sid}, {"Effect", s.Effect}, {"Action", s.Action}, {"Resource", s.Resource}}
			if s.Condition != nil {
				statement = append(statement, entry{"Condition", s.Condition})
			}
			statements = append(statements, statement)
		}
		name := title(r.Name) + "Policy"
		resources = append(resources, entry{name, section{
			{"Type", "AWS::IAM::ManagedPolicy"},
			{"Properties", section{
				{"Description", "A queuelock " + r.Name + " " + r.Summary},
				{"PolicyDocument", section{{"Version", p.Version}, {"Statement", statements}}},
			}},
		}})
		outputs = append(outputs, entry{name + "Arn", section{{"Value", section{{"Ref", name}}}}})
	}
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	err := e.Encode(section{
		{"AWSTemplateFormatVersion", "2010-09-09"},
		{"Description", fmt.Sprintf("The table %s of queuelock, and policies for workers, observers and operators", c.Table)},
		{"Resources", resources},
		{"Outputs", outputs},
	})
	if err != nil {
		panic(err) // strings, lists and maps
	}
	return text.String()
}
