/* The protocol of queuelock as the code performs it: exclusive locks, a ticket
 * counter for each queue. See README.md for what each part stands for, and
 * run.sh for the bounds that are searched.
 *
 * One request is one atomic step, judged by the table when it is applied. What
 * its answer leads to is decided in the same step; the request that follows is
 * a step of its own. So any stall lies between any two requests.
 *
 * -D options: N processes, CYCLES turns each, NOWAIT (mask of processes that
 * will not wait), EXISTS (0: the record must be seeded), and how often each
 * fault may happen: LOST, DUP, CRASH, EVICT, SWEEP, GIVEUP, LOSTDEL; HB and WHB
 * are the heartbeats of holders and of waiters. BUG_... plants a mistake.
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
#define T 12              /* tickets are below this */
#define K 16              /* attempts of one process are below this */

/* Requests. */
#define oTAKE 1
#define oSEED 2
#define oENQ 3
#define oCLAIM 4
#define oHB 5
#define oWHB 6
#define oFAST 7
#define oHAND 8
#define oQUIET 9
#define oEVICT 10
#define oSWEEP 11
#define oDEL 12
#define oREM 13
#define oFENCE 14

/* The serving record. */
bool ex = EXISTS;
byte tn = 0, sa = 0, gr = 0;
bool pres = 0;            /* holders and servingAfter are present */
byte hid = 0;             /* the holder's id; 0: holders is {} */
byte htk = 0;             /* its ticket, if it came by CLAIM */
byte hbt = 0;             /* its beat */
/* The rows: 0, or owner, number of the row's id, and beat. */
byte row[T];

/* Only for the assertions: the highest ticket granted, and for each row the
 * first ticket that was issued while it stood above the floor. */
byte lastg = 0;
byte newc[T];

/* What each process knows. */
short lv[N];              /* its ids that it would adopt, or holds */
byte wtk[N];              /* the ticket it waits with; 0: it does not wait */
bool dead[N];
byte pt[N], prid[N], pst[N], ot[N], orid[N];
bool plv[N], psent[N], stood[N];
byte fin = 0;             /* processes that have ended */

/* One request that is still under way and will be applied later. */
byte dop = 0, dp = 0, did = 0, dt = 0;
short db = 0;

byte bLost = LOST, bDup = DUP, bCrash = CRASH, bEvict = EVICT, bSweep = SWEEP,
     bGiveup = GIVEUP, bLostdel = LOSTDEL, bHB = HB, bWHB = WHB;

bool res = 0, unkn = 0;   /* the last answer: granted or refused, or none */

#define ID(p,i)   (((p)+1)*K + (i))
#define OWNER(i)  ((i)/K - 1)
#define BIT(i)    (1 << ((i)%K))
#define MINE(p)   (pres && hid != 0 && OWNER(hid) == (p) && (lv[p] & BIT(hid)))
#define LIVE(i)   (lv[OWNER(i)] & BIT(i))
#define ROW(p,r,b) (((p)+1)*32 + (r)*4 + (b))
#define ROWNER(v) ((v)/32 - 1)
#define ROWID(v)  ((v)/4)
#ifdef BUG_FLOOR
#define FLOOR     gr
#else
#define FLOOR     ((pres && sa+1 > gr) -> sa+1 : gr)
#endif
/* The floor of the protocol, for the assertions. */
#define TRUEFLOOR ((pres && sa+1 > gr) -> sa+1 : gr)
#define MYTICKET  (htk -> htk : sa+1)
#define LIVEROW(u) (!dead[ROWNER(row[u])] && (pt[ROWNER(row[u])] == (u) || ot[ROWNER(row[u])] == (u)))

#define GONE1(u,t)  (u < t && row[u] != 0 && !LIVEROW(u))
#define AHEAD1(u,t) (u < t && u > FLOOR && row[u] != 0 && LIVEROW(u))
#define GONE(t)  (GONE1(1,t) || GONE1(2,t) || GONE1(3,t) || GONE1(4,t) || \
	GONE1(5,t) || GONE1(6,t) || GONE1(7,t) || \
	GONE1(8,t) || GONE1(9,t) || GONE1(10,t))
