/* A record that may be deleted, and begins again: seeding by time, Forget, and the
 * TAKE that creates the record. Exclusive locks. Queue rows and leases are left out:
 * any waiter above the floor may claim, and no process crashes.
 *
 * Each process takes a ticket, waits, holds and releases, CYCLES times. A new record
 * begins at the estimate of the table's time, times R. The estimate is up to ERR wrong
 * in either direction. At most one ticket is issued in a unit of time. A request is
 * applied up to LATE after it was sent, and is refused by the table after that.
 *
 * The write that makes the record quiet sets the time at which TTL may delete it,
 * FORGET later. TTL deletes it at any time from then on. Another program deletes the
 * record DROP times, but not before GAP after the last ticket was issued. A saved handle
 * of the first turn, and of the first wait, is used at any time.
 *
 * EXISTS 0: there is no record; 1: an idle one; 4: an idle one without granted, as
 * earlier versions may leave it. OLD: a mask of processes of a version that seeds at 1
 * and does not know TTL. With FALLING, tickets may fall, and the other checks remain.
 * BUG_... plants a mistake.
 *
 * Step, and the code that it plays:
 *
 *   BASE   ticket.Base
 *   take   serving.Take, Master.Take
 *   wait   Snapshot.Decide, queue.Claim
 *   held   Hold.Heartbeat, queue.Fence
 *   quiet  Ending.Release, serving.Reset
 */
#ifndef N
#define N 2
#endif
#ifndef CYCLES
#define CYCLES 1
#endif
#ifndef EXISTS
#define EXISTS 0
#endif
#ifndef R
#define R 2
#endif
#ifndef ERR
#define ERR 1
#endif
#ifndef LATE
#define LATE 1
#endif
#ifndef FORGET
#define FORGET 4
#endif
#ifndef DROP
#define DROP 0
#endif
#ifndef GAP
#define GAP 4
#endif
#ifndef OLD
#define OLD 0
#endif
#ifndef START
#define START 2
#endif
#ifndef END
#define END 10            /* of time */
#endif

/* The names of the checks, as pan prints them. The variables are never set. */
hidden byte broken_fencing, broken_exclusion, broken_forgotten, broken_handle, broken_wedged;

#define IS(m,p) (((m) >> (p)) & 1)

byte now = START;
bool quick = 0;           /* a ticket was issued in this unit of time */
byte lastly = 0;          /* when the last ticket was issued */

/* The record. */
bool ex = (EXISTS > 0), pres = 0, hasgr = (EXISTS != 4);
byte tn = (EXISTS > 0), sa = 0, gr = (EXISTS == 1);
byte hid = 0, htk = 0;    /* the holder's id; its ticket, if it came by CLAIM */
byte ttl = 0;             /* when TTL may delete the record; 0: absent */
#define FLOOR ((pres && sa+1 > gr) -> sa+1 : gr)
#define HTK   (htk -> htk : sa+1)
#define IDLEFOR(t) (tn == gr || tn == (t))

#ifdef FALLING
#define FALL 1
#else
#define FALL 0
#endif
byte top = 0;             /* only for the checks: the last ticket granted */
byte bel[N];              /* the ticket with which a process believes that it holds */
byte wtk[N];              /* the ticket with which it waits */
byte sid = 0, stk = 0, swt = 0; /* saved: id and ticket of a turn, and the ticket of a wait */
byte fin = 0, bDrop = DROP;
hidden byte y;

inline grant(n, i) {
	assert(n > top || FALL || broken_fencing);
	top = n;
	y = 0;
	do :: y < N -> assert(bel[y] == 0 || broken_exclusion); y++ :: else -> break od;
	hid = i
}
inline gone() {
	ex = 0; pres = 0; tn = 0; sa = 0; gr = 0; hid = 0; htk = 0; ttl = 0; hasgr = 0
}
#ifdef BUG_TTL_SHORT
#define QUIETFOR 1
#else
#define QUIETFOR FORGET
#endif
inline quiet() { if :: ttl == 0 && FORGET > 0 -> ttl = now + QUIETFOR :: else fi }

active proctype Clock() {
end:	do :: atomic { now < END -> now++; quick = 0 } od
}

active proctype Ttl() {
end:	do
	:: atomic { ex && ttl != 0 && now >= ttl ->
		assert(hid == 0 || broken_forgotten);
		y = 0;
		do :: y < N -> assert(wtk[y] == 0 || wtk[y] <= FLOOR || broken_forgotten); y++ :: else -> break od;
		gone() }
	od
}

#if DROP > 0
active proctype Drop() {
	byte i = 0;
end:	do
	:: atomic { bDrop > 0 && ex && now >= lastly + GAP -> bDrop--;
		/* a holder cannot know of it before its next heartbeat */
		i = 0;
		do :: i < N -> bel[i] = 0; i++ :: else -> break od;
		i = 0; gone() }
	od
}
#endif

#ifdef BUG_SEED_ONE
#define BASE(e) 0
#else
#define BASE(e) ((e)*R)
#endif
#ifdef BUG_CLAIM_NO_SERVINGAFTER
#define cSA(t) 1
#else
#define cSA(t) (sa + 1 < (t))
#endif
#ifdef BUG_CLAIM_NO_COUNTER
#define cTN(t) 1
#else
#define cTN(t) (tn >= (t))
#endif

