/* The protocol of queuelock as the code performs it: exclusive locks, with a ticket
 * counter for each queue. run.sh lists the bounds that are searched.
 *
 * One request is one atomic step. The table judges it when it is applied. The
 * reaction to its answer is decided in the same step, and the next request is a
 * step of its own. A process can therefore pause between any two requests.
 *
 * -D options: N processes, CYCLES turns each, NOWAIT (mask of processes that do
 * not wait), EXISTS (0: the record must be seeded, 1: it is idle, 2: holders is {}
 * after a turn with ticket 1). The faults, and how often each may happen: LOST,
 * DUP, CRASH, EVICT, SWEEP, GIVEUP, LOSTDEL. HB and WHB are the heartbeats of
 * holders and of waiters. With ONCE, a request that was answered is not applied
 * again. BUG_... plants a mistake. STRICT_FIFO checks more than the protocol
 * promises.
 *
 * DIRECT is a mask of processes that pass the lock by name when they release it, to
 * the row with the next ticket, which they have read at some time. NESTED is a
 * mask of processes whose TAKE creates the record. With LATEONLY, only that request
 * may be late. With PASS, the processes are waiters of one client: a release may
 * claim the lock for the waiter with the next ticket.
 *
 * Step, and the code that it plays:
 *
 *   take, oTAKE               Wait.enter, Wait.entered, Wait.makeRoom, serving.Take
 *   seed, oSEED               Take.Refused, Master.Take
 *   enqueue, oENQ             waiting.joined, keeping.steps, Place.put, queue.Enqueue
 *   oWHB                      keeping.renew, Waiter.Renew
 *   oDEL                      waiting.withdraw, Place.leave, queue.Leave
 *   oRESET                    releasing.ends, serving.Reset
 *   rows, judge, act          Wait.look, rows.Look, Snapshot.Decide, Wait.act, Wait.follow
 *   asked                     Wait.awaitsRow, waiting.rowMissing
 *   sweep, oSWEEP             sweeper.Rows, rows.Sweep
 *   evict, oEVICT             Wait.follow, sweeper.Holders, serving.Evict
 *   claim, oCLAIM             Wait.claim, queue.Claim
 *   found, late, latereset    Wait.adopt, Wait.removed, waiting.cleans, serving.Remove
 *   held, oHB, oFENCE         Hold.Heartbeat, Hold.Transact, Hold.Fence, queue.NumberedFence
 *   fast, oFAST, hand, oHAND  releaseStep.send, releaseStep.answered, Ending.Release
 *   direct, oDIRECT           releasing.offer, queue.Waiter.GrantByName, Ending.Release
 *   accept                    Wait.usable, Place.Hold, holding.beat, waiting.withdraw
 *   OWNED                     Wait.decide, Snapshot.Lasts
 *   pass, oPASS               releasing.offer, waiting.mayPass, waiting.rest, Ending.Release
 *   lost, oREM                releaseStep.settled, releaseStep.removed, queue.Remove
 *   leave, remove             waiting.leaves, Wait.leave, waiting.cleans, serving.Remove
 */
#ifndef N
#define N 2
#endif
#ifndef CYCLES
#define CYCLES 1
#endif
#ifndef NOWAIT
#define NOWAIT 0
#endif
#ifndef EXISTS
#define EXISTS 1
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
#ifndef LOSTDEL
#define LOSTDEL 0
#endif
#ifndef HB
#define HB 0
#endif
#ifndef WHB
#define WHB 0
#endif
#ifndef DIRECT
#define DIRECT 0
#endif
#ifndef NESTED
#define NESTED 0
#endif
#ifndef PASS
#define PASS 0
#endif
#define T 10              /* tickets are below this */
#define K 16              /* attempts of one process are below this */
#if DUP > 1
#define SLOTS DUP         /* requests that are applied later */
#else
#define SLOTS 1
#endif

/* The names of the checks. pan prints a name with the assertion that fails. The
 * variables are never set. */
hidden byte broken_exclusion, broken_fencing, broken_fifo, broken_overtaking, broken_judged, broken_rowkept, broken_disowned, broken_orphan,
	broken_left, broken_clean, broken_reset, broken_attempts, broken_tickets, broken_model,
	broken_belief, broken_named, broken_counter;

/* Requests. */
#define oTAKE 1
#define oSEED 2
#define oENQ 3
#define oCLAIM 4
#define oHB 5
#define oWHB 6
#define oFAST 7
#define oHAND 8
#define oRESET 9
#define oEVICT 10
#define oSWEEP 11
#define oDEL 12
#define oREM 13
#define oFENCE 14
#define oDIRECT 15        /* b: the row as it was read, see NAME */
#define oACCEPT 16
#define oPASS 17          /* b: the waiter that is granted the lock, see PASSID */

/* States of the keeper of a row. */
#define IDLE 0
#define PUT 1
#define STAND 2

/* The serving record. */
bool ex = (EXISTS > 0);
byte tn = (EXISTS == 2), sa = 0, gr = 0;
bool pres = (EXISTS == 2); /* holders and servingAfter are present */
byte hid = 0;             /* the holder's id; 0: holders is {} */
byte htk = 0;             /* its ticket, if it came by CLAIM */
byte hbt = 0;             /* its beat */
/* The rows: 0, or owner, number of the row's id, and beat. */
byte row[T];

/* Only for the checks: the last ticket granted to each process, and the first
 * ticket issued while its row was in the table, above the floor. */
byte g[N], owed[N];

/* What each process knows. */
short lv[N];              /* its ids that it holds, or would adopt */
short unk[N];             /* its ids whose requests were not answered */
byte wtk[N];              /* the ticket it waits with; 0: it does not wait */
bool dead[N];
/* The keeper of its row: ticket, number of the row's id, state, whether the
 * waiter has left, whether an ENQUEUE was sent, whether the row was in the table.
 * Then the row of the previous ticket, while it is deleted. */
byte pt[N], prid[N], pst[N], ot[N], orid[N];
bool plv[N], psent[N], stood[N];
byte qt[N];               /* the ticket of a RESET to send in the background */
byte fin = 0;             /* processes that have ended */

