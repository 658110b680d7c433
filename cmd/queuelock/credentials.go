package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/queuelock/queuelock/internal/retry"
)

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
