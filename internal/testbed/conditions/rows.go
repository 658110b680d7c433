package conditions

var ofEnqueue = []Case{
	searched("ENQUEUE", "no row", "A late duplicate would overwrite a renewed row with an old lease. A row of another client is not touched.", "judged", "copied, ended", 14),
}

var ofRowHeartbeat = []Case{
	searched("HEARTBEAT of a row", "its id", "A row that was swept and put again is another waiter's, or another attempt's.", "malformed", "late", 20),
	searched("HEARTBEAT of a row", "not late", "As of HEARTBEAT.", "back", "heartbeats of rows", 11),
}

var ofKeep = []Case{
	searched("KEEP", "its id", "Another process has resumed the place, or the row was swept.", "malformed", "slices", 15),
	searched("LEAVE", "its id", "Another process has resumed the place.", "judged", "leaves, slices", 8),
}

var ofSweep = []Case{
	keeps("SWEEP", "there", "A row without `beat` and `id` would be found as read when it is missing.", answers),
	searched("SWEEP", "beat as read", "Its owner renews it in between.", "judged", "late", 20),
	searched("SWEEP", "id as read", "The row was put again in between.", "judged", "resumed twice", 20),
}
