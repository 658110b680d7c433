/* The outcomes that a holder reads from the marks on the record, and from the number
 * of its last fenced transaction. There is no clock, and no count of attempts.
 *
 * Holder is one holder with all its requests. Env is everything else: other clients,
 * operators, a resumed process, the owner of the item. It makes any of their
 * conditional writes, in any order. Queue rows and beats are left out, so it does
 * more than real clients can.
 *
 * -D options: ROOM: how many hold at once (1: exclusive); IDS: the number of other
 * ids; CALLS: release calls; TRANS: fenced transactions; HB: heartbeats; TOKENS:
 * transactions have tokens. The faults, and how often each may happen: LOST and DUP
 * (as in modes.pml), AGAIN (the SDK's client repeats a request, and only the second
 * answer arrives), ORPHAN (a repeated TAKE puts the id back with another ticket),
 * RESUME, DROP (the item is deleted, and another client creates it again), HAND (an
 * operator removes the entry without a mark), OLD (a client of a version without
 * marks evicts or releases), FORGET (DynamoDB forgets the transaction's token).
 * BUG_... plants a mistake.
 *
 * Step, and the code that it plays:
 *
 *   decide, judged   Record.Outcome, releaseStep.judge, Hold.confirms
 *   see              Hold.saw
 *   rel, oREL        Ending.Release, serving.SendWith
 *   tx, read, oTX    machine.Transaction, queue.NumberedFence, Record.Made
 *   settle, oSETTLE  transacting.settling, queue.Settle
 *   Env, newMark     Ending.Release, serving.Evict, serving.EvictFailClosed, queue.Resume, serving.Take, queue.Enter
 */
#ifndef ROOM
#define ROOM 1
#endif
#ifndef IDS
#define IDS 3
#endif
#ifndef CALLS
#define CALLS 1
#endif
#ifndef TRANS
#define TRANS 0
#endif
#ifndef HB
#define HB 0
#endif
#ifndef LOST
#define LOST 0
#endif
#ifndef DUP
#define DUP 0
#endif
#ifndef AGAIN
#define AGAIN 0
#endif
#ifndef COND
#define COND 0
#endif
#ifndef ORPHAN
#define ORPHAN 0
#endif
#ifndef RESUME
#define RESUME 0
#endif
#ifndef DROP
#define DROP 0
#endif
#ifndef HAND
#define HAND 0
#endif
#ifndef OLD
#define OLD 0
#endif
#ifndef FORGET
#define FORGET 0
#endif
#if DUP > 1
#define SLOTS DUP
#else
#define SLOTS 1
#endif

/* The names of the checks, as pan prints them. The variables are never set. */
hidden byte broken_reported, broken_denied, broken_rare, broken_once, broken_written, broken_known, broken_model;

/* Requests of the holder. */
#define oHB 1
#define oREL 2            /* b: 2 * call + 1 for the fast form */
#define oTX 3             /* b: the transaction. Its number is 2*b, and 2*b + 1 once it is settled */
#define oREM 4            /* a removal without a mark */
#define oSETTLE 5         /* b: the transaction that it settles */

/* Ids: the holder's, then two of earlier turns, then the others. */
#define ME 1
#define FIRST 4
#define END (FIRST+IDS)

/* The record. tk and made are the ticket and the last transaction in the holder's entry. */
bool exists = 1;
short in = 0;             /* ids in holders, one bit each */
byte tk = 0, made = 0;
/* The marks: id (0: absent), ticket, and the call's or the transaction's number.
 * Other ids have one ticket, written as 1; a new record's mark has ticket 0. */
byte rid = 0, rtk = 0, rcall = 0;
byte eid = 0, etk = 0, em = 0;
byte tokens = 0;          /* of transactions that were made, while DynamoDB remembers them */

/* What the holder knows: the marks of the last record that had its entry. */
byte sr = 0, srt = 0, src = 0, se = 0, set_ = 0;
#define T 1               /* its ticket; an orphaned entry of its id has ticket 2 */
byte call = 0;            /* the current release call, or the last */
byte opened = 0;          /* calls with an unknown outcome, one bit each */
byte num = 0;             /* the number of its last transaction */
bool topen = 0;           /* one of its attempts had no answer */
bool granted = 0;         /* it has been granted */
bool forgot = 0;          /* more than ten minutes have passed */

