package serving

import "time"

// All entries of a record are one item, and each renewal of one is a write of
// the whole item. So a queue of n holders, each with an owner's name and data of
// so many bytes, sustains its heartbeats only if
//
//	size  = 1 KB + n * (200 + owner + data) is at most 350 KB, and
//	units = n / interval * ceil(size / 1 KB) is at most 500 a second
//
// An item has 400 KB at the most, and a partition gives 1,000 write units a
// second: the rest is for turns, for those who wait, and for other queues.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	recordBase   = 1 << 10 // key, numbers, turn and marks
	entryBase    = 200     // id, ticket, lease and times of an entry
	maxRecord    = 350 << 10
	maxUnits     = 500 // a second
	bytesOfAUnit = 1 << 10
)

// MaxSharedData is how much data each holder that shares may have: as many as
// MaxPermits join, and none of them knows how much the others have. With the
// longest owners' names, all of them fit.
const MaxSharedData = 256

// Load is what each of the holders of a record adds to it.
type Load struct {
	Owner, Data int           // bytes
	Interval    time.Duration // between its heartbeats
}

// Units is how many write units a second the heartbeats of n holders need, and
// fits whether they, and the record's size, are within the bounds.
func (l Load) Units(n int) (units float64, fits bool) {
	size := recordBase + n*(entryBase+l.Owner+l.Data)
	units = float64((size+bytesOfAUnit-1)/bytesOfAUnit) * float64(n) / l.Interval.Seconds()
	return units, units <= maxUnits && size <= maxRecord
}

// MaxData is the most data, up to most, with which n holders are within the
// bounds, whatever Load.Data is; negative: there is none.
func (l Load) MaxData(n, most int) int {
	units := int(maxUnits * l.Interval.Seconds() / float64(n))
	size := min(maxRecord, units*bytesOfAUnit)
	return min(most, (size-recordBase)/n-entryBase-l.Owner)
}

// MaxHolders is how many of them, up to MaxPermits, are within the bounds; at
// least one.
func (l Load) MaxHolders() int {
	n := 1
	for n < MaxPermits {
		if _, fits := l.Units(n + 1); !fits {
			break
		}
		n++
	}
	return n
}

// MinInterval is the interval from which on n of them are within the bound on
// units, in whole seconds.
func (l Load) MinInterval(n int) time.Duration {
	units, _ := Load{Owner: l.Owner, Data: l.Data, Interval: time.Second}.Units(n)
	return time.Duration((units+maxUnits-1)/maxUnits) * time.Second
}
