package machine

// Beat returns the beat of the entry as it was last seen.
func (h *Hold) Beat() int64 { return h.seen.beat }
