package machine

// Beat returns the beat of the entry as it was last seen.
func (h *Hold) Beat() int64 { return h.seen.beat }

// NextTransaction returns the number of the fenced transaction after one.
func NextTransaction(call int64) int64 { return nextTransaction(call) }
