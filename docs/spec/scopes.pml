/* Wider ticket scopes, and several locks with one ticket: one counter, one or two
 * queues, exclusive locks. Each process takes a number, enters each of its queues
 * with it, and waits until it holds all its locks.
 *
 * One request is one atomic step. The table judges it when it is applied. The
 * reaction to its answer is decided in the same step, and the next request is a
 * step of its own. A process can therefore pause between any two requests. A
 * process that has entered all its queues acts in them in any order.
 *
 * -D options: N processes, Q queues, CYCLES turns each. ONLY0, ONLY1: masks of
 * processes that take the first or the second lock alone. The faults, and how often
 * each may happen: LOST, DUP, CRASH, EVICT, SWEEP, GIVEUP, LOSTCOUNTER (the counter
 * is lost, and starts at 1 again). With ONCE, a request that was answered is not
 * applied again. BUG_... plants a mistake. ORDERS is a mask of processes that enter
 * their queues in the other order.
 *
 * Step, and the code that it plays:
 *
 *   number, oNUM       wire.number, Counter.Next
 *   raise_, oRAISE     wire.number, Counter.Raise
 *   register, oENTER   Wait.enter, queue.Enter
 *   next, wait, claim  round.enter, waiting.begins, waiting.steps
 *   over, give         Client.AcquireAll, waiting.leaves, Lock.GiveBack
 */
#ifndef N
#define N 2
#endif
#ifndef Q
#define Q 2
#endif
#ifndef CYCLES
#define CYCLES 1
#endif
#ifndef ONLY0
#define ONLY0 0
#endif
#ifndef ONLY1
#define ONLY1 0
#endif
#ifndef ORDERS
#define ORDERS 0
#endif
#ifndef LOST
#define LOST 0
#endif
#ifndef DUP
#define DUP 0
#endif
#ifndef CRASH
#define CRASH 0
#endif
#ifndef EVICT
#define EVICT 0
#endif
#ifndef SWEEP
#define SWEEP 0
#endif
#ifndef GIVEUP
#define GIVEUP 0
#endif
#ifndef LOSTCOUNTER
#define LOSTCOUNTER 0
#endif
#define T 11              /* tickets are below this */
#define K 16              /* attempts of one process are below this */
#if DUP > 1
#define SLOTS DUP         /* requests that are applied later */
#else
#define SLOTS 1
#endif

/* The names of the checks. pan prints a name with the assertion that fails. The
 * variables are never set. */
hidden byte broken_exclusion, broken_all, broken_fencing, broken_fifo, broken_overtaking, broken_left, broken_clean, broken_reset,
	broken_attempts, broken_tickets, broken_model;

/* Requests. */
#define oNUM 1
#define oRAISE 2
#define oENTER 3
#define oENQ 4
#define oCLAIM 5
#define oFAST 6
#define oRESET 7
#define oEVICT 8
#define oSWEEP 9
#define oDEL 10
#define oREM 11
#define oFENCE 12

/* The counter, and the serving records. A record exists from the first ENTER on:
 * its ticketNumber is not 0. */
byte num = 0;
byte tn[Q], sa[Q], gr[Q], hid[Q], htk[Q];
bool pres[Q];
/* The rows, queue after queue: 0, or owner and number of the row's id. */
byte row[Q*T];

/* Only for the checks, for each process in each queue: the last ticket granted, and
 * the first ticket issued while its row was in the table, above the floor. */
byte g[Q*N], owed[Q*N];

/* What each process knows. */
short lv[N];              /* its ids that it would adopt, or holds, or is about to remove */
byte wtk[Q*N];            /* the ticket it waits with in a queue; 0: it does not wait */
bool dead[N];
byte fin = 0;             /* processes that have ended */

/* Requests that are sent, and will be applied later. */
byte dop[SLOTS], dp[SLOTS], did[SLOTS], dt[SLOTS], dq[SLOTS];
short db[SLOTS];

byte bLost = LOST, bDup = DUP, bCrash = CRASH, bEvict = EVICT, bSweep = SWEEP, bGiveup = GIVEUP, bLostCounter = LOSTCOUNTER;
bool twice = 0;           /* a request that was answered was applied again */

