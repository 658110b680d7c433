package faultnet_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

// TestRefusals checks that refusals are errors that the SDK recognises.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		code    string
		retried bool
	}{
		{"ProvisionedThroughputExceededException", true},
		{"ThrottlingException", true},
		{"RequestLimitExceeded", true},
		{"InternalServerError", true},
		{"ServiceUnavailable", true},
		{"TransactionConflictException", false},
		{"AccessDeniedException", false},
		{"ValidationException", false},
	} {
		t.Run(test.code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(faultnet.Config{})
				refuse := fault.Fate{Refusal: &fault.Refusal{Code: test.code, Message: "not now"}}

				client, _ := r.client("stubborn", refuse)
				_, err := client.PutItem(t.Context(), put("k", false), once)
				var apiErr smithy.APIError
				if !errors.As(err, &apiErr) || apiErr.ErrorCode() != test.code || apiErr.ErrorMessage() != "not now" {
					t.Errorf("got %v, want code %s with its message", err, test.code)
				}
				if n := len(r.putTimes()); n != 0 {
					t.Errorf("applied %d times", n)
				}

				client, _ = r.client("patient", refuse)
				if _, err = client.PutItem(t.Context(), put("k", false)); (err == nil) != test.retried {
					t.Errorf("with retries: got %v, want retried = %v", err, test.retried)
				}
			})
		})
	}
}

// TestConflict checks that a conflict cancels a transaction.
func TestConflict(t *testing.T) {
	r := newRig(faultnet.Config{})
	client, _ := r.client("a", fault.Fate{Refusal: &fault.Refusal{Code: "TransactionConflictException", Message: "conflict"}})
	_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String("t"), Item: put("k", false).Item}},
		{Put: &types.Put{TableName: aws.String("t"), Item: put("l", false).Item}},
	}}, once)
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) || len(canceled.CancellationReasons) != 2 {
		t.Fatalf("got %v, want a cancelled transaction with two reasons", err)
	}
	for i, want := range []string{"TransactionConflict", "None"} {
		if got := aws.ToString(canceled.CancellationReasons[i].Code); got != want {
			t.Errorf("reason %d is %q, want %q", i, got, want)
		}
	}
}