#ifdef BUG_DIRECT_NO_COUNTER
#define cDIRECT(t) 1
#else
#define cDIRECT(t) (tn >= (t))
#endif

active [N] proctype Main() {
	byte e = 0, sent = 0, t = 0, id = 0, cycle = 0, p = _pid - 2 - (DROP > 0);
take:	atomic { now < END && cycle < CYCLES ->
		sent = now; id++;
		if :: e = now + ERR :: now > ERR -> e = now - ERR :: e = now fi
	}
	/* TAKE is applied, or is refused as too old, and sent again */
	atomic {
		if
		:: now > sent + LATE -> goto take
		:: now <= sent + LATE && !quick
		fi;
		quick = 1; lastly = now;
		if
		:: IS(OLD,p) && !ex -> ex = 1; tn = 0; gr = 0; hasgr = 1
		:: else
		fi;
		/* the expressions read the record as it was before */
		if
#ifdef BUG_GRANTED_BASE
		:: !hasgr -> gr = BASE(e)
#else
		:: !hasgr -> gr = 0
#endif
		:: hasgr
		fi;
		hasgr = 1;
		if :: !ex -> ex = 1; tn = BASE(e) :: else fi;
		t = tn + 1;
		if
		:: !pres -> sa = tn; pres = 1; grant(t, p*8 + id); htk = 0
		:: else
		fi;
		tn = t;
#ifndef BUG_TTL_STAYS
		if :: !IS(OLD,p) -> ttl = 0 :: else fi;
#endif
		if
		:: hid == p*8 + id -> goto held
		:: else -> wtk[p] = t; if :: swt == 0 -> swt = t :: else fi
		fi
	}
wait:	atomic {
		if
		:: !ex || t > tn || t <= FLOOR || !pres -> wtk[p] = 0; t = 0; goto take /* also a ticket of an earlier life */
		:: ex && pres && hid == 0 && t > FLOOR && t <= tn
		fi }
	atomic {
		if
		:: ex && pres && hid == 0 && gr < t && cSA(t) && cTN(t) -> id++; grant(t, p*8 + id); htk = t; gr = t; wtk[p] = 0; goto held
		:: else -> goto wait
		fi }
	atomic { false;
held:		bel[p] = t;
		assert(gr <= tn || broken_wedged);
		assert(gr <= t || broken_wedged); /* or the heartbeat is refused */
		if :: sid == 0 -> sid = hid; stk = t :: else fi }
	/* a heartbeat, or a fence */
	atomic {
		if
		:: ex && pres && hid == p*8 + id && HTK == t && gr <= t -> assert(top == t || FALL || broken_fencing)
		:: else -> bel[p] = 0; goto over
		fi }
	/* RELEASE: the fast form, the hand-off, or DIRECT to a row of an earlier life */
	atomic {
		bel[p] = 0;
		if
#ifdef DIRECT
		:: ex && pres && hid == p*8 + id && HTK == t && swt != 0 && gr < swt && sa + 1 < swt && cDIRECT(swt) ->
			/* the waiter gives the lock back at once */
			gr = swt; hid = 0; htk = 0; assert(gr <= tn || broken_wedged); goto over
#endif
		:: ex && pres && hid == p*8 + id && HTK == t && IDLEFOR(t) ->
			gr = tn; pres = 0; sa = 0; hid = 0; htk = 0;
			if :: !IS(OLD,p) -> quiet() :: else fi; goto over
		:: ex && pres && hid == p*8 + id && HTK == t && !IDLEFOR(t) -> hid = 0; htk = 0;
#ifdef BUG_TTL_HANDOFF
			quiet()
#endif
		:: else -> goto over
		fi }
	/* RESET */
	atomic {
		if
		:: ex && pres && hid == 0 && IDLEFOR(t) -> gr = tn; pres = 0; sa = 0; if :: !IS(OLD,p) -> quiet() :: else fi
		:: else
		fi }
over:	atomic { t = 0; e = 0; sent = 0; cycle++;
		if :: cycle < CYCLES -> goto take :: else -> id = 0 fi }
}

/* Saved handles, late heartbeats, fences, releases and claims of an earlier life. */
active proctype Saved() {
end:	do
	/* heartbeat, fence, RESUME, RELEASE of the saved turn */
	:: atomic { sid != 0 && ex && pres && hid == sid && HTK == stk -> assert(top == stk || broken_handle) }
	/* CLAIM with the saved place. It is a waiter like any other: it gives the lock back at once. */
	:: atomic { swt != 0 && ex && pres && hid == 0 && gr < swt && cSA(swt) && cTN(swt) && (swt > top || FALL) ->
		gr = swt; top = swt; swt = 0; assert(gr <= tn || broken_wedged) }
	:: atomic { swt != 0 && ex && pres && hid == 0 && gr < swt && cSA(swt) && cTN(swt) && swt <= top && !FALL -> assert(broken_fencing) }
	od
}
