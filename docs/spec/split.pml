/* Fenced transactions whose items become visible one after another, and turns
 * that read an item x, add one, and write it: nothing may be lost.
 *
 * A transaction has two items: the serving record, where it sets the entry's
 * number, and x. Each is prepared in a step of its own, and, once both are, each
 * is committed in a step of its own. A prepared item refuses every write, and
 * TransactGetItems waits for it; a plain read sees the value before. The answer
 * is sent when both are visible. An attempt may stay on its way for any time.
 *
 * Queue rows, tickets and leases are left out: an exclusive record is granted to
 * anybody when it is free, and each process has one turn.
 *
 * -D options: N processes; ATTEMPTS of one turn's transaction; LOST: answers that never
 * arrive; EVICT: live holders that are judged dead; LEAVE: holders that learn of
 * the end of their lease by their own clock; IDLE: a mask of those that hold and do not touch x; AGAIN:
 * answered attempts that the network, or a client that retries on its own, makes
 * once more; CANCEL: attempts that are cancelled by something else. BUG_... plants a mistake.
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
#ifndef LEAVE
#define LEAVE 0
#endif
#ifndef IDLE
#define IDLE 0
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#ifndef AGAIN
#define AGAIN 0
#endif

/* The checks, by the names that pan prints. They are never set. */
hidden byte broken_lost, broken_told, broken_written, broken_count;

#define HAS(m,p) (((m) >> (p)) & 1)
#define SLOT(p,k) ((p)*ATTEMPTS + (k))
#define OWNER(a) ((a)/ATTEMPTS)
#define SLOTS (N*ATTEMPTS)

/* The record: who holds, the number on the entry, and whether the last eviction is marked. */
byte holder = 0;          /* process + 1 */
bool made = 0;
bool evicted = 0, direct = 0; /* there was an eviction; and nobody was granted since */
byte rp = 0;              /* the attempt that has prepared the record, + 1 */
/* The item x: how many writes it has seen. */
byte v = 0;
byte xp = 0;              /* the attempt that has prepared it, + 1 */

/* Attempts. */
#define GOING 1
#define BOTH 2            /* both items are prepared: it will be made */
#define MADE 3
#define CONFLICT 4        /* cancelled, and why */
#define GONE 5
#define ISMADE 6
byte st[SLOTS];
byte base[N];             /* what the turn has read in x */

byte wrote = 0;           /* turns whose write was made, one bit each */
byte said = 0, unknown = 0; /* turns that were told so, and that were told nothing */
byte fin = 0;
byte bLost = LOST, bEvict = EVICT, bLeave = LEAVE, bAgain = AGAIN, bCancel = CANCEL;

#define FENCE(p) (holder == (p)+1 && !made)

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

/* DynamoDB: one attempt. */
proctype Attempt(byte a) {
end:	do
	:: atomic { st[a] == GOING && rp != a+1 ->
		if
		:: rp != 0 -> cancel(a, CONFLICT)
#ifdef BUG_PART
		:: rp == 0 && holder == OWNER(a)+1 -> rp = a+1; decided(a)
		:: rp == 0 && holder != OWNER(a)+1 -> cancel(a, GONE)
#else
		:: rp == 0 && FENCE(OWNER(a)) -> rp = a+1; decided(a)
		:: rp == 0 && holder != OWNER(a)+1 -> cancel(a, GONE)
		:: rp == 0 && holder == OWNER(a)+1 && made -> cancel(a, ISMADE)
#endif
		fi }
	:: atomic { st[a] == GOING && xp != a+1 ->
		if
		:: xp != 0 -> cancel(a, CONFLICT)
		:: xp == 0 -> xp = a+1; decided(a)
		fi }
	:: atomic { st[a] == BOTH && rp == a+1 ->
		rp = 0;
#ifdef BUG_PART
		holder = 0; made = 0; direct = 0;
#else
		made = 1;
#endif
		over(a) }
	:: atomic { st[a] == BOTH && xp == a+1 ->
		/* nobody has written x since this turn has read it */
		assert(base[OWNER(a)] == v || broken_lost);
		assert(!HAS(wrote,OWNER(a)) || broken_written);
		xp = 0; v++; wrote = wrote | (1 << OWNER(a));
		over(a) }
	/* a heartbeat of the holder's own is in the way, or the caller's condition is */
	:: atomic { bCancel > 0 && st[a] == GOING -> bCancel--; cancel(a, CONFLICT) }
	:: atomic { bAgain > 0 && st[a] >= MADE -> bAgain--; st[a] = GOING }
	:: atomic { fin == N && st[a] != GOING && st[a] != BOTH -> break }
	od
}