/* Requests that are sent, and will be applied later. */
byte dop[SLOTS], dp[SLOTS], did[SLOTS], dt[SLOTS];
short db[SLOTS];

byte bLost = LOST, bDup = DUP, bCrash = CRASH, bEvict = EVICT, bSweep = SWEEP,
     bGiveup = GIVEUP, bLostdel = LOSTDEL, bHB = HB, bWHB = WHB;
bool twice = 0;           /* a request that was answered was applied again */
bool leased = 0;          /* something is left that only the end of its lease removes */

bool res = 0, unkn = 0;   /* the last answer: applied or refused, or none */

#define ID(p,i)   (((p)+1)*K + (i))
#define OWNER(i)  ((i)/K - 1)
#define BIT(i)    (1 << ((i)%K))
#if DIRECT > 0
/* The id of a row is an id of holders, too. In the model it is the last attempt of
 * the process, with the row's ticket, and hr is the number of the row's id. Until
 * ACCEPT the entry has the lease of the row as it was read, and ends with the row. nt is the ticket
 * whose row's ids a process would adopt, or holds. */
#define LASTID    (K-1)
#define NAMED(p)  ID(p, LASTID)
#define PASSED(p) 0
#define WITHDRAW(p) skip
#define ISNAMED(i) ((i)%K == LASTID)
#define SAMEID(i,t) (hid == (i) && (!ISNAMED(i) || htk == (t)))
#define UNACCEPTED (pres && hid != 0 && ISNAMED(hid) && hbt == 0)
/* The lease with which the row was named has not ended by the clock of its owner. */
#ifdef BUG_NAME_AGAIN
#define MYROW(q)  1
#else
#define MYROW(q)  (!ended[q])
#endif
#define OWNNAME(q) (!ISNAMED(hid) || (htk == nt[q] && (hbt > 0 || pt[q] != htk || MYROW(q))))
#define ITSROW    (row[htk] != 0 && ROWNER(row[htk]) == OWNER(hid) && ROWID(row[htk])%8 == hr)
#define OWNED(i)  (UNACCEPTED -> ITSROW : KNOWN(i))
/* A row as it was read: its ticket, its owner, and the number of its id. */
#define NAME(u)   ((u)*256 + row[u])
#define NAMETK(b) ((b)/256)
#define NAMEP(b)  (ROWNER((b)%256))
#define NAMER(b)  (ROWID((b)%256)%8)
#define HR0       hr = 0
#define ROWOFHOLDER (UNACCEPTED && ITSROW)
byte nt[N];
byte hr = 0;
bool ended[N];            /* the lease of its row was over, by its own clock, since it has the ticket */
bool bel[N];              /* only for the checks: it believes that it holds */
bool early = 0;           /* a holder, or its row, was judged to have expired too early */
#define EARLY if :: UNACCEPTED && !bel[OWNER(hid)] -> ended[OWNER(hid)] = 1 :: else -> early = 1 fi
#define HANDSOVER(p) ((DIRECT >> (p)) & 1)
#ifdef BUG_NAME_NOT_NEXT
#define NEXTROW(t) ((t)+2)
#else
#define NEXTROW(t) ((t)+1)
#endif
#else
#if PASS > 0
/* The last attempts of a process are those that releases make for it. */
#define LASTID    (K-3)
#define PASSED(p) passed[p]
bool passed[N];           /* a release was answered: it has granted the lock to the process */
#define WITHDRAW(p) pn[p] = 3
/* The id and the ticket of the waiter that is granted the lock. */
#define PASSID(b) ((b)%256)
#define PASSTK(b) ((b)/256)
byte pn[N];               /* how many releases have made one */
#define NEXT1(q,t) (q < N && stood[q] && !plv[q] && pt[q] == wtk[q] && PASSTO(wtk[q],t) && pn[q] < 3)
#ifdef BUG_PASS_NOT_NEXT
#define PASSTO(w,t) (w > t)
#else
#define PASSTO(w,t) (w == t+1)
#endif
#define NEXT(t)   (NEXT1(0,t) || NEXT1(1,t) || NEXT1(2%N,t))
#else
#define LASTID    K
#define PASSED(p) 0
#define WITHDRAW(p) skip
#endif
#define ISNAMED(i) 0
#define SAMEID(i,t) (hid == (i))
#define OWNNAME(q) 1
#define UNACCEPTED 0
#define OWNED(i)  KNOWN(i)
#define HR0       skip
#define ROWOFHOLDER 0
#define EARLY skip
#endif
#define MINE(p)   (pres && hid != 0 && OWNER(hid) == (p) && (lv[p] & BIT(hid)) && OWNNAME(p))
/* The entry has an owner, which renews it or is about to remove it. */
#define KNOWN(i)  (((lv[OWNER(i)] | unk[OWNER(i)]) & BIT(i)) && OWNNAME(OWNER(i)))
#define LIVE(i)   OWNED(i)
#define ROW(p,r,b) (((p)+1)*32 + (r)*4 + (b))
#define ROWNER(v) ((v)/32 - 1)
#define ROWID(v)  ((v)/4)
/* The floor of the protocol, and the floor that processes compute. */
#define TRUEFLOOR ((pres && sa+1 > gr) -> sa+1 : gr)
#ifdef BUG_FLOOR
#define FLOOR     gr
#else
#define FLOOR     TRUEFLOOR
#endif
#ifdef BUG_ID_AFTER_FLOOR
#define SEEN(p,t) (MINE(p) && (t) > FLOOR)
#else
#define SEEN(p,t) MINE(p)
#endif
#define MYTICKET  (htk -> htk : sa+1)
#define IDLEFOR(t) (tn == gr || tn == (t))
#define LIVEROW(u) (!dead[ROWNER(row[u])] && (pt[ROWNER(row[u])] == (u) || ot[ROWNER(row[u])] == (u)))

#define GONE1(u,t)  (u < t && row[u] != 0 && !LIVEROW(u))
#define AHEAD1(u,t) (u < t && u > FLOOR && row[u] != 0 && LIVEROW(u))
#define GONE(t)  (GONE1(1,t) || GONE1(2,t) || GONE1(3,t) || GONE1(4,t) || \
	GONE1(5,t) || GONE1(6,t) || GONE1(7,t) || GONE1(8,t))
