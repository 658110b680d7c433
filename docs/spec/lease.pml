/* One lease, its owner, and an observer that may end it, in abstract time. In
 * queuelock.pml EVICT replaces all of this. Holders and queue rows work alike.
 *
 * The owner relies on its lease until its deadline, by its own clock. The check is
 * that no other process removes the entry before that. A heartbeat may be late, and
 * the owner may give it up and send the next. The end of the lease that a heartbeat
 * writes, until, comes from an estimate of the table's clock that is 0 to ERR late.
 *
 * The owner's clock may fall behind by DRIFT in total, and the observer's clock may
 * run ahead by FAST. The owner's deadline is MARGIN before the end of TTL. With a
 * lock delay, DELAY, others end the lease that much later, and an owner that learns
 * of its loss leaves its entry to them. BUG_... plants a mistake.
 */
#ifndef TTL
#define TTL 5
#endif
#ifndef MARGIN
#define MARGIN 2
#endif
#ifndef DELAY
#define DELAY 0           /* a lock delay, between the owner's deadline and the next holder */
#endif
#define DRIFT 1
#define FAST 1
#define ERR 1
#ifndef END
#define END 13            /* of time */
#endif
#ifndef BEATS
#define BEATS 3           /* heartbeats sent */
#endif

/* The names of the checks, as pan prints them. The variables are never set. */
hidden byte broken_belief, broken_delay, broken_outrun;

byte now = 0, lag = 0;    /* the table's clock, and how far the owner's clock is behind it */
#define LOCAL (now - lag)

/* The entry, or row. */
bool there = 1;
byte until = 0, beat = 0; /* until 0: absent */
byte applied = 0;         /* only for the check: the last heartbeat applied */

/* The owner: Renewals and Keeper of heartbeat. */
byte deadline = TTL - MARGIN;
bool lost = 0;
byte last = 0;            /* Renewals.until: the ends it writes never fall */
byte sent = 0;            /* heartbeats sent */
#define BELIEVES (!lost && LOCAL < deadline)
/* Only for the check: the table's clock at the owner's deadline. */
byte ended = 0;

/* At most two heartbeats are on their way: the current one, and one that was given
 * up. State: 0 none, 1 on its way, 2 refused, 3 applied. */
byte st[2], at[2], end_[2], no[2];
bool given[2];

#ifdef BUG_UNTIL_BACK
#define NOTLATE 1
#else
#define NOTLATE (until == 0 || until <= end_[i] || end_[i] == 0)
#endif
#ifdef BUG_NO_BEAT
#define BEAT beat
#else
#define BEAT (beat + 1)
#endif

active proctype Clock() {
end:	do
	:: atomic { now < END -> now++; if :: lag < DRIFT -> lag++ :: true fi;
#if DELAY > 0
		if :: LOCAL <= deadline -> ended = now :: else fi
#endif
		}
	od
}

active proctype Owner() {
	byte i = 0, e;
	/* The grant was sent at 0. It has an end unless the engine sends no dates. */
	if :: until = TTL; last = until :: until = TTL + ERR; last = until :: true fi;
end:	do
	:: atomic { !lost && LOCAL >= deadline -> lost = 1 }
#ifdef BUG_REMOVE_ON_LOSS
	:: atomic { lost && there -> assert(now >= ended + DELAY || broken_delay); there = 0 }
#endif
	:: atomic { BELIEVES && sent < BEATS && (st[0] == 0 || (given[0] && st[1] == 0)) && (st[1] == 0 || given[1]) ->
		if :: st[0] == 0 -> i = 0 :: else -> i = 1 fi;
		if
		:: e = now + TTL
		:: e = now + TTL + ERR
		fi;
#ifndef BUG_ENDS_FALL
		if :: e < last -> e = last :: else fi;
#endif
		last = e; sent++;
		st[i] = 1; at[i] = LOCAL; end_[i] = e; no[i] = sent; given[i] = 0; i = 0; e = 0 }
	/* a timeout: it is given up, and is still on its way */
	:: atomic { st[0] != 0 && !given[0] && sent < BEATS -> given[0] = 1 }
	:: atomic { st[1] != 0 && !given[1] && sent < BEATS -> given[1] = 1 }
	/* an answer */
	:: atomic { st[0] > 1 -> i = 0; goto answer }
	:: atomic { st[1] > 1 -> i = 1; goto answer }
	od;
answer:	atomic {
		if
		:: given[i] || lost
		:: !given[i] && !lost && st[i] == 3 ->
#ifdef BUG_DEADLINE_FROM_ANSWER
			deadline = LOCAL + TTL - MARGIN
#else
			deadline = at[i] + TTL - MARGIN
#endif
		:: !given[i] && !lost && st[i] == 2 && !there -> lost = 1
		:: !given[i] && !lost && st[i] == 2 && there -> skip /* a later heartbeat was applied: no loss */
		fi;
		st[i] = 0; at[i] = 0; end_[i] = 0; no[i] = 0; given[i] = 0; i = 0;
		goto end
	}
}

/* The network applies heartbeats at any time. */
active proctype Net() {
	byte i = 0;
end:	do
	:: atomic { st[0] == 1 -> i = 0; goto come }
	:: atomic { st[1] == 1 -> i = 1; goto come }
	od;
come:	atomic {
		if
		:: there && NOTLATE -> if :: end_[i] != 0 -> until = end_[i] :: else fi; beat = BEAT; applied = no[i]; st[i] = 3
		:: there && !(NOTLATE) ->
			/* refused only if a later one was applied */
			assert(applied > no[i] || broken_outrun); st[i] = 2
		:: !there -> st[i] = 2
		fi;
		i = 0; goto end
	}
}

/* EVICT or SWEEP, with the beat b that was judged. */
#ifdef BUG_EVICT_UNCONDITIONAL
#define SAME(b) 1
#else
#define SAME(b) (beat == (b))
#endif
inline remove(b) {
	atomic {
		if
		:: there && SAME(b) ->
			assert(!BELIEVES || broken_belief);
			assert(DELAY == 0 || now >= ended + DELAY || broken_delay); there = 0
		:: else
		fi
	}
}

#ifdef BUG_NO_DELAY
#define LATER 0
#else
#define LATER DELAY
#endif
/* Observer of heartbeat, in a waiter. */
active proctype Other() {
	byte from = 0, seen = 0;
end:	do
	/* by the clock */
	:: atomic { there && until != 0 && now >= until + LATER -> seen = beat }; remove(seen); seen = 0
	/* by observation: the same beat for all of TTL, counted from after the read
	 * that first showed it */
	:: atomic { there ->
#ifdef BUG_OBSERVED_FROM_BEFORE
		from = now };
	   atomic { there -> seen = beat };
#else
		seen = beat };
	   from = now;
#endif
		atomic { beat != seen || now + FAST >= from + TTL + LATER };
		if
		:: beat == seen -> remove(seen)
		:: beat != seen
		fi; from = 0; seen = 0
	od
}
