package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/retry"
)

// noLogger logs nothing. Without a logger the SDK's lines, such as that of a body that could not be closed as a call was cut,
// would be on standard error.
var noLogger = logging.Nop{}

// credentialsLimit bounds how long credentials are looked for. The last place of the
// SDK's chain is the metadata service of EC2, which does not answer elsewhere.
const credentialsLimit = 10 * time.Second

// settings are the flags of all commands that use a table.
type settings struct {
	table, partitionKey, sortKey string
	endpoint, region, profile    string

	credentialsIn time.Duration // how long they are looked for; zero: credentialsLimit
	notices       io.Writer     // of a wait for them; nil: silent
	answers       *answers      // of the latest database
}

func defaultTable() string { return cmp.Or(os.Getenv("QUEUELOCK_TABLE"), "queuelock") }

func (s *settings) addFlags(cmd *cobra.Command) {
	s.addTable(cmd)
	s.addKeys(cmd)
	if cmd.Flag("reason") != nil {
		offer(cmd, "reason", s.offerReasons)
	}
}

func (s *settings) addTable(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.table, "table", defaultTable(), "the `NAME` or ARN of the table; QUEUELOCK_TABLE sets it too")
	s.addEndpoint(cmd, "the `URL` of DynamoDB (default: AWS_ENDPOINT_URL_DYNAMODB, else AWS)")
}

func (s *settings) addKeys(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.partitionKey, "partition-key", "pk", "the `NAME` of the table's partition key")
	cmd.Flags().StringVar(&s.sortKey, "sort-key", "sk", "the `NAME` of the table's sort key")
}

func (s *settings) addEndpoint(cmd *cobra.Command, usage string) {
	cmd.Flags().SortFlags = false // the first are those that most users need, and these are the last
	cmd.Flags().StringVar(&s.endpoint, "endpoint", "", usage)
	needs(cmd.Flags(), "endpoint", "need a URL such as http://127.0.0.1:8000", func() bool { return s.endpoint == "" || isURL(s.endpoint) })
	cmd.Flags().StringVar(&s.region, "region", "", "the AWS `REGION` (default: AWS_REGION, or that of the profile)")
	needs(cmd.Flags(), "region", "need the name of an AWS region, such as eu-central-1", func() bool { return s.region == "" || hostLabel.MatchString(s.region) })
	cmd.Flags().StringVar(&s.profile, "profile", "", "the `NAME` of a profile in ~/.aws/config (default: AWS_PROFILE)")
}

func (s *settings) config(cfg queuelock.Config) queuelock.Config {
	cfg.Attributes = queuelock.Attributes{PartitionKey: s.partitionKey, SortKey: s.sortKey}
	return cfg
}

// environment is what another process needs to use the same region and profile.
func (s *settings) environment() (env []string) {
	if s.region != "" {
		env = append(env, "AWS_REGION="+s.region)
	}
	if s.profile != "" {
		env = append(env, "AWS_PROFILE="+s.profile)
	}
	return env
}

// database is a DynamoDB to send requests to.
type database struct {
	*dynamodb.Client
	transport *http.Transport
}

func (d *database) close() { d.transport.CloseIdleConnections() }

// connectionsKept is how many idle connections another client keeps, for programs that
// send that many requests at a time.
const connectionsKept = 256

// another returns a client of the same settings with connections and retries of its own.
func (d *database) another(opts ...func(*dynamodb.Options)) *database {
	other := &database{transport: d.transport.Clone()}
	other.transport.MaxIdleConns, other.transport.MaxIdleConnsPerHost = 0, connectionsKept
	options := d.Options()
	options.HTTPClient, options.Retryer = &http.Client{Transport: other.transport}, nil
	other.Client = dynamodb.New(options, opts...)
	return other
}

// hostLabel is what the SDK takes for a region, also with an endpoint.
var hostLabel = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)

// connect makes a client of the AWS settings. It makes no request to DynamoDB,
// but sees to it that there are a region and credentials, so that their want is
// one clear error.
func (s *settings) connect(ctx context.Context) (*database, error) {
	endpoint, err := s.address()
	if err != nil {
		return nil, err
	}
	local := isLoopback(endpoint)
	load := s.loading(local)
	limit := cmp.Or(s.credentialsIn, credentialsLimit)
	p := newPatience(ctx, cmp.Or[io.Writer](s.notices, io.Discard), "the AWS credentials", limit)
	defer p.end()
	cfg, err := load(p.ctx)
	if missing, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return nil, unavailable(&briefError{fmt.Sprintf("there is no AWS profile %q: choose one of ~/.aws/config with --profile or AWS_PROFILE",
			clip(missing.Profile, 60)), err})
	}
	if err != nil {
		return nil, unavailable(&briefError{"the AWS settings cannot be read: correct ~/.aws/config, ~/.aws/credentials and the AWS_ variables", err})
	}
	if cfg.Region != "" && !hostLabel.MatchString(cfg.Region) {
		return nil, unavailable(fmt.Errorf("%q is no AWS region: correct AWS_REGION, or region in ~/.aws/config, or pass --region", clip(cfg.Region, 40)))
	}
	if cfg.Region == "" {
		if !local {
			return nil, unavailable(errors.New("no AWS region: pass --region, or set AWS_REGION, or region in ~/.aws/config"))
		}
		cfg.Region = "local"
	}
	keys := &renewed{load: load}
	if err := keys.settled(p, cfg, s, local); err != nil {
		return nil, err
	}
	db := &database{transport: transportOf(cfg)}
	s.answers = &answers{renew: keys.again}
	db.Client = dynamodb.NewFromConfig(cfg, s.answers.watch, func(o *dynamodb.Options) {
		o.Credentials = keys
		o.HTTPClient = &http.Client{Transport: db.transport}
		if s.endpoint != "" {
			o.BaseEndpoint = aws.String(s.endpoint)
		}
	})
	return db, nil
}