#define AHEAD(t) (AHEAD1(1,t) || AHEAD1(2,t) || AHEAD1(3,t) || AHEAD1(4,t) || \
	AHEAD1(5,t) || AHEAD1(6,t) || AHEAD1(7,t) || \
	AHEAD1(8,t) || AHEAD1(9,t) || AHEAD1(10,t))
/* A look would lead to something. */
#define TURN(p,t) (MINE(p) || t <= FLOOR || !pres || GONE(t) || (hid != 0 && (!LIVE(hid) || bEvict > 0)) || \
	(hid == 0 && !AHEAD(t)) || (bSweep > 0 && AHEAD(t)) || bGiveup > 0)

hidden byte x;

/* The floor is about to pass the tickets up to n without a grant. */
inline passed(n) {
	x = 1;
	do
	:: x < T ->
		assert(!(row[x] != 0 && x > TRUEFLOOR && x <= n && wtk[ROWNER(row[x])] == x));
		x++
	:: else -> break
	od
}

/* Ticket n is about to be granted: strictly increasing, and not before a live
 * waiter whose row stood above the floor before n was taken. */
inline grant(n) {
	assert(n > lastg);
	x = 1;
	do
	:: x < T ->
		assert(!(row[x] != 0 && x > TRUEFLOOR && x != n && newc[x] != 0 && newc[x] <= n &&
			wtk[ROWNER(row[x])] == x));
		x++
	:: else -> break
	od;
	lastg = n
}

/* Ticket n is about to be issued. */
inline issued(n) {
	assert(n < T);
	x = 1;
	do
	:: x < T ->
		if
		:: row[x] != 0 && newc[x] == 0 && x > TRUEFLOOR -> newc[x] = n
		:: else
		fi;
		x++
	:: else -> break
	od
}

#define DROPROW(u) row[u] = 0; newc[u] = 0

/* The conditions that can be left out. */
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
#define cFAST (tn == gr || tn == t)
#endif
#ifdef BUG_EVICT_UNCONDITIONAL
#define cEVICT (hid == i)
#else
#define cEVICT (hid == i && hbt == b)
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

/* The table applies a request of process p: id, ticket and a further number. */
inline apply(o, p, i, t, b) {
	d_step {
	res = 0;
	if
	:: o == oTAKE ->
		if
		:: ex && !(b && pres && hid != 0) ->
			issued(tn+1);
			if
			:: !pres -> grant(tn+1); sa = tn; pres = 1; hid = i; htk = 0; hbt = 0
			:: cBARGE && pres && hid == 0 -> grant(tn+1); hid = i; htk = tn+1; gr = tn+1; hbt = 0
			:: else
			fi;
			tn++; res = 1
		:: else
		fi
	:: o == oSEED ->
		if
		:: !ex -> ex = 1; grant(1); tn = 1; sa = 0; gr = 0; pres = 1; hid = i; htk = 0; hbt = 0; res = 1
		:: else
		fi
	:: o == oENQ ->
		if
		:: row[t] == 0 -> row[t] = ROW(p, b, 0); newc[t] = 0; res = 1
		:: else -> res = (ROWNER(row[t]) == p)
		fi
	:: o == oCLAIM ->
		if
		:: pres && cSIZE && cGRANTED && cSERVINGAFTER ->
			assert(hid == 0); /* exclusion */
			grant(t); hid = i; htk = t; hbt = 0; gr = t; res = 1
		:: else
		fi
	:: o == oHB ->
		if
		:: pres && hid == i && gr <= t && hbt < 3 -> hbt++; res = 1
		:: cREVIVE && pres && hid != i -> assert(hid == 0); grant(t); hid = i; htk = t; hbt = 0; res = 1
		:: else
		fi
	:: o == oWHB ->
		if
		:: row[t] != 0 && ROWID(row[t]) == ROWID(ROW(p, b, 0)) && row[t]%4 < 3 -> row[t]++; res = 1
		:: else
		fi
	:: o == oFAST ->
		if
		:: pres && hid == i && cFAST -> passed(tn); gr = tn; pres = 0; sa = 0; hid = 0; htk = 0; hbt = 0; res = 1
		:: else
		fi
	:: o == oHAND || (o == oREM) ->
		if
		:: pres && hid != 0 && ((o == oHAND && hid == i) ||
			(o == oREM && OWNER(hid) == p && (b & BIT(hid)))) -> hid = 0; htk = 0; hbt = 0; res = 1
		:: else
		fi
	:: o == oQUIET ->
		if
		:: pres && hid == 0 && (tn == gr || tn == t) -> passed(tn); gr = tn; pres = 0; sa = 0; res = 1
		:: else
		fi
	:: o == oEVICT ->
		if
		:: pres && cEVICT ->
			assert(hid == i && hbt == b); /* only what was judged */
			hid = 0; htk = 0; hbt = 0; res = 1
		:: else
		fi
	:: o == oSWEEP ->
		if
		:: row[t] != 0 && cSWEEP ->
			assert(row[t] == b); /* only what was judged */
			DROPROW(t); res = 1
		:: else
		fi
	:: o == oDEL ->
		if
		:: row[t] != 0 && ROWID(row[t]) == ROWID(ROW(p, b, 0)) -> DROPROW(t); res = 1
		:: else
		fi
	:: o == oFENCE ->
		if
		:: pres && hid == i && cFENCE ->
			assert(t == lastg); /* it commits only while no later ticket was granted */
			res = 1
		:: else
		fi
	fi
	}
}