/* Others evict a live holder: EVICT leaves a mark. A record that is prepared
 * refuses it. */
active proctype Evictor() {
end:	do
	:: atomic { bEvict > 0 && holder != 0 && rp == 0 -> bEvict--; holder = 0; made = 0; evicted = 1; direct = 1 }
	od
}

#ifdef BUG_PLAIN_READ
#define CAREFUL 0
#else
#ifdef BUG_LAST_GRANT
#define CAREFUL follows
#else
#define CAREFUL evicted
#endif
#endif

proctype Holder(byte p) {
	byte k = 0, a = 0;
	bool follows = 0, open = 0, sent = 0;
	atomic { holder == 0 && rp == 0 -> holder = p+1; made = 0; follows = direct; direct = 0 }
	if
	:: HAS(IDLE,p) -> goto release
	:: !HAS(IDLE,p)
	fi;
	/* lock.Get waits for what is prepared; a plain read does not */
	atomic {
		(!CAREFUL || xp == 0);
		base[p] = v
	}
send:	skip;
	atomic { a = SLOT(p,k); k++; sent = 1; st[a] = GOING }
#ifdef BUG_RELEASE_EARLY
	goto release;
#endif
	/* the answer, or none */
	atomic {
		if
		:: st[a] == MADE -> said = said | (1 << p);
#ifdef BUG_PART
			goto done
#else
			goto release
#endif
		:: st[a] == CONFLICT && k < ATTEMPTS -> goto send
		:: st[a] == CONFLICT && k == ATTEMPTS -> goto failed
		:: st[a] == ISMADE -> said = said | (1 << p); goto visible
		:: st[a] == GONE -> unknown = unknown | (open << p); goto done
		:: bLost > 0 -> bLost--; open = 1; if :: k < ATTEMPTS -> goto send :: goto failed fi
		:: bLeave > 0 -> bLeave--; open = 1; goto failed
		fi
	}
	/* It was made, and this was read from the number. It may not be visible yet. */
visible: skip;
#ifndef BUG_MADE_RELEASES
	atomic { xp == 0 -> goto release }
#else
	goto release;
#endif
	/* The transaction has failed, or nobody knows. */
failed:	skip;
	atomic {
		unknown = unknown | (1 << p);
#ifdef BUG_RELEASE_UNSETTLED
		goto release
#else
#ifdef BUG_RELEASE_CANCELLED
		if :: !open -> goto release :: else fi
#endif
#endif
	}
	/* a release that asks for a lower number */
	atomic { rp == 0 ->
		if
		:: holder == p+1 && !made -> holder = 0; direct = 0; goto done
		:: holder == p+1 && made -> goto visible
		:: holder != p+1 -> goto done
		fi }
release: skip;
	atomic { rp == 0 -> if :: holder == p+1 -> holder = 0; made = 0; direct = 0 :: else fi }
done:	atomic { a = 0; k = 0; follows = 0; open = 0; sent = 0; fin++ }
}

init {
	byte i = 0;
	atomic {
		do :: i < SLOTS -> run Attempt(i); i++ :: else -> break od;
		i = 0;
		do :: i < N -> run Holder(i); i++ :: else -> break od;
		i = 0
	}
	atomic {
		fin == N && rp == 0 && xp == 0;
		/* what was said to be made was, and what was not made was not said to be */
		assert(!(said & ~wrote) || broken_told)
	}
}