bool res = 0, unkn = 0;   /* the last answer: applied or refused, or none */

#define ID(p,i)   (((p)+1)*K + (i))
#define OWNER(i)  ((i)/K - 1)
#define BIT(i)    (1 << ((i)%K))
#define HAS(m,p)  (((m) >> (p)) & 1)
#define NEEDS(p,q) ((q) == 0 -> !HAS(ONLY1,p) : !HAS(ONLY0,p))
#define AT(q,p)   ((q)*N + (p))
#define ROWAT(q,u) row[(q)*T + (u)]
#define MINE(p,q) (pres[q] && hid[q] != 0 && OWNER(hid[q]) == (p) && (lv[p] & BIT(hid[q])))
#define LIVE(q)   (lv[OWNER(hid[q])] & BIT(hid[q]))
/* The id of a row, as an id of holders, has the row's ticket. nt is the ticket whose
 * row's ids a process would adopt, or holds. */
#define ROW(p,r)  (((p)+1)*4 + (r))
#define ROWNER(v) ((v)/4 - 1)
#define TRUEFLOOR(q) ((pres[q] && sa[q]+1 > gr[q]) -> sa[q]+1 : gr[q])
#ifdef BUG_FLOOR
#define FLOOR(q)  gr[q]
#else
#define FLOOR(q)  TRUEFLOOR(q)
#endif
#define IDLEFOR(q,t) (tn[q] == gr[q] || tn[q] == (t))
#define LIVEROW(q,u) (!dead[ROWNER(ROWAT(q,u))] && wtk[AT(q,ROWNER(ROWAT(q,u)))] == (u))
#define NOROW(p,q,t) (t > FLOOR(q) && (ROWAT(q,t) == 0 || ROWNER(ROWAT(q,t)) != p))

hidden byte x, y;

/* What a look at queue q shows to ticket t: y is the first expired row. From 128
 * on, a live row is ahead. */
inline rows(q, t) {
	gone = 0; ahead = 0; x = 1;
	do
	:: x < t ->
		if
		:: ROWAT(q,x) != 0 && !LIVEROW(q,x) -> if :: gone == 0 -> gone = x :: else fi
		:: ROWAT(q,x) != 0 && LIVEROW(q,x) && x > FLOOR(q) -> if :: ahead == 0 -> ahead = x :: else fi
		:: else
		fi;
		x++
	:: else -> break
	od;
	x = 0
}

/* The floor of q is about to rise to v without a grant. It must not pass the ticket
 * of a waiter. */
inline raise(q, v) {
	y = 0;
	do
	:: y < N -> assert(wtk[AT(q,y)] == 0 || wtk[AT(q,y)] <= TRUEFLOOR(q) || wtk[AT(q,y)] > v || broken_overtaking); y++
	:: else -> break
	od
}

/* Ticket v is about to be granted to process r in queue q. Order is not checked for
 * a number that was issued again after the counter was lost. */
inline grant(q, v, r) {
	y = 0;
	do
	:: y < N ->
		assert(v > g[AT(q,y)] || broken_fencing);
		assert(LOSTCOUNTER || y == r || owed[AT(q,y)] == 0 || owed[AT(q,y)] > v || wtk[AT(q,y)] <= TRUEFLOOR(q) || broken_fifo);
		y++
	:: else -> break
	od;
	g[AT(q,r)] = v
}

/* Number v is about to be issued. Its owner is a newcomer to all waiters whose rows
 * are in the table, above the floor. */
inline issued(v) {
	assert(v < T || broken_tickets);
	y = 0;
	do
	:: y < Q*N ->
		if
		:: owed[y] == 0 && wtk[y] > TRUEFLOOR(y/N) && ROWAT(y/N,wtk[y]) != 0 && ROWNER(ROWAT(y/N,wtk[y])) == y%N -> owed[y] = v
		:: else
		fi;
		y++
	:: else -> break
	od
}