#define AHEAD(t) (AHEAD1(1,t) || AHEAD1(2,t) || AHEAD1(3,t) || AHEAD1(4,t) || \
	AHEAD1(5,t) || AHEAD1(6,t) || AHEAD1(7,t) || AHEAD1(8,t))
/* A look would lead to an action, with or without a fault. */
#define TURN(p,t) (MINE(p) || t <= FLOOR || !pres || GONE(t) || (hid != 0 && (!LIVE(hid) || bEvict > 0)) || \
	(hid == 0 && !AHEAD(t)) || (bSweep > 0 && (AHEAD(t) || ROWOFHOLDER)) || bGiveup > 0)

hidden byte x, y;

/* The floor is about to rise to n without a grant. It must not pass the ticket of
 * a waiter. */
inline raise(n) {
	y = 0;
	do
	:: y < N -> assert(wtk[y] == 0 || wtk[y] <= TRUEFLOOR || wtk[y] > n || broken_overtaking); y++
	:: else -> break
	od
}

/* Ticket n is about to be granted to process q. */
inline grant(n, q) {
	y = 0;
	do
	:: y < N ->
		assert(n > g[y] || broken_fencing);
#if DIRECT > 0
		assert(y == q || !bel[y] || early || broken_belief);
#endif
#ifdef STRICT_FIFO
		assert(y == q || owed[y] == 0 || owed[y] > n || broken_fifo);
#else
		assert(y == q || owed[y] == 0 || owed[y] > n || wtk[y] <= TRUEFLOOR || broken_fifo);
#endif
		/* a waiter that is passed has its row, or is about to put it */
		assert(y == q || wtk[y] == 0 || wtk[y] <= TRUEFLOOR || wtk[y] > n || pt[y] != wtk[y] ||
			pst[y] != IDLE || plv[y] || broken_rowkept);
		y++
	:: else -> break
	od;
	g[q] = n
}

/* Ticket n is about to be issued. Its owner is a newcomer to all waiters whose rows
 * are in the table, above the floor. */
inline issued(n) {
	assert(n < T || broken_tickets);
	y = 0;
	do
	:: y < N ->
		if
		:: owed[y] == 0 && wtk[y] > TRUEFLOOR && row[wtk[y]] != 0 && ROWNER(row[wtk[y]]) == y -> owed[y] = n
		:: else
		fi;
		y++
	:: else -> break
	od
}

inline droprow(u) {
	y = ROWNER(row[u]);
	if :: wtk[y] == u -> owed[y] = 0 :: else fi;
	row[u] = 0
}

/* The conditions that a planted mistake leaves out. */
#ifdef BUG_TAKE_BARGES
#define cBARGE 1
#else
#define cBARGE 0
#endif
#ifdef BUG_CLAIM_NO_SIZE
#define cSIZE 1
#else
#define cSIZE (hid == 0)
#endif
#ifdef BUG_CLAIM_NO_GRANTED
#define cGRANTED 1
#else
#define cGRANTED (gr < t)
#endif
#ifdef BUG_CLAIM_NO_SERVINGAFTER
#define cSERVINGAFTER 1
#else
#define cSERVINGAFTER (sa + 1 < t)
#endif
#ifdef BUG_HEARTBEAT_REVIVES
#define cREVIVE 1
#else
#define cREVIVE 0
#endif
#ifdef BUG_FAST_LAST_SEEN
#define cFAST 1
#else
#define cFAST IDLEFOR(t)
#endif
#ifdef BUG_EVICT_UNCONDITIONAL
#define cEVICT SAMEID(i,t)
#else
#define cEVICT (SAMEID(i,t) && hbt == b)
#endif
#ifdef BUG_SWEEP_UNCONDITIONAL
#define cSWEEP 1
#else
#define cSWEEP (row[t] == b)
#endif
#ifdef BUG_FENCE_NO_GRANTED
#define cFENCE 1
#else
#define cFENCE (gr <= t)
#endif

#ifdef BUG_PASS_NO_HELD
#define cPHOLDS 1
#else
#define cPHOLDS (SAMEID(i,t) && MYTICKET == t)
#endif
#ifdef BUG_PASS_NO_GRANTED
#define cPGRANTED 1
#else
#define cPGRANTED (gr < PASSTK(b))
#endif
#if DIRECT > 0
#ifdef BUG_DIRECT_NO_HELD
#define cHOLDS 1
#else
#define cHOLDS (SAMEID(i,t) && MYTICKET == t)
#endif
#ifdef BUG_DIRECT_NO_GRANTED
#define cDGRANTED(w) 1
#else
#define cDGRANTED(w) (gr < w)
#endif
#endif

