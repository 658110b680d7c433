package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/spf13/cobra"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
	"github.com/queuelock/queuelock/ticket"
)

// briefError is an error in one line that says what to do. --verbose prints err as well.
type briefError struct {
	text string
	err  error
}

func (b *briefError) Error() string { return b.text }
func (b *briefError) Unwrap() error { return b.err }

func printDetails(cmd *cobra.Command, stderr io.Writer, err error) {
	if verbose, _ := cmd.Flags().GetBool("verbose"); !verbose {
		return
	}
	if text := details(err); text != "" {
		fmt.Fprintln(stderr, text)
	}
}

// shortened is the failure of DynamoDB, or of the way to it, in one line that says what
// to do. Another error is left as it is.
func shortened(err error) error {
	if _, ok := errors.AsType[*briefError](err); ok {
		return err
	}
	if text := remedy(err); text != "" {
		return &briefError{text, err}
	}
	return err
}

// remedy is the line of a failure; "" if it is none of DynamoDB's.
func remedy(err error) string {
	if left, ok := errors.AsType[*queuelock.UnreleasedError](err); ok {
		return fmt.Sprintf("ticket %s may still be held, without a lease: see 'queuelock status', then '%s'",
			left.Ticket, clip(evictCommand(left.Key, left.Ticket), 60))
	}
	if wrong, ok := errors.AsType[*queue.TableError](err); ok {
		name := clip(wrong.Table, 40)
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
			return fmt.Sprintf(noTable+", or run 'queuelock table create --table %s'", name, "--table", quoted(clip(wrong.Table, 20)))
		}
		return fmt.Sprintf("table %q has %s; needed is %s", name, clip(wrong.Found, 50), wrong.Need)
	}
	if malformed, ok := errors.AsType[*queue.MalformedError](err); ok {
		return fmt.Sprintf("malformed %s: attribute %s %s: correct it, or use another --reason",
			clip(malformed.Item, 36), clip(malformed.Attribute, 20), clip(malformed.Problem, 32))
	}
	if errors.Is(err, ticket.ErrExhausted) {
		return "the ticket numbers of the queue are exhausted: another program wrote its counter: use another --reason"
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return refusal(err, api)
	}
	return unreachable(err)
}

// unreleasedLine is the line of a release that has failed.
func unreleasedLine(err error) string {
	wrong, ok := errors.AsType[*queue.TableError](err)
	_, missing := errors.AsType[*types.ResourceNotFoundException](err)
	_, unreleased := errors.AsType[*queuelock.UnreleasedError](err)
	switch {
	case unreleased: // there is no lease
		return remedy(err)
	case ok && missing:
		return fmt.Sprintf("the lock has ended with its table: there is no table %q any more", clip(wrong.Table, 40))
	}
	return "not released, its lease ends it: " + cmp.Or(remedy(err), oneLine(err))
}

const (
	notDynamoDB = "what answers is not DynamoDB: check --endpoint, AWS_ENDPOINT_URL_DYNAMODB and proxies"
	noTable     = "there is no table %q here: check %s, --region and --endpoint"
	noAnswer    = "no answer from DynamoDB %s: check the network, --endpoint and --region, and repeat the command"
)

// refusals are the lines of the answers with which DynamoDB refuses a request, by their codes. ACTION is of the request.
var refusals = []struct{ codes, text string }{
	{"AccessDeniedException AccessDenied", "AWS denies ACTION to these credentials: add it to their policy; 'queuelock template iam' prints policies"},
	{"ExpiredToken ExpiredTokenException RequestExpired",
		"the AWS credentials have expired: renew them, for example with 'aws sso login', and repeat the command"},
	{"UnrecognizedClientException InvalidSignatureException IncompleteSignature MissingAuthenticationToken InvalidClientTokenId",
		"DynamoDB refuses the AWS credentials: check the access key, --profile, --region and the clock of this host"},
	{"ResourceNotFoundException", "there is no such table here: check --table, --region and --endpoint"},
	{"ProvisionedThroughputExceededException ThrottlingException RequestLimitExceeded LimitExceededException",
		"DynamoDB throttles the requests: repeat the command later, or raise the capacity or the limits of the table"},
	{"InternalServerError ServiceUnavailable ServiceUnavailableException",
		"DynamoDB fails at present (CODE): repeat the command; 'queuelock doctor' checks the table"},
}