inline droprow(q, u) {
	y = AT(q, ROWNER(ROWAT(q,u)));
	if :: wtk[y] == u -> owed[y] = 0 :: else fi;
	ROWAT(q,u) = 0
}

/* The conditions that a planted mistake leaves out. */
#ifdef BUG_ENTER_NO_LESS
#define cLESS 1
#else
#define cLESS (tn[q] < t)
#endif
#ifdef BUG_CLAIM_NO_SIZE
#define cSIZE 1
#else
#define cSIZE (hid[q] == 0)
#endif
#ifdef BUG_CLAIM_NO_GRANTED
#define cGRANTED 1
#else
#define cGRANTED (gr[q] < t)
#endif
#ifdef BUG_CLAIM_NO_SERVINGAFTER
#define cSERVINGAFTER 1
#else
#define cSERVINGAFTER (sa[q] + 1 < t)
#endif
#ifdef BUG_FAST_LAST_SEEN
#define cFAST 1
#else
#define cFAST IDLEFOR(q,t)
#endif

/* The table applies a request of process p, with id, ticket, queue and a further number. */
inline apply(o, p, i, t, q, b) {
	d_step {
	res = 0;
	if
	:: o == oNUM -> issued(num+1); num++; res = 1
	:: o == oRAISE ->
		if
		:: num < t -> num = t; res = 1
		:: else
		fi
	:: o == oENTER ->
		if
		:: tn[q] == 0 || cLESS ->
			if
			:: !pres[q] -> grant(q, t, p); sa[q] = t-1; pres[q] = 1; hid[q] = i; htk[q] = 0
			:: else
			fi;
			tn[q] = t; res = 1
		:: else
		fi
	:: o == oENQ ->
		if
		:: ROWAT(q,t) == 0 -> ROWAT(q,t) = ROW(p, b); res = 1
		:: else -> res = (ROWNER(ROWAT(q,t)) == p)
		fi
	:: o == oCLAIM ->
		if
		:: pres[q] && cSIZE && cGRANTED && cSERVINGAFTER ->
			assert(hid[q] == 0 || broken_exclusion);
			grant(q, t, p); hid[q] = i; htk[q] = t; gr[q] = t; res = 1
		:: else
		fi
	:: o == oFAST ->
		if
		:: pres[q] && hid[q] == i && cFAST ->
			raise(q, tn[q]); gr[q] = tn[q]; pres[q] = 0; sa[q] = 0; hid[q] = 0; htk[q] = 0; res = 1
		:: else
		fi
	:: o == oREM -> /* also the hand-off */
		if
		:: pres[q] && hid[q] != 0 && OWNER(hid[q]) == p && (b & BIT(hid[q])) -> hid[q] = 0; htk[q] = 0; res = 1
		:: else
		fi
	:: o == oRESET ->
		if
		:: pres[q] && hid[q] == 0 && IDLEFOR(q,t) -> raise(q, tn[q]); gr[q] = tn[q]; pres[q] = 0; sa[q] = 0; res = 1
		:: else
		fi
	:: o == oEVICT ->
		if
		:: pres[q] && hid[q] == i -> hid[q] = 0; htk[q] = 0; res = 1
		:: else
		fi
	:: o == oSWEEP ->
		if
		:: ROWAT(q,t) != 0 && ROWAT(q,t) == b -> droprow(q, t); res = 1
		:: else
		fi
	:: o == oDEL ->
		if
		:: ROWAT(q,t) != 0 && ROWNER(ROWAT(q,t)) == p -> droprow(q, t); res = 1
		:: else
		fi
	:: o == oFENCE ->
		if
		:: pres[q] && hid[q] == i && gr[q] <= t && (htk[q] == t || (htk[q] == 0 && sa[q] + 1 == t)) ->
			/* the write commits: no other process was granted a later ticket */
			y = 0;
			do :: y < N -> assert(y == p || g[AT(q,y)] < t || broken_fencing); y++ :: else -> break od;
			res = 1
		:: else
		fi
	fi;
	y = 0
	}
}