/* The table applies a request of process p, with id, ticket and a further number. */
inline apply(o, p, i, t, b) {
	d_step {
	res = 0;
	if
	:: o == oTAKE ->
		if
		:: (ex || ((NESTED >> p) & 1)) && !(b && pres && hid != 0) ->
			ex = 1; issued(tn+1);
			if
			:: !pres -> grant(tn+1, p); sa = tn; pres = 1; hid = i; htk = 0; hbt = 0
			:: cBARGE && pres && hid == 0 -> grant(tn+1, p); hid = i; htk = tn+1; gr = tn+1; hbt = 0
			:: else
			fi;
			tn++; res = 1
		:: else
		fi
	:: o == oSEED ->
		if
		:: !ex -> ex = 1; grant(1, p); tn = 1; sa = 0; gr = 0; pres = 1; hid = i; htk = 0; hbt = 0; res = 1
		:: else
		fi
	:: o == oENQ ->
		if
		:: row[t] == 0 -> row[t] = ROW(p, b, 0); res = 1
		:: else -> res = (ROWNER(row[t]) == p)
		fi
	:: o == oCLAIM ->
		if
		:: pres && cSIZE && cGRANTED && cSERVINGAFTER ->
			assert(hid == 0 || broken_exclusion);
			grant(t, p); hid = i; htk = t; hbt = 0; gr = t; res = 1
		:: else
		fi
	:: o == oHB ->
		if
		:: pres && SAMEID(i,t) && gr <= t && hbt < 3 -> hbt++; res = 1
		:: cREVIVE && pres && !SAMEID(i,t) ->
			assert(hid == 0 || broken_exclusion); hid = i; htk = t; hbt = 0; res = 1
		:: else
		fi
	:: o == oWHB ->
		if
		:: row[t] != 0 && ROWID(row[t]) == ROWID(ROW(p, b, 0)) && row[t]%4 < 3 -> row[t]++; res = 1
		:: else
		fi
	:: o == oFAST ->
		if
		:: pres && SAMEID(i,t) && cFAST -> raise(tn); gr = tn; pres = 0; sa = 0; hid = 0; htk = 0; hbt = 0; HR0; res = 1
		:: else
		fi
	:: o == oHAND || o == oREM ->
		if
		:: pres && hid != 0 && ((o == oHAND && SAMEID(i,t)) ||
			(o == oREM && OWNER(hid) == p && (b & BIT(hid)) && (!ISNAMED(hid) || htk == t))) -> hid = 0; htk = 0; hbt = 0; HR0; res = 1
		:: else
		fi
	:: o == oRESET ->
		if
		:: pres && hid == 0 && IDLEFOR(t) -> raise(tn); gr = tn; pres = 0; sa = 0; res = 1
		:: else
		fi
	:: o == oEVICT ->
		if
		:: pres && hid != 0 && cEVICT ->
			assert((SAMEID(i,t) && hbt == b) || broken_judged);
#if DIRECT > 0
			assert(!bel[OWNER(hid)] || early || broken_belief);
#endif
			hid = 0; htk = 0; hbt = 0; HR0; res = 1
		:: else
		fi
	:: o == oSWEEP ->
		if
		:: row[t] != 0 && cSWEEP ->
			assert(row[t] == b || broken_judged);
#if DIRECT > 0
			early = early || (UNACCEPTED && htk == t && ITSROW && bel[ROWNER(row[t])]);
			if :: !dead[ROWNER(row[t])] && pt[ROWNER(row[t])] == t -> ended[ROWNER(row[t])] = 1 :: else fi;
#endif
			droprow(t); res = 1
		:: else
		fi
	:: o == oDEL ->
		if /* by any of the ids with which it was put */
		:: row[t] != 0 && ROWNER(row[t]) == p -> droprow(t); res = 1
		:: else
		fi
	:: o == oFENCE ->
		if
		:: pres && SAMEID(i,t) && cFENCE ->
			/* the write commits: no other process was granted a later ticket */
			y = 0;
			do :: y < N -> assert(y == p || g[y] < t || broken_fencing); y++ :: else -> break od;
			res = 1
		:: else
		fi
#if PASS > 0
	:: o == oPASS ->
		if
		:: pres && cPHOLDS && cPGRANTED && sa + 1 < PASSTK(b) ->
			assert(hid == i || hid == 0 || broken_exclusion);
			grant(PASSTK(b), OWNER(PASSID(b))); hid = PASSID(b); htk = PASSTK(b); hbt = 0; gr = htk; res = 1
		:: else
		fi
#endif
#if DIRECT > 0
	:: o == oDIRECT ->
		if
		:: pres && cHOLDS && cDGRANTED(NAMETK(b)) && sa + 1 < NAMETK(b) ->
			assert(hid == i || hid == 0 || broken_exclusion);
			grant(NAMETK(b), NAMEP(b)); hid = NAMED(NAMEP(b)); htk = NAMETK(b); hbt = 0; hr = NAMER(b); gr = htk; res = 1;
			/* a name reaches a waiter that still looks for it, or has left */
			assert(nt[NAMEP(b)] == htk || dead[NAMEP(b)] || wtk[NAMEP(b)] != htk || broken_named);
			leased = leased || nt[NAMEP(b)] != htk || !ITSROW
		:: else
		fi
	:: o == oACCEPT ->
		if
		:: pres && SAMEID(i,t) && gr <= t -> hbt = (hbt < 3 -> hbt + 1 : 3); res = 1
		:: else
		fi
#endif
	fi
	}
}

inline later(o, p, i, t, b) {
	d_step {
	x = 0;
	do :: dop[x] != 0 -> x++ :: else -> break od;
	dop[x] = o; dp[x] = p; did[x] = i; dt[x] = t; db[x] = b; bDup--
	}
}

/* The fates of a request. */
#define ANSWERED 0
#define NOANSWER 1   /* it is applied, and its answer is lost */
#define NOREQUEST 2  /* it is lost */
#define LATER 3      /* it is late */
#define TWICE 4      /* it is applied twice */
hidden byte fate;
#ifdef LATEONLY
#define MAYBELATE(o) ((o) == LATEONLY)
#else
#define MAYBELATE(o) 1
#endif

/* Process p sends a request. unkn: there was no answer. The request may have been
 * applied already, may be applied later, or never. */
inline send(o, p, i, t, b) {
	unkn = 0; fate = ANSWERED;
	if
	:: true
	:: bLost > 0 -> bLost--; fate = NOANSWER
	:: bLost > 0 -> bLost--; fate = NOREQUEST
	:: bDup > 0 && MAYBELATE(o) -> fate = LATER
#ifndef ONCE
	:: bDup > 0 && MAYBELATE(o) -> fate = TWICE
#endif
	fi;
	if :: fate == LATER || fate == TWICE -> later(o, p, i, t, b) :: else fi;
	if :: fate == TWICE -> twice = 1 :: else fi;
	if :: fate == ANSWERED || fate == NOANSWER || fate == TWICE -> apply(o, p, i, t, b) :: else fi;
	if :: fate == ANSWERED || fate == TWICE :: else -> unkn = 1; res = 0 fi;
	fate = 0
}

/* The network applies late requests at any time, in any order. */
active proctype Net() {
	byte n = 0;
end:	do
	:: atomic { dop[0] != 0 -> n = 0; goto come }
#if SLOTS > 1
	:: atomic { dop[1] != 0 -> n = 1; goto come }
#endif
	od;
come:	atomic {
		apply(dop[n], dp[n], did[n], dt[n], db[n]);
		res = 0; dop[n] = 0; dp[n] = 0; did[n] = 0; dt[n] = 0; db[n] = 0; n = 0;
		goto end
	}
}