// refusal is the line of an answer with which DynamoDB refused a request.
func refusal(err error, api smithy.APIError) string {
	code, action := api.ErrorCode(), "a request"
	if operation, ok := errors.AsType[*smithy.OperationError](err); ok {
		action = "dynamodb:" + operation.Operation()
	}
	if limit := table.Limit(err); limit != "" {
		return "DynamoDB throttles the requests by the limit of the " + limit
	}
	for _, r := range refusals {
		if slices.Contains(strings.Fields(r.codes), code) {
			return strings.NewReplacer("ACTION", action, "CODE", code).Replace(r.text)
		}
	}
	if api.ErrorMessage() == "" || strings.HasPrefix(code, "Unknown") {
		return notDynamoDB
	}
	return fmt.Sprintf("DynamoDB refused the request: %s (%s); --verbose prints the details", clip(api.ErrorMessage(), 60), clip(code, 30))
}

// refusedOnWindows is WSAECONNREFUSED, which no other system has.
const refusedOnWindows = syscall.Errno(10061)

// unreachable is the line of a request without an answer; "" for any other failure.
func unreachable(err error) string {
	is := func(target any) bool { return errors.As(err, target) }
	dns, noName := errors.AsType[*net.DNSError](err)
	operation, onNetwork := errors.AsType[*net.OpError](err)
	request, onTable := errors.AsType[*table.Error](err)
	switch {
	case is(new(*tls.CertificateVerificationError)), is(new(x509.UnknownAuthorityError)):
		return "the certificate of the endpoint is not trusted: check --endpoint, or set AWS_CA_BUNDLE"
	case is(new(tls.RecordHeaderError)), errors.Is(err, http.ErrSchemeMismatch): // the second if the answer is of HTTP
		return "the endpoint does not speak TLS: check whether --endpoint needs http in place of https"
	case is(new(*smithy.DeserializationError)):
		return notDynamoDB
	case noName:
		return fmt.Sprintf("the host %q is not known: check --endpoint, --region and the network", clip(dns.Name, 60))
	case (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, refusedOnWindows)) && onNetwork && operation.Addr != nil:
		return fmt.Sprintf("nothing listens at %s: start DynamoDB there, or correct --endpoint or AWS_ENDPOINT_URL_DYNAMODB", operation.Addr)
	case errors.Is(err, context.DeadlineExceeded), onTable && request.Timeout > 0:
		return fmt.Sprintf(noAnswer, "in time")
	case onNetwork || onTable || errors.Is(err, io.EOF) || errors.Is(err, queuelock.ErrUnavailable):
		return "the connection to DynamoDB fails: check the network and --endpoint; --verbose prints the details"
	}
	return ""
}

// noticeAfter is how long a command waits for DynamoDB before it reports so: most answers
// come sooner, and a user asks after about two seconds. Tests shorten it.
var noticeAfter = 1500 * time.Millisecond

// patience bounds how long a command works with DynamoDB, and reports on standard error
// that it waits.
type patience struct {
	ctx    context.Context
	cancel context.CancelFunc
	limit  time.Duration
	timer  *time.Timer

	mu   sync.Mutex
	done bool // guarded by mu: nothing is printed any more
}

// patience begins to wait for an answer. end must be called.
func (s *settings) patience(ctx context.Context, stderr io.Writer, limit time.Duration) *patience {
	return newPatience(ctx, stderr, s.where(), limit)
}