inline later(o, p, i, t, q, b) {
	d_step {
	x = 0;
	do :: dop[x] != 0 -> x++ :: else -> break od;
	dop[x] = o; dp[x] = p; did[x] = i; dt[x] = t; dq[x] = q; db[x] = b; bDup--; x = 0
	}
}

/* The fates of a request. */
#define ANSWERED 0
#define NOANSWER 1   /* it is applied, and its answer is lost */
#define NOREQUEST 2  /* it is lost */
#define LATER 3      /* it is late */
#define TWICE 4      /* it is applied twice */
hidden byte fate;

/* Process p sends a request. unkn: there was no answer. The request may have been
 * applied already, may be applied later, or never. */
inline send(o, p, i, t, q, b) {
	unkn = 0; fate = ANSWERED;
	if
	:: true
#if LOST > 0
	:: bLost > 0 -> bLost--; fate = NOANSWER
	:: bLost > 0 -> bLost--; fate = NOREQUEST
#endif
#if DUP > 0
	:: bDup > 0 -> fate = LATER
#ifndef ONCE
	:: bDup > 0 -> fate = TWICE
#endif
#endif
	fi;
#if DUP > 0
	if :: fate == LATER || fate == TWICE -> later(o, p, i, t, q, b) :: else fi;
	if :: fate == TWICE -> twice = 1 :: else fi;
#endif
	if :: fate == ANSWERED || fate == NOANSWER || fate == TWICE -> apply(o, p, i, t, q, b) :: else fi;
	if :: fate == ANSWERED || fate == TWICE :: else -> unkn = 1; res = 0 fi;
	fate = 0
}

#if DUP > 0
/* The network applies late requests at any time, in any order. */
active proctype Net() {
	byte m = 0;
end:	do
	:: atomic { dop[0] != 0 -> m = 0; goto come }
#if SLOTS > 1
	:: atomic { dop[1] != 0 -> m = 1; goto come }
#endif
	od;
come:	atomic {
		apply(dop[m], dp[m], did[m], dt[m], dq[m], db[m]);
		res = 0; dop[m] = 0; dp[m] = 0; did[m] = 0; dt[m] = 0; dq[m] = 0; db[m] = 0; m = 0;
		goto end
	}
}
#endif

#if CRASH > 0
/* A process crashes at any time. */
active proctype Death() {
	byte p = 0;
end:	do
	:: atomic { bCrash > 0 && fin < N ->
		bCrash--;
		if
		:: !dead[0] -> p = 0
		:: !dead[N-1] -> p = N-1
		fi;
		dead[p] = 1; lv[p] = 0; wtk[AT(0,p)] = 0; owed[AT(0,p)] = 0; wtk[AT(Q-1,p)] = 0; owed[AT(Q-1,p)] = 0;
		p = 0 }
	od
}
#endif

#if LOSTCOUNTER > 0
/* Another program deletes the counter. */
active proctype Loss() {
end:	do
	:: atomic { bLostCounter > 0 && num > 0 -> bLostCounter--; num = 0 }
	od
}
#endif

#define NEWID(p) assert(nx < K || broken_attempts); id = ID(p, nx); nx++; lv[p] = lv[p] | BIT(id)
#define GOT(q)   HAS(has, q)
/* A look at queue q would lead to an action, with or without a fault. */
#define HOT(q) (NEEDS(p,q) && ((GOT(q) && !MINE(p,q)) || (!GOT(q) && (MINE(p,q) || t <= FLOOR(q) || !pres[q] || \
	(hid[q] != 0 && (!LIVE(q) || bEvict > 0)) || NOROW(p,q,t) || ROWS(q)))))
#define R1(q,u) (u < t && ROWAT(q,u) != 0 && !LIVEROW(q,u))
#define R2(q,u) (u < t && u > FLOOR(q) && ROWAT(q,u) != 0 && LIVEROW(q,u))
#define ANY1(q) (R1(q,1) || R1(q,2) || R1(q,3) || R1(q,4) || R1(q,5) || R1(q,6) || R1(q,7) || R1(q,8) || R1(q,9))
#define ANY2(q) (R2(q,1) || R2(q,2) || R2(q,3) || R2(q,4) || R2(q,5) || R2(q,6) || R2(q,7) || R2(q,8) || R2(q,9))
#define ROWS(q) (ANY1(q) || (hid[q] == 0 && !ANY2(q)) || (bSweep > 0 && ANY2(q)))

