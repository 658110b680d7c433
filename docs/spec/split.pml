/* Fenced transactions whose items become visible one after another. Each turn reads
 * an item x, adds one, and writes it. No write may be lost.
 *
 * A transaction has two items: the serving record, where it sets the number on
 * the holder's entry, and x. Each is prepared in a step of its own. After that each
 * is committed in a step of its own. A prepared item refuses every write, and
 * TransactGetItems waits for it. A plain read returns the value before. The answer
 * is sent when both items are visible. An attempt may take any time.
 *
 * Queue rows, tickets and leases are left out. Any process is granted a lock that
 * is free, and each process has one turn.
 *
 * -D options: N processes; ATTEMPTS: attempts at the transaction of one turn;
 * IDLE: a mask of processes that hold the lock and do not write x; NEXT: a mask of
 * processes that make a second transaction, of other items, after one that was not
 * answered or was refused; EARLIER: a mask of processes whose UpdateAndRelease had no
 * answer before the transaction, and may arrive at any time. The faults, and how often each may happen: LOST (no answer
 * arrives), EVICT (a live holder is evicted), CANCEL (another request or condition
 * cancels an attempt), AGAIN (an attempt that was answered is made again, by the
 * network or by the SDK's client). BUG_... plants a mistake.
 */
#ifndef N
#define N 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef LOST
#define LOST 0
#endif
#ifndef EVICT
#define EVICT 0
#endif
#ifndef IDLE
#define IDLE 0
#endif
#ifndef NEXT
#define NEXT 0
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#ifndef AGAIN
#define AGAIN 0
#endif
#ifndef EARLIER
#define EARLIER 0
#endif

/* The names of the checks, as pan prints them. The variables are never set. */
hidden byte broken_lost, broken_reported, broken_written;

#define HAS(m,p) (((m) >> (p)) & 1)
#define SLOT(p,k) ((p)*ATTEMPTS + (k))
#define OWNER(a) ((a)/ATTEMPTS)
#define SLOTS (N*ATTEMPTS)

/* The record. */
byte holder = 0;          /* process + 1 */
byte made = 0;            /* the number on its entry, as below */
#define FIRST 2           /* of the transaction of x */
#define USED 3            /* of the same, after Settle */
#define SECOND 4          /* of the transaction after it */
bool evicted = 0;         /* the mark of an eviction that is recent */
bool open = 0;            /* a holder was released before its transaction was visible */
bool previous = 0;        /* the previous turn ended by an eviction */
byte rp = 0;              /* the attempt that has prepared the record, + 1 */
/* The item x: how many writes it has seen. */
byte v = 0;
byte xp = 0;              /* the attempt that has prepared it, + 1 */

/* Attempts: under way, prepared in full, or ended. */
#define GOING 1
#define BOTH 2
#define MADE 3
#define CONFLICT 4
#define REFUSED 5
byte st[SLOTS];
byte base[N];             /* what the turn has read in x */

byte wrote = 0;           /* turns whose write was made, one bit each */
byte said = 0, denied = 0; /* turns whose call reported that, or that it will never be made */
byte fin = 0;
byte bLost = LOST, bEvict = EVICT, bAgain = AGAIN, bCancel = CANCEL;

inline cancel(a, why) {
	st[a] = why;
	if :: rp == (a)+1 -> rp = 0 :: else fi;
	if :: xp == (a)+1 -> xp = 0 :: else fi
}
inline decided(a) {
	if :: rp == (a)+1 && xp == (a)+1 -> st[a] = BOTH :: else fi
}
inline over(a) {
	if :: rp != (a)+1 && xp != (a)+1 -> st[a] = MADE :: else fi
}

#ifdef BUG_RELEASE_IN_TRANSACTION
#define cFENCE(p) (holder == (p)+1)
#else
#define cFENCE(p) (holder == (p)+1 && made < FIRST)
#endif

/* DynamoDB: one attempt. */
proctype Attempt(byte a) {
end:	do
	:: atomic { st[a] == GOING && rp != a+1 ->
		if
		:: rp != 0 -> cancel(a, CONFLICT)
		:: rp == 0 && cFENCE(OWNER(a)) -> rp = a+1; decided(a)
		:: rp == 0 && !cFENCE(OWNER(a)) -> cancel(a, REFUSED)
		fi }
	:: atomic { st[a] == GOING && xp != a+1 ->
		if
		:: xp != 0 -> cancel(a, CONFLICT)
		:: xp == 0 -> xp = a+1; decided(a)
		fi }
	:: atomic { st[a] == BOTH && rp == a+1 ->
		rp = 0;
#ifdef BUG_RELEASE_IN_TRANSACTION
		holder = 0;
#else
		made = FIRST;
#endif
		over(a) }
	:: atomic { st[a] == BOTH && xp == a+1 ->
		/* x has not changed since this turn read it */
		assert(base[OWNER(a)] == v || broken_lost);
		assert(!HAS(wrote,OWNER(a)) || broken_written);
		assert(!HAS(denied,OWNER(a)) || broken_reported);
		xp = 0; v++; wrote = wrote | (1 << OWNER(a));
		over(a) }
	/* a heartbeat conflicts, or the caller's condition is false */
	:: atomic { bCancel > 0 && st[a] == GOING -> bCancel--; cancel(a, CONFLICT) }
	:: atomic { bAgain > 0 && st[a] >= MADE -> bAgain--; st[a] = GOING }
	od
}

