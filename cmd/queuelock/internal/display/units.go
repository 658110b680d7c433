package display

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/queuelock/queuelock/queue"
)

// Units are the capacity units that a queue needs in an hour, estimated. They assume that what it has now stays, and the
// default Config: heartbeats, looks, and of a queue with waiters the turns, as long as recent ones were. Acquires that nothing
// shows, as of a queue without waiters, are not in it.
type Units struct {
	Writes float64 `json:"write_units" help:"write units"`
	Reads  float64 `json:"read_units" help:"read units"`
}

// What docs/costs.md has measured, or rests on.
const (
	beatsPerTTL   = 1 / 0.475 // a renewal comes up to a tenth before half of the lease
	looksOfNext   = 4000      // in an hour
	looksOfOthers = 360       // one in 10 s
	looksPerTurn  = 2.2       // of each waiter, as turns end
	writesPerTurn = 4         // in a queue
	recordBytes   = 300
	entryBytes    = 200 // without owner and data
	rowBytes      = 230
	bytesPerWrite = 1024
	bytesPerRead  = 4096
	shortestTurn  = time.Millisecond
	hour          = float64(time.Hour)
)

// UnitsOf estimates the units of a queue.
func UnitsOf(s *queue.State) (u Units) {
	size := recordBytes
	for _, h := range s.Serving {
		size += entryBytes + len(h.Owner) + len(h.Data)
	}
	for _, h := range queue.Turns(s.Serving) {
		if !h.Expired() {
			u.Writes += beats(h.TTL) * units(size, bytesPerWrite)
		}
	}
	live, ahead := 0, size
	for _, w := range s.Waiting {
		if w.Expired() || w.Problem != nil {
			continue
		}
		looks := float64(looksOfOthers)
		if live == 0 {
			looks = looksOfNext
		}
		live, ahead = live+1, ahead+rowBytes
		u.Writes += beats(w.TTL)
		u.Reads += (looks + looksPerTurn*turns(s)) * units(ahead, bytesPerRead)
	}
	if live > 0 {
		u.Writes += writesPerTurn * turns(s) * units(size, bytesPerWrite)
	}
	return u
}

func turns(s *queue.State) float64 {
	if s.HoldTime.Mean <= 0 {
		return 0
	}
	return hour / float64(max(s.HoldTime.Mean, shortestTurn)) * float64(max(1, s.Permits))
}

func beats(ttl time.Duration) float64 {
	if ttl <= 0 {
		return 0
	}
	return hour / float64(ttl) * beatsPerTTL
}

func units(size, per int) float64 { return float64((size + per - 1) / per) }

// Add returns the sum.
func (u Units) Add(o Units) Units { return Units{u.Writes + o.Writes, u.Reads + o.Reads} }

// cells returns both, with two digits: they are estimates.
func (u Units) cells() (writes, reads string) { return twoDigits(u.Writes), twoDigits(u.Reads) }

// String says both in words.
func (u Units) String() string {
	writes, reads := u.cells()
	return fmt.Sprintf("about %s write units and %s read units an hour", writes, reads)
}

func twoDigits(n float64) string {
	if n < 1 {
		return "0"
	}
	step := math.Pow(10, max(0, math.Floor(math.Log10(n))-1))
	text := fmt.Sprintf("%.0f", math.Round(n/step)*step)
	var b strings.Builder
	for i, r := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (u Units) rounded() Units { return Units{math.Round(u.Writes), math.Round(u.Reads)} }
