package table

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// limits are what a throttle may come from, by the end of DynamoDB's reason, such as
// TableWriteKeyRangeThroughputExceeded. The first is the one to act upon.
var limits = []struct{ reason, limit string }{
	{"KeyRangeThroughputExceeded", "key range: the entity is hot"},
	{"MaxOnDemandThroughputExceeded", "table on demand: raise its maximum"},
	{"ProvisionedThroughputExceeded", "table: raise its provisioned capacity, or use on demand"},
	{"AccountLimitExceeded", "account: ask for a higher quota"},
}

// Limit returns the limit that a throttle comes from, and what follows; "" if err is no
// throttle or does not say.
func Limit(err error) string {
	var all []types.ThrottlingReason
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		all = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		all = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		all = e.ThrottlingReasons
	}
	for _, l := range limits {
		for _, r := range all {
			if strings.HasSuffix(aws.ToString(r.Reason), l.reason) {
				return l.limit
			}
		}
	}
	return ""
}
