// Package doctor checks whether a DynamoDB, a table and the rights to them suit the
// library. Package table of the library creates tables; this one changes nothing but its
// own scratch items.
//
// # What it promises
//
//   - [Check] writes nothing. It tries each write with a condition that is false, so an
//     answer shows that the right is there.
//   - [Deep] writes scratch items only, under a partition key of its own, and removes
//     them, also when a check fails or ctx ends.
//   - Each result says what was found, and what to do if it is not right.
//
// # What it does not promise
//
// A result is true of the moment of the check. Rights that depend on the key of an item
// (dynamodb:LeadingKeys) are tried for one key.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/queuelock/queuelock/internal/table"
	"github.com/queuelock/queuelock/queue"
)

// Status is the result of a check.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Warning Status = "warning" // it works, and costs something
	Failed  Status = "failed"  // the library does not work, or not safely
	Skipped Status = "skipped" // it could not be checked
)

// Result is what a check has found.
type Result struct {
	Name   string `json:"name" help:"the check"`
	Status Status `json:"status" help:"ok, warning, failed or skipped"`
	Found  string `json:"found" help:"what it has found"`
	Advice string `json:"advice,omitempty" help:"what to do, absent if the status is ok"`
}

// Subject is what is checked.
type Subject struct {
	DB                                *dynamodb.Client
	Table                             string
	PartitionKey, SortKey, Expiration string // names of attributes
}

const (
	// samples is the number of reads that the round trip is measured with.
	samples = 7

	// slowRoundTrip is the round trip above which a hand-over is felt.
	slowRoundTrip = 50 * time.Millisecond

	// maxOffset is how far the clock of this host may be off. Requests are signed with it,
	// and AWS refuses signatures that are five minutes off. The library does not use it.
	maxOffset = time.Minute

	// resolution is that of a Date header.
	resolution = time.Second
)

// Check reads the table and tries the rights, and calls report with each result. Returns
// an error if the table cannot be reached: the checks after that make no sense.
func Check(ctx context.Context, s Subject, report func(Result)) error {
	s, throttled := s.counting()
	var host string
	description, err := s.describe(ctx, recordHost(&host))
	if _, refused := errors.AsType[smithy.APIError](err); err == nil || refused {
		report(Result{"host", OK, host, ""})
	} else if host != "" {
		report(Result{"host", Failed, host, "it does not answer: firewalls and proxies must let this name through"})
	}
	if err != nil {
		return err
	}
	if description == nil {
		report(Result{"table", Failed, fmt.Sprintf("there is no table %q", s.Table), fmt.Sprintf("check --table and --region, or run 'queuelock table create --table %s'", s.Table)})
		return nil
	}
	s.table(description, report)
	report(s.expiry(ctx))
	s.answers(ctx, report)
	s.rights(ctx, report)
	throttled.report(report)
	return nil
}

// recordHost is an option that records the host of a request. It may depend on the account of the credentials.
func recordHost(host *string) func(*dynamodb.Options) {
	record := middleware.DeserializeMiddlewareFunc("queuelock.host", func(ctx context.Context, in middleware.DeserializeInput,
		next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		if request, ok := in.Request.(*smithyhttp.Request); ok {
			*host = request.URL.Host
		}
		return next.HandleDeserialize(ctx, in)
	})
	return dynamodb.WithAPIOptions(func(stack *middleware.Stack) error { return stack.Deserialize.Add(record, middleware.After) })
}

// describe returns nil if there is no table.
func (s Subject) describe(ctx context.Context, opts ...func(*dynamodb.Options)) (*types.TableDescription, error) {
	out, err := s.DB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.Table}, opts...)
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return nil, nil
	}
	if Denied(err) {
		return &types.TableDescription{}, nil // reported by rights
	}
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

