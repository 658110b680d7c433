package serving

import (
	"context"
	"time"

	"github.com/queuelock/queuelock/internal/table"
)

// MaxSeen is the largest number of holders of one Seen, for the limits of MaxEvicted.
const MaxSeen = 10

// Seen writes when holders without an end were seen, all or none:
//
//	SET holders.#id.seen = :at, holders.#id.seenBeat = :beat
//	if holders.#id.beat = :beat AND attribute_not_exists(holders.#id.until)
//	AND (attribute_not_exists(holders.#id.seenBeat) OR holders.#id.seenBeat < :beat) AND …
//
// Other clients then end their leases by the clock, as long as they have that beat and no
// until. A second observation of the same beat is refused: it would move the end. The
// ticket refuses the entry of a TAKE that was repeated, which has the beat of the first.
func Seen(ctx context.Context, q table.Queue, at time.Time, holders ...Holder) (Record, error) {
	return send(ctx, q, seen(at, holders...), table.Once())
}
