package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CDK returns a construct in TypeScript for version 2 of the CDK.
func CDK(c Config) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("// The table of queuelock, and policies for workers, observers and operators.")
	p("import { RemovalPolicy, Tags } from 'aws-cdk-lib';")
	p("import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';")
	p("import * as iam from 'aws-cdk-lib/aws-iam';")
	p("import { Construct } from 'constructs';")
	p("")
	p("export class Queuelock extends Construct {")
	p("  readonly table: dynamodb.Table;")
	for _, r := range Roles {
		if r.Name != "admin" {
			p("  readonly %s: iam.ManagedPolicy; // %s", r.Name, r.Summary)
		}
	}
	p("")
	p("  constructor(scope: Construct, id: string) {")
	p("    super(scope, id);")
	p("    this.table = new dynamodb.Table(this, 'Table', {")
	p("      tableName: %s,", quoted(c.Table))
	p("      partitionKey: { name: %s, type: dynamodb.AttributeType.STRING },", quoted(c.PartitionKey))
	p("      sortKey: { name: %s, type: dynamodb.AttributeType.STRING },", quoted(c.SortKey))
	p("      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,")
	p("      timeToLiveAttribute: %s,", quoted(c.TTLAttribute))
	if c.Protection {
		p("      deletionProtection: true,")
	}
	if c.Recovery {
		p("      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },")
	}
	p("      removalPolicy: RemovalPolicy.RETAIN, // another table would lose the last tickets")
	p("    });")
	for _, t := range c.Tags {
		p("    Tags.of(this.table).add(%s, %s);", quoted(t.Key), quoted(t.Value))
	}
	for _, r := range Roles {
		if r.Name == "admin" {
			continue // the CDK is the admin
		}
		p("    this.%s = new iam.ManagedPolicy(this, '%s', {", r.Name, title(r.Name))
		p("      statements: [")
		for _, s := range c.policy(r, nil).Statement {
			p("        new iam.PolicyStatement({")
			p("          sid: %s,", quoted(s.Sid))
			p("          actions: %s,", list(s.Action, quoted))
			p("          resources: [this.table.tableArn],")
			if s.Condition != nil {
				p("          conditions: {")
				for _, operator := range slices.Sorted(maps.Keys(s.Condition)) {
					for key, values := range s.Condition[operator] {
						p("            %s: { %s: %s },", quoted(operator), quoted(key), list(values, quoted))
					}
				}
				p("          },")
			}
			p("        }),")
		}
		p("      ],\n    });")
	}
	p("  }\n}")
	return b.String()
}
