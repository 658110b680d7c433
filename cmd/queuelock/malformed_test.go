package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/locktest"
	"github.com/queuelock/queuelock/ticket"
)

// TestNextStep checks that the errors of a record that another program wrote, and of a socket, say what to do in one line.
func TestNextStep(t *testing.T) {
	e := newEngine(t)
	record := func(entity string, issued types.AttributeValue) {
		locktest.Must(e.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("queuelock"), Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: entity}, "sk": &types.AttributeValueMemberS{Value: "lock/" + ticket.Number{}.Padded()},
			"ticketNumber": issued,
		}}))
	}
	long := strings.Repeat("malformed/", 20)
	record(long, &types.AttributeValueMemberS{Value: "seven"})
	record("full", &types.AttributeValueMemberN{Value: ticket.Max.String()})
	mustBeShort(t, invoke(t, "status", long), exitUnavailable, "attribute ticketNumber is a string", "use another --reason")
	mustBeShort(t, invoke(t, "run", long, "-n", "--", "true"), exitUnavailable, "attribute ticketNumber is a string", "use another --reason")
	mustBeShort(t, invoke(t, "run", "full", "-n", "--", "true"), exitUnavailable, "exhausted", "use another --reason")
	t.Setenv("TMPDIR", "/no/such/directory")
	o := e.program(t, "lock", "x")
	text, err := o.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "no socket for unlock: ") || !strings.Contains(string(text), "set TMPDIR to ") {
		t.Errorf("%v: %s", err, text)
	}
}
