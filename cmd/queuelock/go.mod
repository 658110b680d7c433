module github.com/queuelock/queuelock/cmd/queuelock

go 1.26.0

require (
	charm.land/bubbletea/v2 v2.1.1 // the screen of queuelock top: keys, resizing, restoring the terminal
	github.com/aws/aws-sdk-go-v2 v1.48.0 // the SDK: aws.Config, retries, the HTTP client
	github.com/aws/aws-sdk-go-v2/config v1.33.18 // region, profile and credentials from where all AWS tools find them
	github.com/aws/aws-sdk-go-v2/credentials v1.21.0 // fixed credentials for queuelock local, and for tests
	github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression v1.10.9 // builds conditions and updates without mistakes of quoting; UpdateAndRelease takes its builder
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.20.9 // does not ask for credentials of EC2 where the endpoint is this host
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.74.0 // the requests and their types
	github.com/aws/smithy-go v1.28.9 // the SDK's errors and middleware: error codes, the Date header of an answer
	github.com/charmbracelet/x/ansi v0.11.9 // the width of texts on a terminal: wraps and cuts them
	github.com/charmbracelet/x/vt v0.1.0 // tests: what a terminal shows
	github.com/creack/pty v1.1.24 // tests: a terminal for the tests of job control
	github.com/google/go-cmp v0.7.0 // tests: differences that a person can read
	github.com/queuelock/queuelock v0.1.0 // this library
	github.com/spf13/cobra v1.10.2 // subcommands, help, completion and manual pages
	github.com/spf13/pflag v1.1.0 // flags with short and long names, as flock has them
	go.etcd.io/bbolt v1.5.0 // the file of queuelock local --file
	go.uber.org/goleak v1.3.0 // tests: goroutines that they leave
	go.yaml.in/yaml/v3 v3.0.6 // the output of -o yaml
	golang.org/x/sys v0.50.0 // process groups, job objects and terminals, beyond package syscall
	golang.org/x/term v0.48.0 // whether a file is a terminal, and its width
	pgregory.net/rapid v1.3.0 // tests: properties over random inputs, with small counterexamples
)

require (
	github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue v1.21.21 // indirect
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
	github.com/charmbracelet/colorprofile v0.4.3 // indirect
	github.com/charmbracelet/ultraviolet v0.0.0-20261008173134-6b8d4baf91b4 // indirect
	github.com/charmbracelet/x/exp/ordered v0.1.0 // indirect
	github.com/charmbracelet/x/term v0.2.2 // indirect
	github.com/charmbracelet/x/termios v0.1.1 // indirect
	github.com/charmbracelet/x/windows v0.2.2 // indirect
	github.com/clipperhouse/displaywidth v0.11.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.6 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/lucasb-eyer/go-colorful v1.4.1 // indirect
	github.com/mattn/go-runewidth v0.0.30 // indirect
	github.com/muesli/cancelreader v0.2.2 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/xo/terminfo v1.0.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
)
