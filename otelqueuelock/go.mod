module github.com/queuelock/queuelock/otelqueuelock

go 1.26.0

// In this repository only: a program that requires the module ignores it.
replace github.com/queuelock/queuelock => ../

require (
	github.com/aws/aws-sdk-go-v2 v1.48.0 // the name of the operation of a request
	github.com/aws/aws-sdk-go-v2/config v1.33.18 // tests: the Example
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.74.0 // Instrument is an option of its client
	github.com/aws/smithy-go v1.28.9 // the middleware that counts requests
	github.com/prometheus/client_golang v1.25.0 // tests: a registry for that exporter
	github.com/queuelock/queuelock v0.1.0 // this library
	go.opentelemetry.io/otel v1.47.0 // attributes, status codes, the W3C traceparent, the global providers
	go.opentelemetry.io/otel/exporters/prometheus v0.69.0 // tests: the names that the dashboard and the alert rules use
	go.opentelemetry.io/otel/metric v1.47.0 // the API of metrics
	go.opentelemetry.io/otel/sdk v1.47.0 // tests: a recorder of spans in memory
	go.opentelemetry.io/otel/sdk/metric v1.47.0 // tests: a reader of metrics in memory
	go.opentelemetry.io/otel/trace v1.47.0 // the API of spans
)

require (
	github.com/aws/aws-sdk-go-v2/credentials v1.21.0 // indirect
	github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue v1.21.21 // indirect
	github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression v1.10.9 // indirect
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
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/otlptranslator v1.0.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