func (s Subject) table(d *types.TableDescription, report func(Result)) {
	add := func(name string, status Status, found, advice string) { report(Result{name, status, found, advice}) }
	if d.TableName == nil {
		add("table", Skipped, "its description may not be read", "allow dynamodb:DescribeTable to see more")
		return
	}
	if d.TableStatus == types.TableStatusActive || d.TableStatus == types.TableStatusUpdating {
		add("table", OK, fmt.Sprintf("%s, %s", s.Table, strings.ToLower(string(d.TableStatus))), "")
	} else {
		add("table", Failed, fmt.Sprintf("%s is %s", s.Table, strings.ToLower(string(d.TableStatus))), "wait until it is active")
	}
	layout := table.Layout{Table: s.Table, PK: s.PartitionKey, SK: s.SortKey}
	if wrong, ok := errors.AsType[*queue.TableError](layout.CheckKeys(d)); ok {
		add("keys", Failed, wrong.Found, "needed is "+wrong.Need+": use another table, or --partition-key and --sort-key")
	} else {
		add("keys", OK, fmt.Sprintf("%q and %q", s.PartitionKey, s.SortKey), "")
	}
	if d.BillingModeSummary != nil && d.BillingModeSummary.BillingMode == types.BillingModePayPerRequest {
		add("billing", OK, "on demand", "")
	} else {
		read, write := int64(0), int64(0)
		if t := d.ProvisionedThroughput; t != nil {
			read, write = aws.ToInt64(t.ReadCapacityUnits), aws.ToInt64(t.WriteCapacityUnits)
		}
		add("billing", Warning, fmt.Sprintf("provisioned, %d read and %d write units", read, write),
			"throttled renewals lose locks: use on demand, or alarm on WriteThrottleEvents")
	}
	switch {
	case len(d.Replicas) == 0:
		add("regions", OK, "one region", "")
	case d.MultiRegionConsistency == types.MultiRegionConsistencyStrong:
		add("regions", Warning, "a global table with strong consistency", "not verified with this library; transactions are not supported there")
	default:
		add("regions", Failed, "a global table whose replicas may be behind",
			"two regions can hold one lock: let all clients use one region, or use a table without replicas")
	}
	if len(d.GlobalSecondaryIndexes)+len(d.LocalSecondaryIndexes) > 0 {
		add("indexes", Warning, fmt.Sprintf("%d", len(d.GlobalSecondaryIndexes)+len(d.LocalSecondaryIndexes)), "each costs writes, and the library uses none")
	}
}

func (s Subject) expiry(ctx context.Context) Result {
	const name = "ttl"
	advice := fmt.Sprintf("enable it on %q ('queuelock table create' does): rows of crashed clients are removed by it if no client comes", s.Expiration)
	out, err := s.DB.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &s.Table})
	switch {
	case Denied(err):
		return Result{name, Skipped, "it may not be read", "allow dynamodb:DescribeTimeToLive to see it"}
	case err != nil:
		return Result{name, Skipped, brief(err), "try again"}
	}
	d := out.TimeToLiveDescription
	if d == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return Result{name, Warning, "disabled", advice}
	}
	if attribute := aws.ToString(d.AttributeName); attribute != s.Expiration {
		return Result{name, Warning, "on the attribute " + attribute, advice}
	}
	return Result{name, OK, "on " + s.Expiration, ""}
}

// answer is what one read shows of the way to DynamoDB.
type answer struct {
	sent, received time.Time
	date           time.Time // zero: none
	id             bool      // DynamoDB's request id
}

// answers checks the time of answers and the Date header, from which the library knows when
// a lease is over.
func (s Subject) answers(ctx context.Context, report func(Result)) {
	var all []answer
	for range samples {
		a := answer{sent: time.Now()}
		out, err := s.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.Table, Key: s.scratch(), ConsistentRead: aws.Bool(true)})
		if err != nil {
			report(Result{"round trip", Skipped, brief(err), "see the other checks"})
			return
		}
		a.received = time.Now()
		a.date, _ = awsmiddleware.GetServerTime(out.ResultMetadata)
		id, _ := awsmiddleware.GetRequestIDMetadata(out.ResultMetadata)
		a.id = id != ""
		all = append(all, a)
	}
	report(roundTrip(all))
	report(dates(all))
	report(clock(all))
}

// roundTrip reports the median of the answers but the first, which opened a connection.
func roundTrip(all []answer) Result {
	var times []time.Duration
	for _, a := range all[min(1, len(all)-1):] {
		times = append(times, a.received.Sub(a.sent))
	}
	slices.Sort(times)
	median := times[len(times)/2]
	found := fmt.Sprintf("%v (median of %d; the longest %v)", median.Round(10*time.Microsecond), len(times), times[len(times)-1].Round(10*time.Microsecond))
	if median > slowRoundTrip {
		return Result{"round trip", Warning, found, "a hand-over takes about two: run clients in the region of the table, or use a VPC endpoint"}
	}
	return Result{"round trip", OK, found, ""}
}

