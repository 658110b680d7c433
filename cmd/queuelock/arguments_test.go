package main

import (
	"strings"
	"testing"
)

// TestTableNames checks that table names are those that DynamoDB allows.
func TestTableNames(t *testing.T) {
	for name, legal := range map[string]bool{
		"queuelock":              true,
		"a.b":                    true,
		"A-1_z":                  true,
		strings.Repeat("a", 255): true,
		strings.Repeat("a", 256): false,
		"ab":                     false,
		"x y":                    false,
		"a/b":                    false,
		"tables\n":               false,
		"größe":                  false,
		"arn:aws:dynamodb:eu-central-1:123456789012:table/queuelock":       true,
		"arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/q.1":     true,
		"arn:aws:dynamodb:ddblocal:000000000000:table/queuelock":           true,
		"arn:aws:dynamodb:eu-central-1:123456789012:table/x y":             false,
		"arn:aws:dynamodb:eu-central-1:123456789012:table/queuelock/index": false,
		"arn:aws:sqs:eu-central-1:123456789012:queuelock":                  false,
	} {
		err := checkTable("--table", name)
		if (err == nil) != legal || err != nil && codeOf(err) != exitUsage {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestReasonOfTwoDashes checks that a reason can consist of two dashes.
func TestReasonOfTwoDashes(t *testing.T) {
	newEngine(t)
	invoke(t, "run", "x", "--reason", "--", "--", "echo", "ran").prints(t, 0, "ran\n")
}
