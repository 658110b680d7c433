package table

import (
	"errors"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	sdkretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Repeat says when a request that failed is sent again.
type Repeat int

const (
	Never     Repeat = iota
	AfterSame        // once the client has had an answer to the same operation on the same table; a transaction never
	AfterAny         // once the client has had any answer
	Always
)

func (r Repeat) String() string {
	return [...]string{"no", "after an answer to the same operation", "after any answer", "yes"}[r]
}

// Kind is a kind of failure of a request.
type Kind struct {
	Name   string
	Repeat Repeat
	Why    string
	is     func(error) bool // nil: every error
}

// Kinds lists how requests fail; the first that fits counts. It alone decides which of them are repeated. The settings
// of a client that has had no answer may be wrong, so it fails fast. Those of one that had were right. What has changed
// meanwhile may change again, and its wait keeps its place until then.
//
// A SchemaError, and an item that cannot be read, are none of these, and end a wait.
var Kinds = []Kind{
	{
		"an argument that DynamoDB does not accept", Never, "the same request is refused again",
		func(err error) bool {
			_, unsent := errors.AsType[*smithy.SerializationError](err)
			return unsent || slices.Contains(badArgument, codeOf(err))
		},
	},
	{
		"no answer in time, a broken connection, a throttle, a conflict, a server error", Always, "it passes",
		passes,
	},
	{
		"credentials that have expired or are not known, a wrong clock", AfterAny,
		"they are renewed, and the clock is corrected",
		func(err error) bool { return RenewableCode(codeOf(err)) },
	},
	{
		"a right that is missing, and any other refusal", AfterSame,
		"a policy was changed; at the first request, the action was forgotten",
		func(err error) bool { return codeOf(err) != "" && codeOf(err) != unknownCode },
	},
	{
		"a name that does not resolve, a certificate, an answer of a proxy, a provider of credentials", AfterAny,
		"the way to DynamoDB is disturbed",
		nil,
	},
}

var badArgument = []string{validationException, "SerializationException", "UnknownOperationException"}

// unknownCode is the SDK's, of an answer without a code.
const unknownCode = "UnknownError"

// renewable are the codes for credentials that have expired or are not known, and for a
// signature that is of another time.
var renewable = []string{
	"ExpiredToken", "ExpiredTokenException", "RequestExpired", "UnrecognizedClientException", "InvalidSignatureException",
	"RequestTimeTooSkewed",
}

// passes reports what the SDK repeats, or would if it were not for its quota, and conflicts.
func passes(err error) bool {
	_, quota := errors.AsType[ratelimit.QuotaExceededError](err)
	_, conflict := errors.AsType[*types.TransactionConflictException](err)
	_, replicated := errors.AsType[*types.ReplicatedWriteConflictException](err)
	retryable := sdkretry.IsErrorRetryables(sdkretry.DefaultRetryables).IsErrorRetryable(err)
	return quota || conflict || replicated || retryable == aws.TrueTernary || Contradicted(err)
}

func kindOf(err error) Kind {
	return Kinds[slices.IndexFunc(Kinds, func(k Kind) bool { return k.is == nil || k.is(err) })]
}

// answers are what a client has had answers to.
type answers struct{ of sync.Map } // of [2]string: table and operation; either both empty

// note notes an answer to an operation on a table.
func (a *answers) note(table, operation string) {
	for _, key := range [][2]string{{}, {table, operation}} {
		if _, known := a.of.Load(key); !known {
			a.of.Store(key, true)
		}
	}
}

// allow reports whether a request that failed in that way is repeated.
func (a *answers) allow(k Kind, table, operation string) bool {
	key := [2]string{}
	switch k.Repeat {
	case Never, Always:
		return k.Repeat == Always
	case AfterSame:
		if key = [2]string{table, operation}; operation == transactWriteItems || operation == transactGetItems {
			return false // one of the caller's tables may be the cause, of which nothing is known
		}
	}
	_, known := a.of.Load(key)
	return known
}
