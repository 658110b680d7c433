package queuelocktest

// Code is the name of an error with which DynamoDB answers. Other names than those
// below are answered with status 400.
type Code string

// The errors that a lock meets. The SDK retries all but the last two.
const (
	ThroughputExceeded Code = "ProvisionedThroughputExceededException"
	Throttling         Code = "ThrottlingException"
	RequestLimit       Code = "RequestLimitExceeded"
	InternalError      Code = "InternalServerError" // status 500
	Unavailable        Code = "ServiceUnavailable"  // status 503

	// TransactionConflict is the answer to a write to an item that a transaction is
	// changing. A transaction gets a TransactionCanceledException instead.
	TransactionConflict Code = "TransactionConflictException"
	AccessDenied        Code = "AccessDeniedException"
)

func (c Code) message() string {
	switch c {
	case ThroughputExceeded:
		return "The level of configured provisioned throughput for the table was exceeded. " +
			"Consider increasing your provisioning level with the UpdateTable API."
	case Throttling:
		return "Rate of requests exceeds the allowed throughput."
	case RequestLimit:
		return "Throughput exceeds the current throughput limit for your account."
	case TransactionConflict:
		return "Transaction is ongoing for the item"
	case AccessDenied:
		return "User is not authorized to perform this operation on the table"
	}
	return "Injected: " + string(c)
}