/* What really happened. */
#define EVICTED 10
#define DROPPED 11
#define REMOVED 12
byte truth = 0;           /* how its turn ended: 0, the call that released it, or one of these */
byte done = 0, denied = 0; /* transactions that were made; transactions reported as never made */
bool cond = 1;            /* the caller's own condition of its updates */
bool anew = 0;            /* the item was deleted since the grant */
bool relSince = 0, evSince = 0; /* another release, or eviction, was marked since the record last seen */
byte after = 0;           /* later grants since its turn ended */
byte past = 0;            /* ids of others that were released or evicted */

byte bLost = LOST, bDup = DUP, bAgain = AGAIN, bOrphan = ORPHAN, bResume = RESUME, bDrop = DROP, bHand = HAND, bOld = OLD, bHB = HB, bForget = FORGET, bCond = COND;
byte nxt = FIRST;
bool ended = 0, ready = 0;
byte dop[SLOTS], db[SLOTS]; /* requests that are applied later */

bool res = 0, unkn = 0;   /* the last answer: applied or refused, or none */
bool again = 0;           /* the SDK's client repeats the request */
hidden byte x, y, fate, out;

#define BIT(i) (1 << (i))
#define IN(i)  (in & BIT(i))
#define ALONE  (in == BIT(ME))
#define COUNT  (((in>>1)&1) + ((in>>4)&1) + ((in>>5)&1) + ((in>>6)&1) + ((in>>7)&1) + ((in>>8)&1) + ((in>>9)&1))
#define FREE   (COUNT < ROOM)
#define HELD   (exists && IN(ME) && tk == T)

/* Removes the holder's entry, and ends its turn if the entry has its ticket. */
inline gone(how) {
	if
	:: tk == T -> assert(truth == 0 || broken_once); truth = how
	:: else
	fi;
	in = in & ~BIT(ME); tk = 0; made = 0
}

inline releaseMark(i, t, c) {
	rid = i; rtk = t; rcall = c;
	if :: i != ME -> relSince = 1 :: else fi
}
inline evictMark(i, t, m) {
	eid = i; etk = t; em = m;
	if :: i != ME || t != T -> evSince = 1 :: else fi
}

/* The mark that TAKE, ENTER and the seeds write. */
#ifdef BUG_TAKE_NO_MARK
#define newMark(i)
#else
#define newMark(i) if :: eid == 0 -> eid = i; etk = 0; em = 0 :: else fi
#endif

inline see() {
	sr = rid; srt = rtk; src = rcall; se = eid; set_ = etk; relSince = 0; evSince = 0
}

#ifdef BUG_RELEASE_NO_TICKET
#define cTICKET 1
#else
#define cTICKET (tk == T)
#endif
#ifdef BUG_TOKEN_ALONE
#define cNUMBER(b) 1
#else
#define cNUMBER(b) (made < 2*(b))
#endif
#ifdef TOKENS
#define KNOWN(b) (tokens & BIT(b))
#else
#define KNOWN(b) 0
#endif

inline apply(o, b) {
	d_step {
	res = 0;
	if
	:: o == oHB -> res = HELD
	:: o == oREL ->
		if
		:: exists && IN(ME) && cTICKET && (!((b)%2) || ALONE) && cond ->
			gone((b)/2);
#ifdef BUG_FAST_NO_MARK
			if :: (b)%2 :: else -> releaseMark(ME, T, (b)/2) fi;
#else
			releaseMark(ME, T, (b)/2);
#endif
			res = 1
		:: else
		fi
	:: o == oTX ->
		if
		:: KNOWN(b) -> res = 1
		:: !KNOWN(b) && HELD && cNUMBER(b) ->
			assert(!(done & BIT(b)) || broken_written);
			assert(!(denied & BIT(b)) || broken_denied);
			done = done | BIT(b); tokens = tokens | BIT(b); made = 2*(b); res = 1
		:: else
		fi
	:: o == oSETTLE ->
		if
#ifdef BUG_SETTLE_SAME
		:: HELD && made < 2*(b) -> made = 2*(b); res = 1
#else
		:: HELD && made < 2*(b) -> made = 2*(b) + 1; res = 1
#endif
		:: else
		fi
	:: o == oREM ->
		if :: exists && IN(ME) && tk == T -> gone(REMOVED); res = 1 :: else fi
	fi
	}
}

inline later(o, b) {
	d_step {
	x = 0;
	do :: dop[x] != 0 -> x++ :: else -> break od;
	dop[x] = o; db[x] = b; bDup--; x = 0
	}
}

