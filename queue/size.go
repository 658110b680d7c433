package queue

// MaxOwner is the largest size of an owner, and maxID of an id that the library writes, in bytes.
const (
	MaxOwner = 256
	maxID    = 128
)

// MaxPermits is the largest number of permits of a semaphore. That many entries of
// some 200 bytes stay far below the 400 KB of an item.
const MaxPermits = 500

// MaxSharedData is the largest data of a shared holder, with its group. MaxPermits holders with it and
// with the longest owners' names fit, and none of them knows the data of the others.
const MaxSharedData = 256

// MaxEvicted is the largest number of holders of one Evict. The request then stays
// below DynamoDB's limits of 4 KB for an expression and 300 operators.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const MaxEvicted = 40

// MaxUnsettled is the number of times from which on a release replaces them by one.
const MaxUnsettled = 10