/* Removes the entry. */
inline leave(o, ev) {
	holder = 0; made = 0; previous = ev;
#ifdef BUG_OPEN_ONCE
	open = o
#else
	open = open || o
#endif
}

/* Another client evicts a live holder. A prepared record refuses that. */
active proctype Evictor() {
end:	do
	:: atomic { bEvict > 0 && holder != 0 && rp == 0 -> bEvict--; evicted = 1; leave(0, 1) }
	od
}

/* An UpdateAndRelease that had no answer before the transaction began arrives. */
#ifdef BUG_EARLIER_RELEASES
#define cEARLIER(p) (holder == (p)+1)
#else
#define cEARLIER(p) (holder == (p)+1 && made < FIRST)
#endif
proctype Earlier(byte p) {
end:	atomic { cEARLIER(p) && rp == 0 -> leave(0, 0) }
}

#ifdef BUG_PLAIN_READ
#define UNSETTLED 0
#else
#ifdef BUG_LAST_GRANT
#define UNSETTLED (previous || open)
#else
#define UNSETTLED (evicted || open)
#endif
#endif

proctype Holder(byte p) {
	byte k = 0;
	bool unsettled = 0;  /* the marks at the grant */
	bool unsure = 0;     /* the transaction has no success answer, and is not settled */
	atomic { holder == 0 && rp == 0 -> holder = p+1; made = 0; unsettled = UNSETTLED }
	atomic {
		if
		:: HAS(IDLE,p) -> goto release
		:: !HAS(IDLE,p)
		fi
	}
	/* Lock.Get waits for prepared items. A plain read does not. */
	atomic { (!unsettled || xp == 0) -> base[p] = v }
send:	skip;
	atomic {
		st[SLOT(p,k)] = GOING; k++;
#ifdef BUG_RELEASE_EARLY
		goto release
#endif
	}
	atomic {
		if
		:: st[SLOT(p,k-1)] == MADE -> said = said | (1 << p);
#ifdef BUG_RELEASE_IN_TRANSACTION
			goto done
#else
			unsure = 0; goto release
#endif
		/* the record that refused is in the answer */
		:: st[SLOT(p,k-1)] == REFUSED && holder == p+1 && made == FIRST -> goto visible
		:: st[SLOT(p,k-1)] == REFUSED && holder != p+1 -> goto done
		:: st[SLOT(p,k-1)] == REFUSED && holder == p+1 && made != FIRST && k < ATTEMPTS -> goto send
		:: st[SLOT(p,k-1)] == CONFLICT && k < ATTEMPTS -> goto send
		:: (st[SLOT(p,k-1)] == CONFLICT || st[SLOT(p,k-1)] == REFUSED) && k == ATTEMPTS && holder == p+1 && made != FIRST ->
#ifndef BUG_RELEASE_CANCELLED
			unsure = 1;
#endif
			goto failed
		:: st[SLOT(p,k-1)] == CONFLICT && k == ATTEMPTS && (holder != p+1 || made == FIRST) -> unsure = 1; goto failed
		:: bLost > 0 -> bLost--; unsure = 1; if :: k < ATTEMPTS -> goto send :: goto failed fi
		fi
	}
	/* The number shows that it was made, not that x is visible. */
visible: skip;
	atomic {
#ifndef BUG_MADE_RELEASES
		xp == 0;
#endif
		said = said | (1 << p); unsure = 0; goto release
	}
failed:	skip;
#ifndef BUG_RELEASE_UNSETTLED
	/* Settle makes the transaction impossible, or shows that it was made. */
	atomic {
		if
		:: !unsure -> goto release
		:: unsure && rp == 0 && holder == p+1 && made < FIRST ->
			made = USED; denied = denied | (1 << p); unsure = 0; goto release
		:: unsure && rp == 0 && holder == p+1 && made == FIRST -> goto visible
		:: unsure && holder != p+1 -> goto done
		:: unsure && bLost > 0 -> bLost-- /* no answer */
		:: unsure && bLost > 0 && rp == 0 && holder == p+1 && made < FIRST -> bLost--; made = USED
#ifdef BUG_NEXT_UNSETTLED
		:: HAS(NEXT,p)
#endif
		fi
	}
#endif
#if NEXT > 0
	/* another transaction, which is answered */
	atomic {
		if
		:: !HAS(NEXT,p)
		:: HAS(NEXT,p) && rp == 0 && holder == p+1 -> made = SECOND;
#if defined(BUG_NEXT_SETTLES) || defined(BUG_NEXT_UNSETTLED)
			unsure = 0
#endif
		:: HAS(NEXT,p) && holder != p+1
		fi
	}
#endif
release: skip;
	atomic { rp == 0 ->
		if
#ifdef BUG_RELEASE_UNSETTLED
		:: holder == p+1 -> leave(0, 0)
#else
		:: holder == p+1 -> leave(unsure, 0)
#endif
		:: else
		fi }
done:	atomic { k = 0; unsettled = 0; unsure = 0; fin++ }
}

#define STILL(a) (st[a] != GOING && st[a] != BOTH)
init {
	byte i = 0;
	atomic {
		do :: i < SLOTS -> run Attempt(i); i++ :: else -> break od;
		i = 0;
		do :: i < N -> run Holder(i); i++ :: else -> break od;
		i = 0;
		do
		:: i < N -> if :: HAS(EARLIER,i) -> run Earlier(i) :: else fi; i++
		:: else -> break
		od;
		i = 0
	}
	atomic {
		fin == N && rp == 0 && xp == 0 && timeout;
		assert(!(said & ~wrote) || broken_reported)
	}
}