#define ANSWERED 0
#define NOANSWER 1
#define NOREQUEST 2
#define LATER 3
#define TWICE 4
#define SELF 5
inline send(o, b) {
	unkn = 0; again = 0; fate = ANSWERED;
	if
	:: true
#if LOST > 0
	:: bLost > 0 -> bLost--; fate = NOANSWER
	:: bLost > 0 -> bLost--; fate = NOREQUEST
#endif
#if DUP > 0
	:: bDup > 0 -> fate = LATER
	:: bDup > 0 -> fate = TWICE
#endif
#if AGAIN > 0
	:: bAgain > 0 -> bAgain--; fate = SELF
#endif
	fi;
#if DUP > 0
	if :: fate == LATER || fate == TWICE -> later(o, b) :: else fi;
#endif
	if :: fate == NOREQUEST || fate == LATER -> unkn = 1; res = 0 :: else -> apply(o, b) fi;
	if :: fate == NOANSWER || fate == SELF -> unkn = 1; res = 0 :: else fi;
	if :: fate == SELF -> again = 1 :: else fi;
	fate = 0
}

#if DUP > 0
active proctype Net() {
	byte m = 0;
end:	do
	:: atomic { dop[0] != 0 -> m = 0; goto come }
#if SLOTS > 1
	:: atomic { dop[1] != 0 -> m = 1; goto come }
#endif
	od;
come:	atomic { apply(dop[m], db[m]); res = 0; dop[m] = 0; db[m] = 0; m = 0; goto end }
}
#endif

/* y becomes the id of another entry, or 0. */
inline other() {
	y = 0;
	if
	:: IN(4) -> y = 4
	:: IN(5) -> y = 5
	:: IN(6) -> y = 6
	:: IN(7) -> y = 7
	:: IN(8) -> y = 8
	fi
}
inline newcomer(t) {
	in = in | BIT(nxt); nxt++;
	if :: truth != 0 && after < 3 -> after++ :: else fi
}
#define OTHERS (in & ~BIT(ME))
#define GOING (ready && !ended)

active proctype Env() {
end:	do
	/* TAKE or CLAIM of another client; a seed, where there is no record */
	:: atomic { GOING && exists && FREE && nxt < END -> newMark(nxt); newcomer(0) }
#if DROP > 0
	:: atomic { GOING && !exists && nxt < END ->
		d_step { exists = 1;
#ifndef BUG_SEED_NO_MARK
		newMark(nxt);
#endif
		newcomer(0) } }
	:: atomic { GOING && exists && bDrop > 0 ->
		d_step { bDrop--; exists = 0;
		if :: IN(ME) -> gone(DROPPED) :: else fi;
		if :: granted -> anew = 1 :: else fi;
		in = 0; rid = 0; rtk = 0; rcall = 0; eid = 0; etk = 0; em = 0 } }
#endif
	/* RELEASE, EVICT, the operator's eviction */
	:: atomic { GOING && OTHERS != 0 -> other(); in = in & ~BIT(y); past = past | BIT(y-FIRST); releaseMark(y, 1, 0); y = 0 }
	:: atomic { GOING && OTHERS != 0 -> other(); in = in & ~BIT(y); past = past | BIT(y-FIRST); evictMark(y, 1, 0); y = 0 }
	:: atomic { GOING && IN(ME) ->
		d_step {
#ifndef BUG_EVICT_NO_MARK
#ifdef BUG_EVICT_NO_MADE
		x = 0;
#else
		x = made;
#endif
		evictMark(ME, tk, x); x = 0;
#endif
		gone(EVICTED) } }
#if ROOM > 1
	/* several at once: the mark names one of them */
	:: atomic { GOING && IN(ME) && OTHERS != 0 -> other();
		d_step { gone(EVICTED); in = in & ~BIT(y); past = past | BIT(y-FIRST); evictMark(y, 1, 0); y = 0 } }
#endif
#if RESUME > 0
	:: atomic { GOING && bResume > 0 && HELD && nxt < END ->
		d_step { bResume--;
#ifndef BUG_RESUME_NO_MARK
#ifdef BUG_RESUME_NO_MADE
		x = 0;
#else
		x = made;
#endif
		evictMark(ME, T, x); x = 0;
#endif
		gone(EVICTED); newcomer(0) } }
#endif
#if ORPHAN > 0
	/* a TAKE of the holder's is repeated after its turn */
	:: atomic { GOING && bOrphan > 0 && exists && granted && !IN(ME) && FREE -> bOrphan--; newMark(ME); in = in | BIT(ME); tk = 2; made = 0;
		if :: after < 3 -> after++ :: else fi }
	/* the same for another client, and a request of its turn is repeated */
#ifdef BUG_RELEASE_NO_TICKET
	:: atomic { GOING && bOrphan > 0 && exists && FREE && rid != 0 && srt == 1 && sr >= FIRST -> bOrphan--; releaseMark(sr, 1, 0) }
#endif
#ifdef BUG_EVICT_NO_TICKET
	:: atomic { GOING && bOrphan > 0 && exists && FREE && eid != 0 && set_ == 1 && se >= FIRST -> bOrphan--; evictMark(se, 1, 0) }
#endif
#endif
#if HAND > 0
	:: atomic { GOING && bHand > 0 && HELD -> bHand--; gone(REMOVED) }
#endif
#if COND > 0
	:: atomic { GOING && bCond > 0 -> bCond--; cond = !cond }
#endif
#if OLD > 0
	:: atomic { GOING && bOld > 0 && HELD -> bOld--; gone(EVICTED) }
	:: atomic { GOING && bOld > 0 && OTHERS != 0 -> bOld--; other(); in = in & ~BIT(y); y = 0 }
#endif
#if FORGET > 0
	:: atomic { GOING && bForget > 0 && tokens != 0 -> bForget--; tokens = 0; forgot = 1 }
#endif
	od
}