#define LATER(o,p,i,t,b) dop = o; dp = p; did = i; dt = t; db = b

/* Process p sends a request. unkn: there was no answer; it may have been
 * applied, may get applied later, or never. */
inline send(o, p, i, t, b) {
	unkn = 0;
	if
	:: apply(o, p, i, t, b)
	:: bLost > 0 -> bLost--; apply(o, p, i, t, b); unkn = 1; res = 0   /* the answer is lost */
	:: bLost > 0 -> bLost--; unkn = 1; res = 0                         /* the request is lost */
	:: bDup > 0 && dop == 0 -> bDup--; LATER(o, p, i, t, b); unkn = 1; res = 0 /* it is late */
	:: bDup > 0 && dop == 0 -> bDup--; LATER(o, p, i, t, b); apply(o, p, i, t, b) /* it comes twice */
	fi
}

/* The network: a request that is late is applied at any time. */
active proctype Net() {
end:	do
	:: atomic { dop != 0 -> apply(dop, dp, did, dt, db); res = 0; dop = 0; dp = 0; did = 0; dt = 0; db = 0 }
	od
}

/* A process dies, at any time. */
active proctype Death() {
	byte p = 0;
end:	do
	:: atomic { bCrash > 0 && fin < N ->
		bCrash--;
		if
		:: !dead[0] -> p = 0
		:: !dead[N-1] -> p = N-1
		fi;
		dead[p] = 1; lv[p] = 0; wtk[p] = 0; p = 0 }
	od
}

/* The keeper of a waiter's row: internal/waiter/place.go. One request after the
 * other; the delete of a row that was left may run beside the next ENQUEUE. */
#define IDLE 0
#define PUT 1
#define STAND 2
proctype Place(byte p) {
	{
	skip;
end:	do
	:: atomic { pst[p] == PUT && (!plv[p] || !psent[p]) ->
		psent[p] = 1;
		send(oENQ, p, 0, pt[p], prid[p]);
		if
		:: unkn -> assert(prid[p] < 7); if :: plv[p] -> pst[p] = STAND :: !plv[p] -> prid[p]++ fi
		:: !unkn -> assert(res); prid[p] = (row[pt[p]]/4)%8; pst[p] = STAND; stood[p] = 1
		fi; unkn = 0; res = 0 }
	:: atomic { pst[p] == PUT && plv[p] && !psent[p] -> pst[p] = IDLE; pt[p] = 0; prid[p] = 0; plv[p] = 0; stood[p] = 0 }
	:: atomic { pst[p] == PUT && plv[p] && psent[p] -> /* never answered: the last id sent */
		if :: prid[p] > 0 -> prid[p]-- :: else fi; pst[p] = STAND }
	:: atomic { pst[p] == STAND && !plv[p] && ROWID(row[pt[p]]) != ROWID(ROW(p, prid[p], 0)) ->
		/* a heartbeat finds that the row was swept */
		if
		:: pt[p] <= FLOOR -> pst[p] = IDLE
#ifndef BUG_NO_REENQUEUE
		:: pt[p] > FLOOR -> prid[p]++; pst[p] = PUT; psent[p] = 0
#else
		:: pt[p] > FLOOR -> pst[p] = IDLE
#endif
		fi }
	:: atomic { pst[p] == STAND && !plv[p] && bWHB > 0 && row[pt[p]]%4 < 3 ->
		bWHB--; send(oWHB, p, 0, pt[p], prid[p]); unkn = 0; res = 0 }
	:: atomic { pst[p] == STAND && plv[p] ->
		send(oDEL, p, 0, pt[p], prid[p]);
		if
		:: unkn && bLostdel == 0
		:: !unkn || bLostdel > 0 ->
			pst[p] = IDLE; pt[p] = 0; prid[p] = 0; plv[p] = 0; psent[p] = 0; stood[p] = 0
		fi; unkn = 0; res = 0 }
	:: atomic { bLostdel > 0 && pst[p] == STAND && plv[p] -> /* the delete never gets through */
		bLostdel--; pst[p] = IDLE; pt[p] = 0; prid[p] = 0; plv[p] = 0; psent[p] = 0; stood[p] = 0 }
	:: atomic { ot[p] != 0 ->
		send(oDEL, p, 0, ot[p], orid[p]);
		if :: unkn :: !unkn -> ot[p] = 0; orid[p] = 0 fi; unkn = 0; res = 0 }
	:: atomic { pst[p] == IDLE && plv[p] -> pt[p] = 0; prid[p] = 0; plv[p] = 0; psent[p] = 0; stood[p] = 0 }
	od
	} unless { dead[p] }
}