/* A process crashes at any time. A process that has ended may crash too, and with it
 * the requests that it still makes in the background. */
active proctype Death() {
	byte p = 0;
end:	do
	:: atomic { bCrash > 0 && fin < N ->
		bCrash--;
		if
		:: !dead[0] -> p = 0
		:: !dead[N-1] -> p = N-1
#if N > 2
		:: !dead[1] -> p = 1
#endif
		fi;
#if PASS > 0
		passed[p] = 0;
#endif
		dead[p] = 1; lv[p] = 0; unk[p] = 0; wtk[p] = 0; owed[p] = 0; qt[p] = 0;
#if DIRECT > 0
		nt[p] = 0; bel[p] = 0; ended[p] = 0;
#endif
		pt[p] = 0; prid[p] = 0; pst[p] = 0; ot[p] = 0; orid[p] = 0; plv[p] = 0; psent[p] = 0; stood[p] = 0;
		p = 0 }
	od
}

/* The keeper of a waiter's row (internal/machine/place.go). It makes one request
 * after the other, but the delete of the previous row may run beside the next
 * ENQUEUE. It also sends the RESET that a release leaves to the background. */
#define NOPLACE(p) pst[p] = IDLE; pt[p] = 0; prid[p] = 0; plv[p] = 0; psent[p] = 0; stood[p] = 0
proctype Place(byte p) {
	{
	skip;
end:	do
	:: atomic { pst[p] == PUT && (!plv[p] || !psent[p]) && !(plv[p] && !psent[p]) ->
		psent[p] = 1;
		send(oENQ, p, 0, pt[p], prid[p]);
		if
		:: unkn -> assert(prid[p] < 7 || broken_model); prid[p]++
		:: !unkn -> assert(res || broken_model); prid[p] = (row[pt[p]]/4)%8; pst[p] = STAND; stood[p] = 1
		fi; unkn = 0; res = 0 }
	:: atomic { pst[p] == PUT && plv[p] && !psent[p] -> NOPLACE(p) }
	:: atomic { pst[p] == PUT && plv[p] && psent[p] -> /* no answer: the last id sent counts */
		if :: prid[p] > 0 -> prid[p]-- :: else fi; pst[p] = STAND }
	:: atomic { pst[p] == STAND && !plv[p] && ROWID(row[pt[p]]) != ROWID(ROW(p, prid[p], 0)) ->
		/* a heartbeat finds that the row was swept */
#ifdef BUG_NO_REENQUEUE
		pst[p] = IDLE
#else
		if
		:: pt[p] <= FLOOR -> pst[p] = IDLE
		:: prid[p] < 7 -> prid[p]++; pst[p] = PUT; psent[p] = 0
		fi
#endif
		}
	:: atomic { pst[p] == STAND && !plv[p] && bWHB > 0 && row[pt[p]]%4 < 3 ->
		bWHB--; send(oWHB, p, 0, pt[p], prid[p]); unkn = 0; res = 0 }
	:: atomic { pst[p] == STAND && plv[p] ->
		send(oDEL, p, 0, pt[p], prid[p]);
		if :: unkn :: !unkn -> NOPLACE(p) fi; unkn = 0; res = 0 }
	:: atomic { bLostdel > 0 && pst[p] == STAND && plv[p] -> /* the delete never reaches the table */
		bLostdel--; NOPLACE(p) }
	:: atomic { ot[p] != 0 ->
		send(oDEL, p, 0, ot[p], orid[p]);
		if :: unkn :: !unkn -> ot[p] = 0; orid[p] = 0 fi; unkn = 0; res = 0 }
	:: atomic { pst[p] == IDLE && plv[p] -> NOPLACE(p) }
	:: atomic { qt[p] != 0 -> send(oRESET, p, 0, qt[p], 0); qt[p] = 0; unkn = 0; res = 0 }
	od
	} unless { dead[p] }
}

/* ahead: live rows ahead of ticket t; gone: the first expired row; more: there are
 * further expired rows. */
inline rows(t) {
	d_step {
	ahead = 0; gone = 0; more = 0; x = 1;
	do
	:: x < t ->
		if
		:: row[x] != 0 && !LIVEROW(x) -> if :: gone == 0 -> gone = x :: else -> more = 1 fi
		:: row[x] != 0 && LIVEROW(x) && x > FLOOR -> ahead++
		:: else
		fi;
		x++
	:: else -> break
	od
	}
}

/* The action after a look: Snapshot.Decide and Wait.act. */
#define pWAIT 0
#define pOVER 1
#define pANEW 2
#define pEVICT 3
#define pCLAIM 4
#if DIRECT > 0
#define TARGET tgt = hid; tb = hbt; tt = htk
#else
#define TARGET tgt = hid; tb = hbt
#define tt 0
#endif
#define PRODUCTIVE(t) (t <= FLOOR || !pres || (hid != 0 && !LIVE(hid)) || (hid == 0 && ahead == 0))
inline judge(p, t) {
	if
	:: pres && hid != 0 && !LIVE(hid) -> plan = pEVICT; TARGET
	:: else ->
		if
		:: t <= FLOOR -> assert(!MINE(p) || broken_disowned); plan = pOVER
		:: t > FLOOR && !pres -> plan = pANEW
		:: t > FLOOR && pres && hid == 0 && ahead == 0 -> plan = pCLAIM
		:: else -> plan = pWAIT
		fi
	fi
}
/* An entry without an owner is seen: a fault must have left it. */
#define ORPHAN assert(!pres || hid == 0 || LIVE(hid) || bCrash < CRASH || bDup < DUP || bEvict < EVICT || \
	bLostdel < LOSTDEL || UNACCEPTED || broken_orphan)
#ifdef BUG_FORGET_IDS
#define NEWID(p) assert(nx < LASTID || broken_attempts); id = ID(p, nx); nx++; lv[p] = BIT(id)
#else
#define NEWID(p) assert(nx < LASTID || broken_attempts); id = ID(p, nx); nx++; lv[p] = lv[p] | BIT(id)
#endif
/* The process has left the queue. A request that is applied later may leave an
 * orphaned entry, but no request that was applied before. */