/* The outcome of call c (0: a heartbeat) by a record without the entry: the pure
 * function Record.Outcome of package queue. */
#define oHELD 1
#define oGONE 2
#define oTHIS 3           /* released, by call c */
#define oEARLIER 4        /* released, by another call */
#define oEVICTED 5
#define oRELEASED 6       /* released, by one of the calls with an unknown outcome */
#define oUNKNOWN 7
/* The mark of the last eviction names the holder. */
#define NAMED (exists && eid == ME && MINE(etk) && etk != 0)
#ifdef BUG_ID_ALONE
#define MINE(t) 1
#else
#define MINE(t) ((t) == T)
#endif
#ifdef BUG_NO_CALL
#define SAMECALL(c) 1
#else
#define SAMECALL(c) (rcall == (c))
#endif
#define SAMERELEASED (rid == sr && rtk == srt && rcall == src)
#define SAMEEVICTED  (eid == se && etk == set_)
/* The first design. It is wrong once the new record has seen an eviction. */
#ifdef BUG_ABSENT
#define NONEYET (rid == 0 && sr == 0 && !(eid == 0 || (etk == 0 && !SAMEEVICTED)))
#else
#define NONEYET (rid == 0 && sr == 0 && eid != 0 && SAMEEVICTED)
#endif
inline decide(c) {
	if
	:: exists && IN(ME) && MINE(tk) -> out = oHELD
	:: else -> if
	:: !exists -> out = oGONE
	:: else -> if
	:: rid == ME && MINE(rtk) && SAMECALL(c) -> out = oTHIS
	:: else -> if
	:: rid == ME && MINE(rtk) -> out = oEARLIER
#ifdef BUG_ORDER
	:: else -> if
	:: eid != 0 && SAMEEVICTED -> out = oRELEASED
#endif
	:: else -> if
	:: eid == ME && MINE(etk) && etk != 0 -> out = oEVICTED
	:: else -> if
	:: (rid != 0 && SAMERELEASED) || NONEYET -> out = oEVICTED
	:: else -> if
	:: eid != 0 && SAMEEVICTED -> out = oRELEASED
	:: else -> out = oUNKNOWN
	fi fi fi fi fi fi
#ifdef BUG_ORDER
	fi
#endif
	fi
}

/* Released by this call: only if no other call was ever sent. */
#ifdef BUG_WHICH
#define ONLY(c) (!(opened & ~BIT(c)))
#else
#define ONLY(c) ((c) == 1)
#endif
/* The outcome that a call may report. */
inline judged(c) {
#ifdef BUG_COUNT
	if :: out == oUNKNOWN && !(opened & BIT(c)) -> out = oEVICTED :: else fi;
#endif
	assert(out != oHELD || truth == 0 || broken_reported);
	assert(out != oTHIS || truth == (c) || broken_reported);
	assert(out != oEARLIER || (truth < EVICTED && truth != 0 && truth != (c)) || broken_reported);
	assert(out != oEVICTED || truth >= EVICTED || broken_reported);
	assert(out != oRELEASED || (truth < EVICTED && truth != 0) || broken_reported);
	/* the call is named only if no other call is open */
	assert(out != oRELEASED || (c) == 0 || !ONLY(c) || truth == (c) || broken_reported);
	/* unknown only if both marks were overwritten, or the item was created again */
#ifndef NO_RARE
	assert(out != oUNKNOWN || anew || (rid == 0 && sr == 0 && evSince && (ROOM > 1 || after >= 1)) || (relSince && evSince && (ROOM > 1 || after >= 2)) || broken_rare)
#else
	skip
#endif
}

