package faultnet_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/queuelock/queuelock/internal/testbed/fault"
	"github.com/queuelock/queuelock/internal/testbed/faultnet"
)

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
