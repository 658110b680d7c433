package faultnet

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// SDK makes a real DynamoDB client over a transport. It never looks at the
// environment: no profile, no endpoint and no proxy of the machine reaches it.
func SDK(transport http.RoundTripper, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "eu-central-1",
		BaseEndpoint: aws.String("http://dynamodb.invalid"),
		HTTPClient:   &http.Client{Transport: transport},
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, optFns...)
}