active proctype Holder() {
	bool form = 0;
end_0:	atomic { ready && FREE ->
		d_step {
		if :: exists -> newMark(ME) :: else ->
#ifndef BUG_SEED_NO_MARK
			newMark(ME);
#endif
			exists = 1
		fi;
		in = in | BIT(ME); tk = T; made = 0; granted = 1; see() }
	}
held:	skip;
	atomic {
		if
		:: bHB > 0 -> bHB--; send(oHB, 0);
			if
			:: unkn -> unkn = 0; again = 0; goto held
			:: !unkn && res -> res = 0; see(); goto held
			:: !unkn && !res ->
				if
				:: call == 0 -> assert(truth >= EVICTED || broken_known); goto over
				:: else
				fi;
#ifdef BUG_SEEN_LATE
				see();
#endif
				decide(0); judged(0);
				if :: out == oHELD -> out = 0; goto held :: else -> out = 0; goto over fi
			fi
		:: call < CALLS -> call++;
			if :: form = 1 :: form = 0 fi;
			goto rel
#if TRANS > 0
		:: num < TRANS -> num++; topen = 0; forgot = 0; goto tx
#endif
#ifdef BUG_REMOVE
		:: call > 0 -> send(oREM, 0); res = 0; unkn = 0; again = 0; goto held
#endif
		:: goto over
		fi
	}
rel:	skip;
	atomic {
		send(oREL, 2*call + form);
		if
		:: again -> again = 0; unkn = 0; goto rel
		:: unkn && !again -> unkn = 0; opened = opened | BIT(call); if :: goto rel :: goto held fi
		:: !unkn && res -> res = 0; assert(truth == call || broken_reported); goto over
		:: !unkn && !res
		fi;
#ifdef BUG_SEEN_LATE
		see();
#endif
		decide(call); judged(call);
		if
		:: out == oHELD && form -> out = 0; form = 0; goto rel
		:: out == oHELD && !form -> out = 0; goto held /* the caller's own condition, or a conflict */
		:: out == oUNKNOWN -> out = 0; goto over
		:: else -> out = 0; goto over
		fi
	}
#if TRANS > 0
tx:	skip;
	atomic {
		send(oTX, num);
		if
		:: again -> again = 0; unkn = 0; goto tx
		:: unkn && !again -> unkn = 0; topen = 1; if :: goto tx :: goto settle fi
		:: !unkn && res -> res = 0; assert((done & BIT(num)) || broken_reported); goto held
		:: !unkn && !res
		fi;
read:		if
		:: HELD && made == 2*num -> assert((done & BIT(num)) || broken_reported); goto held
		:: HELD && made > 2*num -> assert(!(done & BIT(num)) || broken_reported); denied = denied | BIT(num); goto held
		:: HELD && made < 2*num -> assert(broken_model); goto over
		:: !HELD && NAMED && em == 2*num -> assert((done & BIT(num)) || broken_reported); goto over
		:: !HELD && NAMED && em != 2*num -> assert(!(done & BIT(num)) || broken_reported); denied = denied | BIT(num); goto over
		:: !HELD && !NAMED && (topen || forgot) -> goto over /* unknown */
		:: !HELD && !NAMED && !topen && !forgot ->
			assert(!(done & BIT(num)) || broken_reported); denied = denied | BIT(num); goto over
		fi
	}
settle:	skip;
	atomic {
		send(oSETTLE, num);
		if
		:: again -> again = 0; unkn = 0; goto settle
		:: unkn && !again -> unkn = 0; if :: goto settle :: goto held fi /* unknown */
		:: !unkn && res -> res = 0; assert(!(done & BIT(num)) || broken_reported); denied = denied | BIT(num); goto held
		:: !unkn && !res -> goto read
		fi
	}
#endif
over:	atomic { ended = 1; form = 0; res = 0; unkn = 0 }
}

init {
	/* The record at the start: of an older format, absent, new, or with a past. */
	atomic {
		if
		:: skip
		:: exists = 0
		:: eid = 2; etk = 0
		:: eid = 2; etk = 1; rid = 3; rtk = 1
		:: eid = 2; etk = 0; rid = 3; rtk = 1
		fi;
		ready = 1
	}
}