func newPatience(ctx context.Context, stderr io.Writer, what string, limit time.Duration) *patience {
	p := &patience{limit: limit}
	p.ctx, p.cancel = context.WithTimeout(ctx, limit)
	p.timer = time.AfterFunc(noticeAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.done {
			fmt.Fprintf(stderr, "queuelock: waiting for %s, for at most %v\n", what, limit)
		}
	})
	return p
}

// end ends the wait. Nothing is printed afterwards.
func (p *patience) end() {
	p.cancel()
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
}

// unavailable is the failure of a request, with the limit if that has ended it.
func (p *patience) unavailable(err error) error {
	if errors.Is(p.ctx.Err(), context.DeadlineExceeded) {
		err = &briefError{fmt.Sprintf(noAnswer, fmt.Sprintf("within %v", p.limit)), err}
	}
	return unavailable(err)
}

// where names the DynamoDB of the settings, for messages.
func (s *settings) where() string {
	endpoint, err := s.address()
	if u, parseErr := url.Parse(endpoint); err == nil && parseErr == nil && u.Host != "" {
		return "DynamoDB at " + clip(u.Host, 60)
	}
	return "DynamoDB"
}

// answers watches the requests of one database. It says when they fail for a while after some had succeeded, and once more
// when that is over.
type answers struct {
	renew func() // looks for credentials again

	mu    sync.Mutex
	tell  func(text string, over bool) // guarded by mu; nil: none
	began time.Time                    // guarded by mu; of the failures; zero: there is none
	told  bool                         // guarded by mu
}

// watch adds the watch to the requests of a client. Attempts of the SDK are one request.
func (a *answers) watch(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("queuelockAnswers", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			a.note(err)
			return out, metadata, err
		}), middleware.Before)
	})
}

func (a *answers) note(err error) {
	api, answered := errors.AsType[smithy.APIError](err)
	if answered && table.RenewableCode(api.ErrorCode()) {
		a.renew()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled): // the caller did not want to know
	case err == nil || answered && expected[api.ErrorCode()]:
		if a.told && a.tell != nil {
			a.tell(fmt.Sprintf("DynamoDB answers again, after %v", time.Since(a.began).Round(100*time.Millisecond)), true)
		}
		a.began, a.told = time.Time{}, false
	case a.began.IsZero():
		a.began = time.Now()
	case !a.told && a.tell != nil && time.Since(a.began) >= noticeAfter:
		a.told = true
		a.tell(clip(shortened(err).Error(), maxLine-len("queuelock: "))+"; the wait goes on", false)
	}
}

var expected = map[string]bool{"ConditionalCheckFailedException": true, "TransactionCanceledException": true, "TransactionConflictException": true}

// listen lets a function hear of outages until stop is called.
func (a *answers) listen(tell func(text string, over bool)) (stop func()) {
	set := func(tell func(string, bool)) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.tell = tell
	}
	set(tell)
	return func() { set(nil) }
}

// mismatched is the error of a queue of another kind in one line that names the flag of
// its kind. Any other error is left as it is.
func mismatched(err error) error {
	e, ok := errors.AsType[*queue.MismatchError](err)
	if !ok {
		return err
	}
	kind, remedy := e.Is, ""
	var permits int
	switch n, _ := fmt.Sscanf(e.Is, "a semaphore of %d", &permits); {
	case n == 1:
		remedy = fmt.Sprintf("--permits %d", permits)
	case strings.HasPrefix(e.Wanted, "a semaphore"):
		remedy = "no --permits"
	}
	for name, scope := range scopes {
		if strings.HasSuffix(e.Is, scope.String()) {
			kind, remedy = "a queue with --scope "+name, "--scope "+name
		}
	}
	if remedy == "" {
		return err
	}
	return &briefError{fmt.Sprintf("%s is %s and stays one: use another --reason, or %s", clip(queuelock.Key{Entity: e.Entity, Reason: e.Reason}.String(), 70), kind, remedy), err}
}
