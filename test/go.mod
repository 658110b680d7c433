module github.com/queuelock/queuelock/test

go 1.26.0

// In this repository only: nothing requires this module.
replace github.com/queuelock/queuelock => ../

require (
	github.com/anishathalye/porcupine v1.3.1 // tests: judges whether a history of the simulator is linearizable
	github.com/aws/aws-sdk-go-v2 v1.48.0 // the SDK: aws.Config, retries, the HTTP client
	github.com/aws/aws-sdk-go-v2/config v1.33.18 // tests: settings from the environment, as programs read them
	github.com/aws/aws-sdk-go-v2/credentials v1.21.0 // tests: fixed credentials
	github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue v1.21.21 // tests: items as structures
	github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression v1.10.9 // builds conditions and updates without mistakes of quoting; UpdateAndRelease takes its builder
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.74.0 // the requests and their types
	github.com/aws/smithy-go v1.28.9 // the SDK's errors and middleware: error codes, the Date header of an answer
	github.com/google/go-cmp v0.7.0 // tests: differences of items that a person can read
	github.com/queuelock/queuelock v0.1.0 // this library
	go.uber.org/goleak v1.3.0 // tests: goroutines that they leave
	pgregory.net/rapid v1.3.0 // tests: properties over random inputs, with small counterexamples
)

require go.yaml.in/yaml/v3 v3.0.6 // the workflows, and the rules of alerts

require (
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.20.9 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.12 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.12 // indirect
	github.com/aws/aws-sdk-go-v2/internal/v4a v1.5.12 // indirect
	github.com/aws/aws-sdk-go-v2/service/dynamodbstreams v1.47.0 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.25 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/endpoint-discovery v1.13.12 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.14.12 // indirect
	github.com/aws/aws-sdk-go-v2/service/signin v1.13.1 // indirect
	github.com/aws/aws-sdk-go-v2/service/sso v1.39.5 // indirect
	github.com/aws/aws-sdk-go-v2/service/ssooidc v1.44.5 // indirect
	github.com/aws/aws-sdk-go-v2/service/sts v1.52.0 // indirect
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
)