proctype Main(byte p) {
	byte nx = 0;      /* the next attempt */
	byte t = 0;       /* my ticket */
	byte id = 0;      /* of the current attempt */
	byte k = 0, q = 0; /* the current queue, and its index among the queues of the process */
	byte has = 0;     /* mask of the queues whose locks are held */
	byte maybe = 0;   /* mask of the queues with an own id that had no answer */
	byte rowed = 0;   /* mask of the queues that may have an own row */
	byte first = 0;   /* mask of the queues where ENTER granted the lock */
	byte rid = 0, gone = 0, ahead = 0, gb = 0, tgt = 0, cycle = 0;
	bool done = 0, fenced = 0;
	{
	skip;
number:	skip;
	atomic {
		send(oNUM, p, 0, 0, 0, 0);
		if
		:: unkn -> unkn = 0; goto number
		:: !unkn -> res = 0; t = num; k = 0; goto next
		fi
	}
	atomic { false;
next:		q = (HAS(ORDERS,p) -> Q-1-k : k); rid = 0;
		if
		:: k == Q -> q = 0; goto wait
		:: k < Q && (NEEDS(p,q) == 0 || GOT(q)) -> k++; goto next
#ifdef BUG_ENQUEUE_FIRST
		:: k < Q && NEEDS(p,q) && !GOT(q) -> wtk[AT(q,p)] = t; goto enqueue
#else
		:: k < Q && NEEDS(p,q) && !GOT(q) -> goto register
#endif
		fi
	}
register: skip;
	atomic {
		NEWID(p);
		send(oENTER, p, id, t, q, 0);
		if
		:: unkn -> maybe = maybe | (1 << q); unkn = 0;
			if :: goto register :: bGiveup > 0 -> bGiveup--; done = 1; goto give fi
		:: !unkn && MINE(p,q) -> res = 0; has = has | (1 << q); wtk[AT(q,p)] = 0; owed[AT(q,p)] = 0;
			if :: htk[q] == 0 -> first = first | (1 << q) :: else fi; k++; goto next
		:: !unkn && !MINE(p,q) && t <= FLOOR(q) -> res = 0; goto raise_
#ifdef BUG_ENQUEUE_FIRST
		:: !unkn && !MINE(p,q) && t > FLOOR(q) -> res = 0; k++; goto next
#else
		:: !unkn && !MINE(p,q) && t > FLOOR(q) -> res = 0; wtk[AT(q,p)] = t; goto enqueue
#endif
		fi
	}
raise_:	skip; /* a counter that has lost numbers is raised to the numbers that have entered */
	atomic {
		if
		:: num < tn[q] -> gone = tn[q]; send(oRAISE, p, 0, gone, 0, 0); gone = 0; unkn = 0; res = 0
		:: else
		fi;
		goto over }
enqueue: skip;
	atomic {
		rowed = rowed | (1 << q);
		send(oENQ, p, 0, t, q, rid);
		if
		:: unkn && rid < 3 -> unkn = 0; rid++; goto enqueue
		:: !unkn && !res -> goto over   /* the row of another process: the counter was lost */
#ifdef BUG_ENQUEUE_FIRST
		:: !unkn && res -> res = 0; goto register
#else
		:: !unkn && res -> res = 0; k++; goto next
#endif
		fi
	}
wait:	skip; /* LOOK at a queue whose lock is not held, or learn of a loss. A look that
	 * leads only to another look is left out, so a waiter that is never granted
	 * is a deadlock. */
	atomic {
		k = 0;
		if
		:: bGiveup > 0 && !(has == (NEEDS(p,0) + 2*(Q > 1 && NEEDS(p,Q-1)))) -> bGiveup--; done = 1; goto give
		:: has == (NEEDS(p,0) + 2*(Q > 1 && NEEDS(p,Q-1))) -> goto held
		:: HOT(0) -> q = 0
#if Q > 1
		:: HOT(1) -> q = 1
#endif
		fi;
		d_step { rows(q, t) };
		if
		:: GOT(q) && !MINE(p,q) -> goto over /* lost, while waiting for the others */
		:: !GOT(q) && MINE(p,q) ->
			goto found
		:: !GOT(q) && !MINE(p,q) && gone != 0 -> gb = ROWAT(q,gone); goto sweep
		:: !GOT(q) && !MINE(p,q) && gone == 0 && bSweep > 0 && ahead != 0 -> /* a live row is judged to have expired */
			bSweep--; gone = ahead; gb = ROWAT(q,gone); goto sweep
		:: !GOT(q) && !MINE(p,q) && gone == 0 && hid[q] != 0 && !LIVE(q) -> tgt = hid[q]; goto evict
		:: !GOT(q) && !MINE(p,q) && gone == 0 && hid[q] != 0 && LIVE(q) && bEvict > 0 -> bEvict--; tgt = hid[q]; goto evict
		:: !GOT(q) && !MINE(p,q) && gone == 0 && !(hid[q] != 0 && !LIVE(q)) && (t <= FLOOR(q) || !pres[q]) -> goto over
		:: !GOT(q) && !MINE(p,q) && gone == 0 && !(hid[q] != 0 && !LIVE(q)) && pres[q] && NOROW(p,q,t) && rid < 3 -> rid++; goto again
		:: !GOT(q) && !MINE(p,q) && gone == 0 && hid[q] == 0 && ahead == 0 && pres[q] && t > FLOOR(q) -> goto claim
		fi
	}
	atomic { false;
found:		has = has | (1 << q); wtk[AT(q,p)] = 0; owed[AT(q,p)] = 0; gone = 0; ahead = 0; q = 0; goto wait }
sweep:	skip;
	atomic { send(oSWEEP, p, 0, gone, q, gb); gone = 0; gb = 0; ahead = 0; q = 0; unkn = 0; res = 0; goto wait }
evict:	skip;
	atomic { send(oEVICT, p, tgt, gb, q, 0); gb = 0; tgt = 0; ahead = 0; q = 0; unkn = 0; res = 0; goto wait }
again:	skip; /* the row was swept */
	atomic {
		ahead = 0;
		send(oENQ, p, 0, t, q, rid);
		if
		:: unkn -> unkn = 0; q = 0; goto wait
		:: !unkn && !res -> goto over
		:: !unkn && res -> res = 0; q = 0; goto wait
		fi
	}
claim:	skip;
	atomic {
		ahead = 0;
		NEWID(p);
		send(oCLAIM, p, id, t, q, 0);
		if
		:: unkn -> maybe = maybe | (1 << q); unkn = 0; q = 0; goto wait
		:: !unkn && MINE(p,q) -> res = 0; goto found
		:: !unkn && !MINE(p,q) -> res = 0; q = 0; goto wait
		fi
	}
held:	skip; /* all of them */
	atomic {
		if
		:: !fenced -> fenced = 1;
			/* a process that believes that it has all locks has all, except after a fault */
			assert(EVICT > 0 || CRASH > 0 || DUP > 0 || ((NEEDS(p,0) == 0 || MINE(p,0)) && (NEEDS(p,Q-1) == 0 || MINE(p,Q-1))) || broken_all);
			q = (NEEDS(p,0) -> 0 : Q-1);
			tgt = (MINE(p,q) -> hid[q] : 0);
			send(oFENCE, p, tgt, t, q, 0); tgt = 0; unkn = 0; res = 0; q = 0; goto held
		:: fenced -> done = 1; goto give
		fi
	}
	atomic { false;
over:		/* overtaken in one, or lost: all are released, and a new number is taken */
		done = 0; gone = 0; ahead = 0; goto give }
	/* For each queue: the row, the entry that is held or may be, and RESET. */
	atomic { false;
give:		k = 0; q = 0; gone = 0; ahead = 0; rid = 0;
		wtk[AT(0,p)] = 0; owed[AT(0,p)] = 0; wtk[AT(Q-1,p)] = 0; owed[AT(Q-1,p)] = 0;
		goto giverow }
giverow: skip;
	atomic {
		if
		:: !HAS(rowed,q)
		:: HAS(rowed,q) -> send(oDEL, p, 0, t, q, 0);
			if :: unkn -> unkn = 0; goto giverow :: !unkn -> res = 0; rowed = rowed & ~(1 << q) fi
		fi;
		if
#ifdef BUG_KEEP_HELD
		:: !done && GOT(q) -> goto given
#endif
		:: !GOT(q) && !HAS(maybe,q) -> goto given
#ifdef BUG_KEEP_HELD
		:: done && GOT(q) && HAS(first,q) && MINE(p,q) && IDLEFOR(q,sa[q]+1) -> goto fast
#else
		:: GOT(q) && HAS(first,q) && MINE(p,q) && IDLEFOR(q,t) -> goto fast
#endif
		:: else
		fi;
		goto hand
	}
fast:	skip;
	atomic {
		tgt = (MINE(p,q) -> hid[q] : 0);
		send(oFAST, p, tgt, t, q, 0);
		tgt = 0;
		if
		:: unkn -> unkn = 0; goto fast
		:: !unkn && MINE(p,q) -> res = 0; goto hand
		:: !unkn && !MINE(p,q) -> res = 0; goto given
		fi
	}
hand:	skip;
	atomic {
		send(oREM, p, 0, 0, q, lv[p]);
		if
		:: unkn -> unkn = 0; goto hand
		:: !unkn && res && hid[q] == 0 && IDLEFOR(q, (GOT(q) -> t : sa[q]+1)) -> res = 0; tgt = (GOT(q) -> t : sa[q]+1); goto reset
		:: !unkn && !(res && hid[q] == 0 && IDLEFOR(q, (GOT(q) -> t : sa[q]+1))) -> res = 0; goto given
		fi
	}
reset: skip;
	atomic { send(oRESET, p, 0, tgt, q, 0); tgt = 0; unkn = 0; res = 0; goto given }
	atomic { false;
given:
#ifndef BUG_KEEP_HELD
		/* nothing that was applied before is left */
		assert(hid[q] == 0 || OWNER(hid[q]) != p || twice || broken_left);
		has = has & ~(1 << q);
#else
		if :: done -> has = has & ~(1 << q) :: else fi;
#endif
		maybe = maybe & ~(1 << q); q++;
		if
		:: q < Q -> goto giverow
		:: else
		fi;
		q = 0; id = 0; fenced = 0; t = 0; k = 0; rid = 0;
#ifndef BUG_KEEP_HELD
		lv[p] = 0; first = 0;
#else
		if :: done -> lv[p] = 0; first = 0 :: else fi;
#endif
		if
		:: !done -> goto number
		:: else -> done = 0; cycle++
		fi;
		if
		:: cycle < CYCLES -> goto number
		:: else -> goto end_
		fi
	}
end_:	skip;
	atomic { nx = 0; cycle = 0; fin++; goto stop }
	} unless { dead[p] -> fin++ }
stop:	skip
}

#if SLOTS > 1
#define ALLCOME (dop[0] == 0 && dop[1] == 0)
#else
#define ALLCOME (dop[0] == 0)
#endif

init {
	byte i = 0;
	atomic {
		do
		:: i < N -> run Main(i); i++
		:: else -> break
		od
	}
	/* All processes have ended, and all their requests were applied. */
	atomic {
		fin == N && ALLCOME;
		if
		:: bCrash == CRASH && bDup == DUP ->
			i = 0;
			do :: i < Q*T -> assert(row[i] == 0 || broken_clean); i++ :: else -> break od;
			i = 0;
			do
			:: i < Q ->
				assert(hid[i] == 0 || broken_clean);
				/* without any fault, the next ENTER is granted at once */
				assert(!pres[i] || bLost < LOST || bEvict < EVICT || bSweep < SWEEP || bGiveup < GIVEUP || bLostCounter < LOSTCOUNTER || broken_reset);
				i++
			:: else -> break
			od
		:: else
		fi
	}
}
