package table

import "github.com/queuelock/queuelock/internal/retry"

// Retryable repeats requests that failed transiently, without a limit of its own.
var Retryable = retry.Policy{Retryable: Transient}