func dates(all []answer) Result {
	const advice = "a proxy may remove or rewrite headers: without them a crashed holder costs up to one more TTL (Config.ObserveExpiry)"
	without, withoutID := 0, 0
	for i, a := range all {
		if a.date.IsZero() {
			without++
		} else if !a.id {
			withoutID++
		}
		if i > 0 && a.date.Before(all[i-1].date) {
			return Result{"dates", Failed, "the dates of two answers go backwards", advice}
		}
	}
	switch {
	case without > 0:
		return Result{"dates", Warning, fmt.Sprintf("%d of %d answers have no Date header", without, len(all)), advice}
	case withoutID > 0:
		return Result{"dates", Warning, fmt.Sprintf("%d of %d answers have no request id of DynamoDB, so their dates do not count", withoutID, len(all)), advice}
	}
	return Result{"dates", OK, "each answer has one", ""}
}

func clock(all []answer) Result {
	low, high := time.Duration(-1<<62), time.Duration(1<<62)
	for _, a := range all {
		if a.date.IsZero() {
			continue
		}
		// The answer was made between sent and received, in the second of its date.
		low, high = max(low, a.date.Sub(a.received)), min(high, a.date.Add(resolution).Sub(a.sent))
	}
	if high == time.Duration(1<<62) {
		return Result{"clock", Skipped, "no answer has a date", "see dates"}
	}
	found := fmt.Sprintf("this host is between %v and %v behind DynamoDB", low.Round(time.Millisecond), high.Round(time.Millisecond))
	switch {
	case low > high:
		return Result{"clock", Warning, "the dates of the answers contradict each other", "a proxy may cache answers"}
	case low <= 0 && high >= 0:
		return Result{"clock", OK, "right within a second", ""}
	case low > maxOffset || high < -maxOffset:
		return Result{"clock", Failed, found, "set the clock: AWS refuses signatures that are five minutes off. Leases do not depend on it"}
	}
	return Result{"clock", OK, found + "; leases do not depend on it", ""}
}

// scratch returns a key that no queue has, because a sort key of a queue ends with digits.
func (s Subject) scratch() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		s.PartitionKey: &types.AttributeValueMemberS{Value: scratchEntity},
		s.SortKey:      &types.AttributeValueMemberS{Value: "none"},
	}
}

// scratchEntity begins the partition keys of the doctor's items.
const scratchEntity = "queuelock-doctor"

// Denied reports whether the credentials lack a right.
func Denied(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && (slices.Contains([]string{"AccessDeniedException", "AccessDenied", "NotAuthorized"}, api.ErrorCode()))
}

// brief is an error in one line, without the SDK's introduction.
func brief(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// throttles counts the attempts that DynamoDB throttles, the SDK's own included, by the text of the limit.
type throttles struct {
	mu    sync.Mutex
	count map[string]int // guarded by mu
}

// counting returns the subject with a client whose throttled attempts are counted.
func (s Subject) counting() (Subject, *throttles) {
	counted := &throttles{count: map[string]int{}}
	count := middleware.DeserializeMiddlewareFunc("queuelock.throttles", func(ctx context.Context, in middleware.DeserializeInput,
		next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if table.Throttled(err) {
			counted.mu.Lock()
			counted.count[table.Limit(err)]++
			counted.mu.Unlock()
		}
		return out, metadata, err
	})
	// Outermost of this step, and inside of the retries.
	s.DB = dynamodb.New(s.DB.Options(), dynamodb.WithAPIOptions(func(stack *middleware.Stack) error { return stack.Deserialize.Add(count, middleware.Before) }))
	return s, counted
}

func (t *throttles) report(report func(Result)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, limit := range slices.Sorted(maps.Keys(t.count)) {
		found := fmt.Sprintf("DynamoDB has throttled %d attempts", t.count[limit])
		if limit != "" {
			found += " by the limit of the " + limit
		}
		report(Result{"throttling", Warning, found, "throttled renewals lose locks: see capacity and hot items in docs/operations-table.md"})
	}
}