#define LEFT(p) assert(!pres || hid == 0 || OWNER(hid) != p || UNACCEPTED || twice || broken_left)

proctype Main(byte p) {
	byte nx = 0;      /* the next attempt */
	byte t = 0;       /* my ticket */
	byte id = 0;      /* of the current attempt, then of the grant */
	bool careful = 0, asked = 0, first = 0, claimed = 0, idle = 0, more = 0, fenced = 0;
	byte ahead = 0, gone = 0, gb = 0, plan = 0, tgt = 0, tb = 0, cycle = 0, rounds = 0;
	bool nowait = ((NOWAIT >> p) & 1);
#if PASS > 0
	byte q = 0;
	short name = 0;
#endif
#if DIRECT > 0
	byte tt = 0;      /* the ticket of the entry that was judged */
	short name = 0;   /* the row with the next ticket, as it was read */
#endif
	{
	skip;
take:	skip;
	atomic {
#ifdef BUG_TAKE_SAME_ID
		if :: id == 0 -> NEWID(p) :: else fi;
#else
		NEWID(p);
#endif
		t = 0;
		send(oTAKE, p, id, 0, nowait);
		if
		:: unkn -> unk[p] = unk[p] | BIT(id); unkn = 0;
			if :: goto take :: bGiveup > 0 -> bGiveup--; goto leave fi
		:: !unkn && MINE(p) -> t = (res -> tn : 0); res = 0; goto found
		:: !unkn && !MINE(p) && res -> res = 0; t = tn; wtk[p] = t; first = (FLOOR + 1 != t); goto enqueue
		:: !unkn && !MINE(p) && !res && !ex -> goto seed
		:: !unkn && !MINE(p) && !res && ex && nowait -> /* refused: there is a holder */
			ORPHAN;
			if
			:: !LIVE(hid) -> TARGET; goto evict
			:: LIVE(hid) && bEvict > 0 -> EARLY; bEvict--; TARGET; goto evict
			:: LIVE(hid) -> goto leave
			fi
		fi
	}
seed:	skip;
	atomic {
		send(oSEED, p, id, 0, 0);
		if
		:: unkn -> unk[p] = unk[p] | BIT(id); unkn = 0;
			if :: goto take :: bGiveup > 0 -> bGiveup--; goto leave fi
		:: !unkn && MINE(p) -> res = 0; goto found
		:: !unkn && !MINE(p) -> res = 0; goto take
		fi
	}
enqueue:	skip;
	atomic {
		asked = careful;
		if
		:: nowait -> goto wait
		:: !nowait && (pst[p] == IDLE || (pst[p] == STAND && ot[p] == 0)) ->
			if
			:: pst[p] == STAND -> ot[p] = pt[p]; orid[p] = prid[p]
			:: else
			fi;
			pt[p] = t; prid[p] = 0; plv[p] = 0; psent[p] = 0; stood[p] = 0; pst[p] = PUT;
#if DIRECT > 0
			nt[p] = t; lv[p] = lv[p] | BIT(LASTID); ended[p] = 0
#endif
		fi
	}
wait:	skip; /* LOOK: the record and the rows ahead, in one read. A look that leads only
	 * to another look is left out, so a waiter that is never granted is a
	 * deadlock. */
	atomic {
		(nowait || ((!asked || stood[p]) && TURN(p,t)));
		rows(t);
		ORPHAN;
		if
		:: bGiveup > 0 && !nowait && !PASSED(p) -> bGiveup--; WITHDRAW(p); goto leave
		:: SEEN(p,t) -> goto found
		:: !SEEN(p,t) && bSweep > 0 && gone == 0 && ahead > 0 && t > FLOOR ->
			/* the first live row ahead is judged to have expired */
			bSweep--; gone = 1;
			do :: gone <= FLOOR || row[gone] == 0 -> gone++ :: else -> break od;
			ahead--; judge(p, t)
#if DIRECT > 0
		:: !SEEN(p,t) && bSweep > 0 && gone == 0 && ROWOFHOLDER && htk < t && t > FLOOR -> /* so is the row of a holder */
			bSweep--; gone = htk; judge(p, t)
#endif
		:: !SEEN(p,t) && bEvict > 0 && pres && hid != 0 && LIVE(hid) -> /* the holder is judged to have expired */
			EARLY; bEvict--; plan = pEVICT; TARGET
		:: !SEEN(p,t) && (nowait || gone != 0 || PRODUCTIVE(t)) -> judge(p, t)
		fi;
		if :: first -> asked = 1 :: else -> first = 1 fi; /* the answer of TAKE was the first look */
		ahead = (ahead > 0);
		if
		:: gone != 0 -> gb = row[gone]; goto sweep
		:: else -> goto act
		fi
	}
sweep:	skip;
	atomic {
		send(oSWEEP, p, 0, gone, gb);
		gone = 0; gb = 0;
		if
		:: !unkn && res && !more -> res = 0; goto act
		:: else -> unkn = 0; res = 0; more = 0; tgt = 0; tb = 0; ahead = 0;
#if DIRECT > 0
			tt = 0;
#endif
			goto wait
		fi
	}
	atomic { false;
act:		if
		:: plan == pEVICT -> plan = 0; goto evict
		:: plan == pCLAIM -> plan = 0; goto claim
		:: plan == pOVER -> plan = 0; careful = 1; goto anew
		:: plan == pANEW -> plan = 0; goto anew
		:: plan == pWAIT -> ahead = 0; if :: nowait -> goto leave :: else -> goto wait fi
		fi
	}
evict:	skip;
	atomic {
		send(oEVICT, p, tgt, tt, tb);
#if DIRECT > 0
		tt = 0;
#endif
		tgt = 0; tb = 0; res = 0;
		if
		:: t == 0 -> unkn = 0; goto take
		:: t != 0 && unkn -> unkn = 0; ahead = 0; goto wait
		:: t != 0 && !unkn ->
			/* decided again with the record in the answer, and the rows read before */
			if
			:: !MINE(p) && pres && hid == 0 && t > FLOOR && ahead == 0 -> goto claim
			:: else -> ahead = 0; goto wait
			fi
		fi
	}
claim:	skip;
	atomic {
		(!asked || stood[p] || nowait);
		asked = 1; ahead = 0;
		NEWID(p);
		send(oCLAIM, p, id, t, 0);
		if
#ifdef BUG_SDK_RETRIES
		:: unkn -> unkn = 0; goto again
#else
		:: unkn -> unk[p] = unk[p] | BIT(id); unkn = 0; goto wait
#endif
		:: !unkn && MINE(p) -> res = 0; goto found
		:: !unkn && !MINE(p) ->
			res = 0;
			if
			:: nowait && (rounds > 1 || (pres && hid != 0 && LIVE(hid))) -> goto leave
			:: else -> if :: nowait -> rounds++ :: else fi; goto wait
			fi
		fi
	}
#ifdef BUG_SDK_RETRIES
again:	skip;
	atomic { /* the same request is sent again, and its refusal is believed */
		send(oCLAIM, p, id, t, 0);
		if
		:: unkn -> unk[p] = unk[p] | BIT(id); unkn = 0; goto wait
		:: !unkn && MINE(p) -> res = 0; goto found
		:: !unkn && !MINE(p) -> res = 0; goto wait
		fi
	}
#endif
	atomic { false;
anew:
#if DIRECT > 0
		nt[p] = 0; lv[p] = lv[p] & ~BIT(LASTID);
#endif
		wtk[p] = 0; plv[p] = (pt[p] != 0); more = 0; ahead = 0; t = 0; first = 0;
#ifndef STRICT_FIFO
		owed[p] = 0;
#endif
		goto take }
	/* Labels that are reached within the previous step are inside an atomic
	 * sequence, because a jump to a label before the sequence would end the step.
	 * The false keeps the sequence from being entered from above. */
	atomic { false;
found:		/* claimant.adopt */
#if PASS > 0
		passed[p] = 0;
#endif
		more = 0; ahead = 0; gone = 0;
#if DIRECT > 0
		bel[p] = 1;
#endif
		if
		:: id = hid; t = MYTICKET; claimed = (htk != 0); idle = (!claimed && IDLEFOR(t));
			lv[p] = BIT(id); unk[p] = 0; wtk[p] = 0; owed[p] = 0; first = 0;
#if DIRECT > 0
			/* a lock that was granted by name keeps its row until ACCEPT */
			if :: !ISNAMED(id) -> nt[p] = 0 :: else fi;
#ifndef BUG_NAME_NO_ROW
			if :: !UNACCEPTED -> plv[p] = (pt[p] != 0) :: else fi;
#else
			plv[p] = (pt[p] != 0);
#endif
#else
			plv[p] = (pt[p] != 0);
#endif
			goto held
		:: bEvict > 0 -> /* found too late: removed */
#if DIRECT > 0
			bel[p] = 0;
#endif
			bEvict--; tgt = hid; unk[p] = unk[p] | BIT(tgt); lv[p] = lv[p] & ~BIT(tgt); goto late
		fi
	}
#if DIRECT > 0
	/* the first heartbeat of a lock that was granted by name */
accept:	skip;
	atomic {
		send(oACCEPT, p, id, t, 0);
		if
		:: unkn -> unkn = 0;
#ifdef BUG_NAME_ROW_EARLY
			plv[p] = (pt[p] != 0);
#endif
			goto held
		:: !unkn && res -> res = 0; plv[p] = (pt[p] != 0); goto held
		:: !unkn && !res -> goto lost
		fi
	}
#endif
held:	skip;
	atomic {
		if
#if DIRECT > 0
		:: UNACCEPTED && hid == id && !plv[p] -> goto accept
		:: HANDSOVER(p) && name == 0 && NEXTROW(t) < T && row[NEXTROW(t)] != 0 -> name = NAME(NEXTROW(t)); goto held
#endif
		:: bHB > 0 && hbt < 3 && !UNACCEPTED -> bHB--; send(oHB, p, id, t, 0);
			if
			:: unkn -> unkn = 0; goto held
			:: !unkn && res -> res = 0; idle = (!claimed && IDLEFOR(t)); goto held
			:: !unkn && !res -> goto lost
			fi
		:: !fenced -> fenced = 1; send(oFENCE, p, id, t, 0); unkn = 0; res = 0; goto held
		:: bEvict > 0 -> bEvict--; goto lost /* by its own clock */
#if PASS > 0
		:: NEXT(t) -> goto pass
#endif
#if DIRECT > 0
		:: bel[p] = 0; if :: idle -> goto fast :: !idle && name != 0 -> goto direct :: !idle && name == 0 -> goto hand fi
#else
		:: if :: idle -> goto fast :: else -> goto hand fi
#endif
		fi
	}
lost:	skip;
	atomic {
#if DIRECT > 0
		bel[p] = 0;
#endif
		send(oREM, p, id, t, BIT(id)); leased = leased || unkn; unkn = 0; res = 0; goto over }
fast:	skip;
	atomic {
		send(oFAST, p, id, t, 0);
		if
		:: unkn -> unkn = 0; goto fast
		:: !unkn && !res && pres && SAMEID(id,t) ->
#if DIRECT > 0
			if :: name != 0 -> goto direct :: else fi;
#endif
			goto hand
		:: !unkn && (res || !(pres && SAMEID(id,t))) -> res = 0; goto over
		fi
	}
#if DIRECT > 0
direct:	skip;
	atomic {
		if
		:: send(oDIRECT, p, id, t, name)
		:: bLost > 0 -> bLost--; res = 0; unkn = 0 /* refused for another reason */
		fi;
		if
		:: unkn -> unkn = 0; if :: goto direct :: name = 0; goto hand fi
		:: !unkn && res -> res = 0; name = 0; goto over
#ifdef BUG_DIRECT_NO_FALLBACK
		:: !unkn && !res -> name = 0; goto over
#else
		:: !unkn && !res -> name = 0; goto hand
#endif
		fi
	}
#endif
#if PASS > 0
	/* call.request: the release claims for the waiter with the next ticket. Its answer is also the waiter's. */
pass:	skip;
	atomic {
		if
		:: !NEXT(t) -> goto hand /* it has left */
		:: NEXT1(0,t) -> q = 0
		:: NEXT1(1,t) -> q = 1
		:: NEXT1(2%N,t) -> q = 2%N
		fi;
		name = ID(q, LASTID+pn[q]) + 256*wtk[q]; pn[q]++;
		lv[q] = lv[q] | BIT(PASSID(name));
		if
		:: send(oPASS, p, id, t, name)
		:: bLost > 0 -> bLost--; res = 0; unkn = 0 /* refused for another reason */
		fi;
#ifndef BUG_PASS_FORGETS
		if :: unkn -> unk[q] = unk[q] | BIT(PASSID(name)) :: else fi;
#endif
		if :: !unkn && res -> passed[q] = 1 :: else fi;
		name = 0; q = 0;
		if
		:: unkn -> unkn = 0; if :: idle -> goto fast :: goto hand fi
		:: !unkn && res -> res = 0; goto over
#ifdef BUG_PASS_NO_FALLBACK
		:: !unkn && !res -> goto over
#else
		:: !unkn && !res -> goto hand
#endif
		fi
	}
#endif
hand:	skip;
	atomic {
		send(oHAND, p, id, t, 0);
		if
		:: unkn -> unkn = 0; if :: idle -> goto fast :: else -> goto hand fi
		:: !unkn && res && !idle && IDLEFOR(t) -> res = 0; goto reset
		:: !unkn && !(res && !idle && IDLEFOR(t)) -> res = 0; goto over
		fi
	}
reset: /* in the background, beside the next turn */
	atomic {
#ifndef BUG_NO_RESET
		qt[p] == 0; qt[p] = t;
#endif
		goto over }
late:	skip; /* claimant.remove: the grant is removed, RESET follows, and the wait continues */
	atomic {
#if DIRECT > 0
		send(oREM, p, 0, nt[p], BIT(tgt));
#else
		send(oREM, p, 0, 0, BIT(tgt));
#endif
		if
		:: unkn -> unkn = 0; goto late
		:: !unkn -> unk[p] = unk[p] & ~BIT(tgt);
			if
			:: res && IDLEFOR(sa+1) -> tgt = sa+1; res = 0; goto latereset
			:: else -> res = 0; tgt = 0; goto goon
			fi
		fi
	}
latereset: skip;
	atomic { send(oRESET, p, 0, tgt, 0); tgt = 0; unkn = 0; res = 0; goto goon }
	atomic { false;
goon:		if
		:: t == 0 -> goto take
		:: t != 0 && pt[p] != t && !nowait -> wtk[p] = t; goto enqueue
		:: else -> goto wait
		fi
	}
leave:	skip;
	atomic {
#if DIRECT > 0
		/* an entry that is granted by name now, or later, ends with the row */
		if :: UNACCEPTED && OWNER(hid) == p -> leased = 1 :: else fi;
		nt[p] = 0;
#endif
		lv[p] = 0; wtk[p] = 0; owed[p] = 0; plv[p] = (pt[p] != 0); more = 0; ahead = 0; gone = 0; plan = 0 }
	atomic {
		pt[p] == 0 && ot[p] == 0; /* the row is deleted */
#ifdef BUG_NO_REMOVE
		unk[p] = 0;
#endif
		if
		:: unk[p] == 0 -> LEFT(p); goto leftreset
		:: else
		fi
	}
remove:	skip;
	atomic {
#if DIRECT > 0
		send(oREM, p, 0, nt[p], unk[p]);
		if :: unkn :: else -> nt[p] = 0 fi;
#else
		send(oREM, p, 0, 0, unk[p]);
#endif
		if
		:: unkn -> unkn = 0; goto remove
		:: !unkn && res && IDLEFOR(sa+1) -> LEFT(p); res = 0; unk[p] = 0; tgt = sa+1
		:: !unkn && !(res && IDLEFOR(sa+1)) -> LEFT(p); res = 0; unk[p] = 0; goto over
		fi
	}
	atomic { send(oRESET, p, 0, tgt, 0); tgt = 0; unkn = 0; res = 0; goto over }
leftreset:
#ifdef BUG_RESET_UNGRANTED
	atomic { if :: t != 0 -> send(oRESET, p, 0, t, 0); unkn = 0; res = 0 :: else fi }
#endif
over:
	atomic {
		lv[p] = 0; wtk[p] = 0; owed[p] = 0; plv[p] = (pt[p] != 0); unk[p] = 0;
#if DIRECT > 0
		nt[p] = 0; bel[p] = 0; name = 0; tt = 0;
#endif
		careful = 0; asked = 0; first = 0; claimed = 0; idle = 0; fenced = 0; t = 0; id = 0; rounds = 0; tgt = 0; tb = 0;
		res = 0; cycle++;
		if
		:: cycle < CYCLES -> goto take
		:: else
		fi
	}
	atomic { nx = 0; cycle = 0; fin++; goto stop }
	} unless { dead[p] -> fin++ }
stop:	skip
}

#define SETTLED(p) (dead[p] || (pst[p] == IDLE && ot[p] == 0 && qt[p] == 0))
#if N > 2
#define ALLSETTLED (SETTLED(0) && SETTLED(1) && SETTLED(2))
#else
#define ALLSETTLED (SETTLED(0) && SETTLED(1))
#endif
#if SLOTS > 1
#define ALLCOME (dop[0] == 0 && dop[1] == 0)
#else
#define ALLCOME (dop[0] == 0)
#endif

init {
	byte i = 0;
	atomic {
		do
		:: i < N -> run Main(i); run Place(i); i++
		:: else -> break
		od
	}
	/* All processes have ended, and all their requests were applied. */
	atomic {
		fin == N && ALLCOME && ALLSETTLED;
		if
		:: bCrash == CRASH && bDup == DUP && bLostdel == LOSTDEL && !leased ->
			assert(hid == 0 || broken_clean);
			i = 1;
			do :: i < T -> assert(row[i] == 0 || broken_clean); i++ :: else -> break od;
			/* without any fault, the next TAKE is granted at once */
			assert(!pres || NOWAIT || bLost < LOST || bEvict < EVICT || bSweep < SWEEP || bGiveup < GIVEUP || broken_reset)
		:: else
		fi
	}
}
