// Package load says how many holders a record sustains.
//
// All entries of a record are in one item, and each renewal is a write of the whole item. A queue of n holders sustains
// their heartbeats only if
//
//	size  = 1 KB + n * (200 + owner + data) is at most 350 KB, and
//	units = n / interval * ceil(size / 1 KB) is at most 500 a second
//
// An item is limited to 400 KB, and a partition to 1,000 write units a second. The rest
// is for grants and releases, for waiters, and for other queues.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
package load

import (
	"time"

	"github.com/queuelock/queuelock/queue"
)

const (
	recordBase   = 1 << 10 // key, numbers, turn and marks
	entryBase    = 200     // id, ticket, lease and times of an entry
	maxRecord    = 350 << 10
	maxUnits     = 500 // a second
	bytesOfAUnit = 1 << 10
)

// Holder is what each holder of a record adds to it.
type Holder struct {
	Owner, Data int           // bytes
	Interval    time.Duration // between its heartbeats
}

// Units returns the write units a second that the heartbeats of n holders need, and
// whether they and the record's size are within the bounds.
func (l Holder) Units(n int) (units float64, fits bool) {
	size := recordBase + n*(entryBase+l.Owner+l.Data)
	units = float64((size+bytesOfAUnit-1)/bytesOfAUnit) * float64(n) / l.Interval.Seconds()
	return units, units <= maxUnits && size <= maxRecord
}

// MaxData returns the largest data, up to most, with which n holders are within the
// bounds, whatever Holder.Data is. Negative: n holders do not fit at all.
func (l Holder) MaxData(n, most int) int {
	units := int(maxUnits * l.Interval.Seconds() / float64(n))
	size := min(maxRecord, units*bytesOfAUnit)
	return min(most, (size-recordBase)/n-entryBase-l.Owner)
}

// MaxHolders returns the largest number of holders within the bounds, from 1 to queue.MaxPermits.
func (l Holder) MaxHolders() int {
	for n := 2; n <= queue.MaxPermits; n++ {
		if _, fits := l.Units(n); !fits {
			return n - 1
		}
	}
	return queue.MaxPermits
}

// MinInterval returns the shortest interval, in whole seconds, with which n holders are
// within the bound on units.
func (l Holder) MinInterval(n int) time.Duration {
	l.Interval = time.Second
	units, _ := l.Units(n)
	return time.Duration((units+maxUnits-1)/maxUnits) * time.Second
}
