package event

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Limit is what DynamoDB throttles by.
type Limit int

// The limits.
const (
	UnknownLimit Limit = iota // DynamoDB does not say
	KeyRange                  // of a partition: the entity is hot
	OnDemand                  // the maximum of a table on demand
	Provisioned               // the capacity of the table
	Account                   // the quota of the account
)

func (l Limit) String() string {
	if l < UnknownLimit || l > Account {
		return fmt.Sprintf("event.Limit(%d)", int(l))
	}
	return [...]string{"unknown", "key_range", "on_demand", "provisioned", "account"}[l]
}

// reasons are the ends of DynamoDB's reasons, such as TableWriteKeyRangeThroughputExceeded. The first is the one to act
// on.
var reasons = []struct {
	suffix string
	limit  Limit
}{
	{"KeyRangeThroughputExceeded", KeyRange},
	{"MaxOnDemandThroughputExceeded", OnDemand},
	{"ProvisionedThroughputExceeded", Provisioned},
	{"AccountLimitExceeded", Account},
}

// LimitOf returns the limit by which DynamoDB has throttled, from the error of a request or of a call of the library.
// If there are several, it is the one to act upon. UnknownLimit: err does not say, or is of no throttle.
func LimitOf(err error) Limit {
	var all []types.ThrottlingReason
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		all = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		all = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		all = e.ThrottlingReasons
	}
	for _, known := range reasons {
		for _, r := range all {
			if strings.HasSuffix(aws.ToString(r.Reason), known.suffix) {
				return known.limit
			}
		}
	}
	return UnknownLimit
}
