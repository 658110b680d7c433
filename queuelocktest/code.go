package queuelocktest

// Code is an error that DynamoDB answers with, by the name under which the SDK
// reports it. Others than the ones below can be used too: they are answered with
// status 400.
type Code string

// The errors a lock has to live with. The SDK retries all but the last two by
// itself.
const (
	ThroughputExceeded Code = "ProvisionedThroughputExceededException"
	Throttling         Code = "ThrottlingException"
	RequestLimit       Code = "RequestLimitExceeded"
	InternalError      Code = "InternalServerError" // status 500
	Unavailable        Code = "ServiceUnavailable"  // status 503

	// TransactionConflict is a write to an item that a transaction is changing
	// at the same time. A transaction sees it as a TransactionCanceledException.
	TransactionConflict Code = "TransactionConflictException"
	AccessDenied        Code = "AccessDeniedException"
)

func (c Code) message() string {
	switch c {
	case ThroughputExceeded:
		return "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
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
