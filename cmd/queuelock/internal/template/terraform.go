package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Terraform returns a module in HCL.
func Terraform(c Config) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# The table of queuelock, and policies for workers, observers and operators.")
	p("resource \"aws_dynamodb_table\" \"queuelock\" {")
	p("  name         = %s", hcl(c.Table))
	p("  billing_mode = \"PAY_PER_REQUEST\"")
	p("  hash_key     = %s", hcl(c.PartitionKey))
	p("  range_key    = %s", hcl(c.SortKey))
	if c.Protection {
		p("\n  deletion_protection_enabled = true")
	}
	for _, name := range []string{c.PartitionKey, c.SortKey} {
		p("\n  attribute {\n    name = %s\n    type = \"S\"\n  }", hcl(name))
	}
	p("\n  ttl {\n    attribute_name = %s\n    enabled        = true\n  }", hcl(c.TTLAttribute))
	if c.Recovery {
		p("\n  point_in_time_recovery {\n    enabled = true\n  }")
	}
	if len(c.Tags) > 0 {
		p("\n  tags = {")
		for _, t := range c.Tags {
			p("    %s = %s", hcl(t.Key), hcl(t.Value))
		}
		p("  }")
	}
	p("\n  lifecycle {\n    prevent_destroy = true # another table would lose the last tickets\n  }")
	p("}")
	for _, r := range Roles {
		if r.Name == "admin" {
			continue // Terraform is the admin
		}
		p("\nresource \"aws_iam_policy\" \"queuelock_%s\" {", r.Name)
		p("  name        = %s", hcl("queuelock-"+c.Table+"-"+r.Name))
		p("  description = %s", hcl("A queuelock "+r.Name+" "+r.Summary))
		p("  policy = jsonencode({")
		p("    Version = \"2012-10-17\"")
		p("    Statement = [")
		for _, s := range c.policy(r, nil).Statement {
			p("      {")
			p("        Sid      = %s", hcl(s.Sid))
			p("        Effect   = %s", hcl(s.Effect))
			p("        Action   = %s", hclList(s.Action))
			p("        Resource = aws_dynamodb_table.queuelock.arn")
			if s.Condition != nil {
				p("        Condition = {")
				for _, operator := range slices.Sorted(maps.Keys(s.Condition)) {
					p("          %s = {", hcl(operator))
					for key, values := range s.Condition[operator] {
						p("            %s = %s", hcl(key), hclList(values))
					}
					p("          }")
				}
				p("        }")
			}
			p("      },")
		}
		p("    ]\n  })\n}")
	}
	return b.String()
}

// hcl returns a text as a string of HCL, whose templates begin with ${ and %{.
func hcl(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(quoted(text))
}

func hclList(texts []string) string { return list(texts, hcl) }

func list(texts []string, quote func(string) string) string {
	var all []string
	for _, text := range texts {
		all = append(all, quote(text))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// quoted returns a text as a string of JSON.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string
	}
	return strings.TrimSpace(b.String())
}