#define QUIETFOR(t) (tn == gr || tn == (t))

/* ahead: a live row stands ahead of ticket t; gone: a dead one is to be swept. */
inline rows(t) {
	ahead = 0; gone = 0; x = 1;
	do
	:: x < t ->
		if
		:: row[x] != 0 && !LIVEROW(x) -> if :: gone == 0 -> gone = x :: else -> more = 1 fi
		:: row[x] != 0 && LIVEROW(x) && x > FLOOR -> ahead = 1
		:: else
		fi;
		x++
	:: else -> break
	od
}

/* With the floor right below the ticket, what TAKE returned is the first look:
 * only the CLAIM after it is a request beside the ENQUEUE. */
#define TRUEASK (FLOOR + 1 != t)

proctype Main(byte p) {
	byte nx = 0;      /* the next attempt */
	byte t = 0;       /* my ticket */
	byte id = 0;      /* of the attempt under way, then of the grant */
	short unk = 0;    /* ids of requests without an answer */
	bool careful = 0, asked = 0, claimed = 0, idle = 0, ahead = 0, more = 0;
	byte gone = 0, tgt = 0, tb = 0, cycle = 0, rounds = 0;
	bool fenced = 0;
	bool nowait = ((NOWAIT >> p) & 1);
	{
	skip;
acquire:
	atomic { careful = 0; rounds = 0 }
take:	skip;
	atomic {
#ifdef BUG_TAKE_SAME_ID
		if :: id == 0 -> assert(nx < K); id = ID(p, nx); nx++ :: else fi;
#else
		assert(nx < K); id = ID(p, nx); nx++;
#endif
		lv[p] = lv[p] | BIT(id);
		t = 0;
		send(oTAKE, p, id, 0, nowait);
		if
		:: unkn -> unk = unk | BIT(id); unkn = 0;
			if :: goto take :: bGiveup > 0 -> bGiveup--; goto leave fi
		:: !unkn && MINE(p) -> t = (res -> tn : 0); res = 0; goto found
		:: !unkn && !MINE(p) && res -> res = 0; t = tn; wtk[p] = t; goto enqueue
		:: !unkn && !MINE(p) && !res && !ex -> goto seed
		:: !unkn && !MINE(p) && !res && ex && nowait -> /* refused: somebody is served */
			if
			:: !LIVE(hid) -> tgt = hid; tb = hbt; goto evict
			:: LIVE(hid) && bEvict > 0 -> bEvict--; tgt = hid; tb = hbt; goto evict
			:: LIVE(hid) -> goto leave
			fi
		fi
	}
seed:	skip;
	atomic {
		send(oSEED, p, id, 0, 0);
		if
		:: unkn -> unk = unk | BIT(id); unkn = 0;
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
			pt[p] = t; prid[p] = 0; plv[p] = 0; psent[p] = 0; stood[p] = 0; pst[p] = PUT
		fi
	}
wait:	skip; /* LOOK: the record and the rows ahead, in one read. One that would only
	 * lead to another is left out, so a waiter that nothing ever serves is a
	 * deadlock. */
	atomic {
		(nowait || ((!asked || stood[p]) && TURN(p,t)));
		rows(t);
		if
		:: bGiveup > 0 && !nowait -> bGiveup--; more = 0; ahead = 0; gone = 0; goto leave
		:: MINE(p) -> more = 0; ahead = 0; gone = 0;
			goto found
		:: !MINE(p) && gone != 0 -> tgt = gone; tb = row[gone]; gone = 0; if :: TRUEASK -> asked = 1 :: else fi; goto sweep
		:: !MINE(p) && gone == 0 && pres && hid != 0 && !LIVE(hid) ->
			tgt = hid; tb = hbt; if :: TRUEASK -> asked = 1 :: else fi; goto evict
		:: !MINE(p) && gone == 0 && !(pres && hid != 0 && !LIVE(hid)) && (t <= FLOOR) ->
			careful = 1; ahead = 0; goto anew
		:: !MINE(p) && gone == 0 && t > FLOOR && !pres -> ahead = 0; goto anew
		:: !MINE(p) && gone == 0 && t > FLOOR && pres && hid == 0 && !ahead ->
			if :: TRUEASK -> asked = 1 :: else fi; goto claim
		:: !MINE(p) && gone == 0 && pres && hid != 0 && LIVE(hid) && bEvict > 0 && t > FLOOR ->
			bEvict--; tgt = hid; tb = hbt; asked = 1; goto evict
		:: !MINE(p) && gone == 0 && pres && ahead && bSweep > 0 && t > FLOOR ->
			bSweep--;
			/* the first live row ahead is judged to have expired */
			x = 1;
			do
			:: x < t && row[x] != 0 && x > FLOOR -> tgt = x; tb = row[x]; break
			:: else -> x++
			od;
			more = 1; asked = 1; goto sweep
		:: nowait && !MINE(p) && gone == 0 && pres && t > FLOOR && ((hid != 0 && LIVE(hid)) || ahead) ->
			ahead = 0; goto leave
		fi
	}
sweep:	skip;
	atomic {
		send(oSWEEP, p, 0, tgt, tb);
		tgt = 0; tb = 0; more = 0; ahead = 0; unkn = 0; res = 0; goto wait
	}
evict:	skip;
	atomic {
		send(oEVICT, p, tgt, 0, tb);
		tgt = 0; tb = 0; res = 0;
		if
		:: unkn || t == 0 -> unkn = 0; ahead = 0; if :: t == 0 -> goto take :: else -> goto wait fi
		:: else ->
			/* judged again with the record that came back, and the rows of before */
			if
			:: !MINE(p) && pres && hid == 0 && t > FLOOR && !ahead -> goto claim
			:: else -> ahead = 0; goto wait
			fi
		fi
	}
claim:	skip;
	atomic {
		(!asked || stood[p] || nowait);
		asked = 1; ahead = 0;
		assert(nx < K); id = ID(p, nx); nx++; lv[p] = lv[p] | BIT(id);
		send(oCLAIM, p, id, t, 0);
		if
		:: unkn -> unk = unk | BIT(id); unkn = 0; goto wait
		:: !unkn && MINE(p) -> res = 0; goto found
		:: !unkn && !MINE(p) ->
			res = 0;
			if
			:: nowait && rounds > 1 -> goto leave
			:: else -> if :: nowait -> rounds++ :: else fi; goto wait
			fi
		fi
	}
anew:
	atomic { wtk[p] = 0; plv[p] = (pt[p] != 0);
#ifdef BUG_FORGET_IDS
		lv[p] = 0;
#endif
		goto take }
found:	/* in the step that showed it */
	atomic {
		/* the record shows one of my ids, at the same step */
		if
		:: id = hid; t = MYTICKET; claimed = (htk != 0); idle = (!claimed && QUIETFOR(t));
			lv[p] = BIT(id); unk = 0; wtk[p] = 0; plv[p] = (pt[p] != 0); fenced = 0
		:: bEvict > 0 -> /* too late to be used: removed */
			bEvict--; id = hid; unk = unk | BIT(id); lv[p] = lv[p] & ~BIT(id); goto late
		fi
	}
held:	skip;
	atomic {
		if
		:: bHB > 0 && hbt < 3 -> bHB--; send(oHB, p, id, t, 0);
			if
			:: unkn -> unkn = 0; goto held
			:: !unkn && res -> res = 0; idle = (!claimed && QUIETFOR(t)); goto held
			:: !unkn && !res -> goto lost
			fi
		:: !fenced -> fenced = 1; send(oFENCE, p, id, t, 0); unkn = 0; res = 0; goto held
		:: goto release
		fi
	}
lost:	skip;
	atomic { send(oREM, p, id, t, BIT(id)); unkn = 0; res = 0; goto over }
release:	skip;
	if
	:: idle -> goto fast
	:: else -> goto hand
	fi;
fast:	skip;
	atomic {
		send(oFAST, p, id, t, 0);
		if
		:: unkn -> unkn = 0; goto fast
		:: !unkn && res -> res = 0; goto over
		:: !unkn && !res && pres && hid == id -> goto hand
		:: !unkn && !res && !(pres && hid == id) -> goto over
		fi
	}
hand:	skip;
	atomic {
		send(oHAND, p, id, t, 0);
		if
		:: unkn -> unkn = 0; goto hand
		:: !unkn && res && !idle && QUIETFOR(t) -> res = 0; goto quiet
		:: !unkn && !(res && !idle && QUIETFOR(t)) -> res = 0; goto over
		fi
	}
quiet:	skip;
	atomic { send(oQUIET, p, 0, t, 0); unkn = 0; res = 0; goto over }
late:	skip;	/* served: a grant that comes too late is removed, and the wait goes on */
	atomic {
		send(oREM, p, 0, 0, BIT(id));
		if :: unkn -> unkn = 0 :: !unkn -> unk = unk & ~BIT(id); res = 0 fi;
		if
		:: t == 0 -> goto take
		:: t != 0 && pt[p] != t && !nowait -> wtk[p] = t; goto enqueue
		:: else -> goto wait
		fi
	}
leave:	skip;
	atomic { lv[p] = 0; wtk[p] = 0; plv[p] = (pt[p] != 0) }
	atomic {
		pt[p] == 0 && ot[p] == 0;
#ifdef BUG_NO_REMOVE
		unk = 0;
#endif
		if
		:: unk == 0 -> goto leftquiet
		:: else
		fi
	}
remove:	skip;
	atomic {
		send(oREM, p, 0, 0, unk);
		if
		:: unkn -> unkn = 0; goto remove
		:: !unkn && res && QUIETFOR(sa+1) -> res = 0; unk = 0; tgt = sa+1
		:: !unkn && !(res && QUIETFOR(sa+1)) -> res = 0; unk = 0; goto over
		fi
	}
	atomic { send(oQUIET, p, 0, tgt, 0); tgt = 0; unkn = 0; res = 0; goto over }
leftquiet:
#ifdef BUG_QUIET_UNGRANTED
	atomic { if :: t != 0 -> send(oQUIET, p, 0, t, 0); unkn = 0; res = 0 :: else fi }
#endif
over:
	atomic {
		lv[p] = 0; wtk[p] = 0; plv[p] = (pt[p] != 0); unk = 0; tgt = 0; tb = 0; ahead = 0; more = 0;
		asked = 0; claimed = 0; idle = 0; fenced = 0; t = 0;
#ifndef BUG_TAKE_SAME_ID
		id = 0;
#endif
		res = 0; cycle++;
		if
		:: cycle < CYCLES -> goto acquire
		:: else
		fi
	}
	atomic { fin++; goto stop }
	} unless { dead[p] -> fin++ }
stop:	skip
}

init {
	byte i = 0;
	atomic {
		do
		:: i < N -> run Main(i); run Place(i); i++
		:: else -> break
		od
	}
	/* Cleanliness: everybody has ended, and what they sent was answered. */
	atomic {
		fin == N && dop == 0 && (bCrash < CRASH || (pst[0] == IDLE && ot[0] == 0 && pst[N-1] == IDLE &&
			ot[N-1] == 0 && pst[1] == IDLE && ot[1] == 0));
		if
		:: bCrash == CRASH && bDup == DUP && bLostdel == LOSTDEL ->
			assert(hid == 0);
			i = 1;
			do :: i < T -> assert(row[i] == 0); i++ :: else -> break od
		:: else
		fi
	}
}
