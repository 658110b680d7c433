package conditions

import "time"

var ofEnqueue = []Case{
	needs("ENQUEUE", "no row", "A late duplicate would overwrite a renewed row with an old lease. A row of another client is not touched.", Leases,
		A.takes(),
		B.queues(),
		wait(20*time.Second),
		B.renews(),
		B.again("ENQUEUE"),
	),
}

var ofRowHeartbeat = []Case{
	needs("HEARTBEAT of a row", "its id", "A row that was swept and put again is another waiter's, or another attempt's.", Leases,
		A.takes(),
		B.queues(),
		wait(time.Minute), // B is paused
		C.resumesPlace(B),
		B.renews(),
	),
	needs("HEARTBEAT of a row", "not late", "As of HEARTBEAT.", Leases,
		A.takes(),
		B.queues(),
		B.renews().delayed(),
		wait(20*time.Second),
		B.renews(),
		B.arrives(),
	),
}

var ofSweep = []Case{
	keeps("SWEEP", "there", "A row without `beat` and `id` would be found as read when it is missing.", answers,
		A.takes(),
		B.takes(),
		spoiledRow(B),
		C.looks(), N.looks(),
		N.sweeps(B),
		C.sweeps(B),
	),
	needs("SWEEP", "beat as read", "Its owner renews it in between.", Leases,
		A.takes(),
		B.queues(),
		wait(50*time.Second),
		C.looks(), // B's lease ends in 10 s
		B.renews(),
		wait(11*time.Second),
		C.sweeps(B),
	),
	needs("SWEEP", "id as read", "The row was put again in between.", Leases,
		A.takes(),
		B.queues(),
		wait(time.Minute),
		C.looks(), N.looks(),
		N.sweeps(B),
		B.enqueues(),
		C.sweeps(B),
	),
}