// transportOf is a transport as the settings ask for it, with AWS_CA_BUNDLE,
// but one whose connections can be closed.
func transportOf(cfg aws.Config) *http.Transport {
	if c, ok := cfg.HTTPClient.(interface{ GetTransport() *http.Transport }); ok {
		return c.GetTransport()
	}
	return http.DefaultTransport.(*http.Transport).Clone()
}

// address is the endpoint that the flag or the environment names; empty: AWS,
// or what a profile names.
func (s *settings) address() (string, error) {
	if s.endpoint != "" || strings.EqualFold(os.Getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true") {
		return s.endpoint, nil
	}
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"} {
		if value := os.Getenv(name); value != "" {
			if !isURL(value) {
				return "", usagef("%s is %q: set it to a URL such as http://127.0.0.1:8000", name, clip(value, 60))
			}
			return value, nil
		}
	}
	return "", nil
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func isLoopback(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// localEnvironment is env changed so that a process finds an embedded engine
// at that address, whatever is configured otherwise.
func localEnvironment(env []string, endpoint string) []string {
	var kept []string
	for _, setting := range env {
		if !strings.HasPrefix(setting, "AWS_") {
			kept = append(kept, setting)
		}
	}
	return append(kept, localSettings(endpoint)...)
}

func localSettings(endpoint string) []string {
	return []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"AWS_REGION=local",
		"AWS_DEFAULT_REGION=local", // the only one that boto3 reads
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
	}
}

// connectLocal makes a client of an embedded engine. It looks at no settings.
func connectLocal(endpoint string) *database {
	db := &database{transport: http.DefaultTransport.(*http.Transport).Clone()}
	db.Client = dynamodb.New(dynamodb.Options{
		Region:       "local",
		BaseEndpoint: aws.String(endpoint),
		HTTPClient:   &http.Client{Transport: db.transport},
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	return db
}

// renewed are credentials that are looked for again when DynamoDB refuses them. The SDK reads keys of ~/.aws/credentials once,
// and an agent of the host may write new ones: github.com/aws/aws-sdk-go-v2/issues/2135.
type renewed struct {
	load func(context.Context) (aws.Config, error)

	mu       sync.Mutex
	provider aws.CredentialsProvider // guarded by mu
	read     time.Time               // guarded by mu; when the settings were
}

// renewalPause is the least time from one reading of the settings to the next.
const renewalPause = time.Second

func (r *renewed) Retrieve(ctx context.Context) (aws.Credentials, error) {
	r.mu.Lock()
	provider := r.provider
	r.mu.Unlock()
	return provider.Retrieve(ctx)
}

// again reads the settings. What cannot be read is no better than what was there.
func (r *renewed) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.read) < renewalPause {
		return
	}
	r.read = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), renewalPause)
	defer cancel()
	if cfg, err := r.load(ctx); err == nil && cfg.Credentials != nil {
		r.provider = cfg.Credentials
	}
}

// settled reads the settings, and sees to it that they lead to credentials, which other requests wait for.
func (r *renewed) settled(p *patience, cfg aws.Config, s *settings, local bool) error {
	r.provider, r.read = cfg.Credentials, time.Now()
	late, source := s.providers(p.ctx)
	attempts := retry.Policy{Retryable: func(error) bool { return late && !local }}
	err := attempts.Within(p.limit).Do(p.ctx, func(ctx context.Context) error {
		_, err := cfg.Credentials.Retrieve(ctx)
		return err
	})
	switch {
	case err == nil:
		return nil
	case local:
		r.provider = credentials.NewStaticCredentialsProvider("local", "local", "")
		r.load = func(context.Context) (aws.Config, error) { return aws.Config{}, errors.New("none are needed") }
		return nil
	case late || source != "" && p.ctx.Err() != nil:
		text := fmt.Sprintf("no AWS credentials within %v from %s: look whether it runs, or choose others with --profile", p.limit, clip(source, 60))
		return unavailable(&briefError{text, err})
	}
	return unavailable(&briefError{"no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with --profile or AWS_PROFILE", err})
}

// providers names the provider of credentials that the settings ask for; empty: none. late reports that it may be there later, as
// the agent of a pod that starts after it.
func (s *settings) providers(ctx context.Context) (late bool, source string) {
	for _, name := range []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		if os.Getenv(name) != "" && os.Getenv("AWS_ACCESS_KEY_ID") == "" {
			return true, "the provider of " + name
		}
	}
	profile := cmp.Or(s.profile, os.Getenv("AWS_PROFILE"), "default")
	if shared, err := config.LoadSharedConfigProfile(ctx, profile); err == nil && shared.CredentialProcess != "" {
		return false, "the credential_process of the profile " + profile
	}
	return false, ""
}

// loading returns the options with which the settings are read.
func (s *settings) loading(local bool) func(context.Context) (aws.Config, error) {
	// The SDK's own remarks on its search for credentials would be lines beside
	// the one that says what is wrong.
	opts := []func(*config.LoadOptions) error{config.WithLogger(noLogger)}
	if local {
		// A network is not asked for credentials that a process on this host will not
		// check.
		opts = append(opts, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	if s.region != "" {
		opts = append(opts, config.WithRegion(s.region))
	}
	if s.profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(s.profile))
	}
	return func(ctx context.Context) (aws.Config, error) { return config.LoadDefaultConfig(ctx, opts...) }
}
